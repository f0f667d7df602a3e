/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bpfsys.h - the bpf(2) commands that are needed to use pinned maps and programs. libbpf is not
 * used, because each slurmstepd would pay for its size and relocations. All functions return 0 or
 * -errno. The kernel opens all fds as O_CLOEXEC.
 */
#ifndef CEEMS_BPFSYS_H
#define CEEMS_BPFSYS_H

#include <linux/bpf.h>
#include <stdint.h>

#include "src/libutil/must_check.h"

/* Opens the map or program that is pinned at PATH. */
int bpfsys_open(const char *path, int *ret_fd) _must_check_;

/* --- maps --------------------------------------------------------------------------------- */

int bpfsys_map_info(int fd, struct bpf_map_info *ret) _must_check_;

/* Reads the value of KEY. -ENOENT: there is no such key. */
int bpfsys_lookup(int fd, const void *key, void *value);
/*
 * Writes the value of KEY. FLAGS: BPF_ANY, or BPF_NOEXIST (-EEXIST: the key exists). -E2BIG: the map is full.
 */
int bpfsys_update(int fd, const void *key, const void *value, uint64_t flags);
int bpfsys_delete(int fd, const void *key);
/* Gives the key after KEY, or the first key if KEY is NULL. -ENOENT: KEY was the last. */
int bpfsys_next_key(int fd, const void *key, void *next);

/*
 * Write or read N elements of an array, from index FIRST on, in one call (Linux 5.6). VALUES has
 * them without gaps.
 */
int bpfsys_write_range(int fd, uint32_t first, uint32_t n, const void *values);
int bpfsys_read_range(int fd, uint32_t first, uint32_t n, void *values);

/* Loads a program of N instructions under the GPL. It lives as long as its descriptor. */
int bpfsys_load(enum bpf_prog_type type, const char *name, const struct bpf_insn *instructions, uint32_t n,
		int *ret_fd) _must_check_;

/* --- programs and links ------------------------------------------------------------------- */

/*
 * Attaches a program to the kernel function or tracepoint it was loaded for (tp_btf, fentry,
 * fexit). It stays attached as long as *RET_FD is open or another process holds the link. -EEXIST,
 * -EBUSY: it is already attached.
 */
int bpfsys_attach(int program_fd, int *ret_fd) _must_check_;
/*
 * Attaches a program to the perf event of a tracepoint, on all CPUs (Linux 5.15). EVENT is the id in tracefs.
 * Otherwise as bpfsys_attach().
 */
int bpfsys_attach_event(int program_fd, uint32_t event, int *ret_fd) _must_check_;
/*
 * Returns how often the kernel skipped the program, because the CPU was already running it or a task was
 * preempted in it. 0 before Linux 5.12, which does not count it.
 */
int bpfsys_program_misses(int program_fd, uint64_t *ret) _must_check_;
/*
 * Opens another fd of the link with that ID. -ENOENT: the link is gone. -EPERM: CAP_SYS_ADMIN is
 * needed.
 */
int bpfsys_open_link(uint32_t id, int *ret_fd) _must_check_;
struct bpfsys_link {
	uint32_t id;
	uint64_t cgroup_id; /* 0: not attached to a cgroup, or no more */
};
int bpfsys_link_info(int fd, struct bpfsys_link *ret) _must_check_;

/* Attaches a program to a cgroup. TYPE is such as BPF_CGROUP_INET_INGRESS. */
int bpfsys_attach_cgroup(int program_fd, int cgroup_fd, enum bpf_attach_type type, int *ret_fd) _must_check_;

/*
 * Runs the BPF iterator PROGRAM_FD. Its output can be read once from *RET_FD. MAP_FD is the map
 * whose elements it visits, or -1 if it visits something else.
 */
int bpfsys_iterate(int program_fd, int map_fd, int *ret_fd) _must_check_;

/*
 * Runs a raw_tp program once on CPU, by an interrupt of the task that runs there. ARG[n] is the
 * program's context. -ENXIO: the CPU is offline. -EINVAL, -ENOTSUPP (524): the kernel is older than
 * 5.10 (commit 1b4d60ec162f).
 */
int bpfsys_run_on(int program_fd, uint32_t cpu, const uint64_t *arg, uint32_t n);
/* Runs a program once on the present CPU, without a context. *RET is its return value. */
int bpfsys_run(int program_fd, uint32_t *ret) _must_check_;

#endif
