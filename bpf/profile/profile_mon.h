/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile_mon.h - loads the BPF programs of --ceems-profile, for ceems-profile. Programs and maps live as
 * long as their struct. If this was built without BPF programs, all loads fail with -EOPNOTSUPP.
 */
#ifndef CEEMS_PROFILE_MON_H
#define CEEMS_PROFILE_MON_H

#include <stdbool.h>
#include <sys/types.h>

#include "bpf/profile/profile.h"
#include "src/libutil/errmsg.h"

/* Texts of errors that `ceems check` says, too. */
#define PROFILE_NOT_BUILT "built without BPF programs"
#define PROFILE_SAMPLES_REFUSED "cannot load a BPF program for samples"
#define PROFILE_BTF "/sys/kernel/btf/vmlinux"

/* A program for PERF_EVENT_IOC_SET_BPF, which drops samples of tasks outside a cgroup. All 0: not loaded. */
struct profile_samples {
	struct samples_bpf *plain; /* at most one of both */
	struct notes_bpf *noting;
	int program; /* descriptor, owned by one of both */
	int foreign; /* the map of notes; only of NOTING */
};

/*
 * Loads the program that only drops samples. CGROUP_FD is borrowed during the call; -1: the program drops all
 * samples. Returns 0 or -errno; after an error *RET is as it was.
 */
int profile_samples_open(int cgroup_fd, struct profile_samples *ret, struct errmsg *err) _must_check_;
/*
 * Loads the program that also notes samples foreign to UID, up to NOTES_MAX notes. -ENOENT: the kernel has no
 * BTF.
 */
int profile_samples_open_noting(int cgroup_fd, uid_t uid, unsigned int notes_max, struct profile_samples *ret,
				struct errmsg *err) _must_check_;
void profile_samples_close(struct profile_samples *s);

/* The program at sched_switch and its maps: descriptors, owned by SKEL. */
struct profile_waits {
	struct waits_bpf *skel; /* NULL: not loaded */
	int begins, sums, stacks[2];
	struct profile_control *control; /* shared with the program */
};

/*
 * Loads the program, and attaches it. Returns 0 or -errno; -ENOENT: the kernel has no BTF. After an
 * error *RET is as it was.
 */
int profile_waits_open(int cgroup_fd, bool has_user, bool has_kernel, struct profile_waits *ret,
		       struct errmsg *err) _must_check_;
void profile_waits_close(struct profile_waits *w);

#endif
