/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bpf/profile/profile_mon.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf/profile/notes.skel.h"
#include "bpf/profile/samples.skel.h"
#include "bpf/profile/waits.skel.h"

/* linux/proc_ns.h: PROC_PID_INIT_INO, the inode of the first pid namespace */
#define INITIAL_PID_NS 0xeffffffcu

static int need_btf(struct errmsg *err)
{
	return access(PROFILE_BTF, R_OK) < 0 ? errmsg_errno(err, -errno, PROFILE_BTF ": cannot open") : 0;
}

static int set_cgroup(const struct bpf_map *map, int cgroup_fd)
{
	const __u32 zero = 0, fd = (__u32)cgroup_fd;

	return cgroup_fd < 0 ? 0 : bpf_map__update_elem(map, &zero, sizeof(zero), &fd, sizeof(fd), 0);
}

/* --- samples -------------------------------------------------------------------------------- */

int profile_samples_open(int cgroup_fd, struct profile_samples *ret, struct errmsg *err)
{
	struct samples_bpf *skel;
	int rc;

	(void)libbpf_set_print(NULL); /* its messages are not for slurmstepd's log */
	skel = samples_bpf__open();
	rc = skel ? samples_bpf__load(skel) : -errno;
	if (rc == 0)
		rc = set_cgroup(skel->maps.cgroup, cgroup_fd);
	if (rc < 0) {
		samples_bpf__destroy(skel);
		return errmsg_errno(err, rc, PROFILE_SAMPLES_REFUSED);
	}
	*ret = (struct profile_samples){ .plain = skel,
					 .program = bpf_program__fd(skel->progs.ceems_profile) };
	return 0;
}

static int notes_load(struct notes_bpf *skel, int cgroup_fd, uid_t uid, unsigned int notes_max)
{
	int rc;

	skel->rodata->user = uid;
	rc = bpf_map__set_max_entries(skel->maps.foreign, notes_max);
	if (rc == 0)
		rc = notes_bpf__load(skel);
	return rc < 0 ? rc : set_cgroup(skel->maps.cgroup, cgroup_fd);
}

int profile_samples_open_noting(int cgroup_fd, uid_t uid, unsigned int notes_max, struct profile_samples *ret,
				struct errmsg *err)
{
	struct notes_bpf *skel;
	int rc = need_btf(err);

	if (rc < 0)
		return rc;
	(void)libbpf_set_print(NULL);
	skel = notes_bpf__open();
	rc = skel ? notes_load(skel, cgroup_fd, uid, notes_max) : -errno;
	if (rc < 0) {
		notes_bpf__destroy(skel);
		return errmsg_errno(err, rc, PROFILE_SAMPLES_REFUSED);
	}
	*ret = (struct profile_samples){
		.noting = skel,
		.program = bpf_program__fd(skel->progs.ceems_profile),
		.foreign = bpf_map__fd(skel->maps.foreign),
	};
	return 0;
}

void profile_samples_close(struct profile_samples *s)
{
	samples_bpf__destroy(s->plain);
	notes_bpf__destroy(s->noting);
	*s = (struct profile_samples){ 0 };
}

/* --- waits ---------------------------------------------------------------------------------- */

static int waits_load(struct waits_bpf *skel, int cgroup_fd, bool has_user, bool has_kernel)
{
	struct stat st;
	int rc;

	skel->rodata->has_user = has_user;
	skel->rodata->has_kernel = has_kernel;
	if (stat("/proc/self/ns/pid", &st) == 0 && st.st_ino != INITIAL_PID_NS) {
		skel->rodata->pidns_dev = st.st_dev;
		skel->rodata->pidns_ino = st.st_ino;
	}
	rc = waits_bpf__load(skel);
	if (rc == 0)
		rc = set_cgroup(skel->maps.cgroup, cgroup_fd);
	return rc < 0 ? rc : waits_bpf__attach(skel);
}

int profile_waits_open(int cgroup_fd, bool has_user, bool has_kernel, struct profile_waits *ret,
		       struct errmsg *err)
{
	struct waits_bpf *skel;
	int rc = need_btf(err);

	if (rc < 0)
		return rc;
	(void)libbpf_set_print(NULL);
	skel = waits_bpf__open();
	rc = skel ? waits_load(skel, cgroup_fd, has_user, has_kernel) : -errno;
	if (rc < 0) {
		waits_bpf__destroy(skel);
		return errmsg_errno(err, rc, "cannot load a BPF program for waits");
	}
	*ret = (struct profile_waits){
		.skel = skel,
		.begins = bpf_map__fd(skel->maps.begins),
		.sums = bpf_map__fd(skel->maps.sums),
		.stacks = { bpf_map__fd(skel->maps.stacks_even), bpf_map__fd(skel->maps.stacks_odd) },
		.control = &skel->bss->control,
	};
	return 0;
}

void profile_waits_close(struct profile_waits *w)
{
	waits_bpf__destroy(w->skel);
	*w = (struct profile_waits){ 0 };
}
