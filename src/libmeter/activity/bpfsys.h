/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bpfsys.h - the bpf(2) commands that a user of pinned maps and programs needs. Mapping libbpf for
 * these few would cost each slurmstepd its size and relocations. All return -errno; fds are
 * O_CLOEXEC, which the kernel sees to.
 */
#ifndef CEEMS_BPFSYS_H
#define CEEMS_BPFSYS_H

#include <linux/bpf.h>
#include <stdint.h>

/* The map or program pinned at PATH. */
int bpfsys_open(const char *path, int *ret_fd);

/* --- maps --------------------------------------------------------------------------------- */

int bpfsys_map_info(int fd, struct bpf_map_info *ret);

/* -ENOENT: no such key. */
int bpfsys_lookup(int fd, const void *key, void *value);
/* FLAGS: BPF_ANY, BPF_NOEXIST (-EEXIST). -E2BIG: the map is full. */
int bpfsys_update(int fd, const void *key, const void *value, uint64_t flags);
int bpfsys_delete(int fd, const void *key);
/* KEY NULL: the first one. -ENOENT: that was the last. */
int bpfsys_next_key(int fd, const void *key, void *next);

/* N elements of an array from index FIRST on, their values back to back: one call (5.6). */
int bpfsys_write_range(int fd, uint32_t first, uint32_t n, const void *values);
int bpfsys_read_range(int fd, uint32_t first, uint32_t n, void *values);

/* --- programs and links ------------------------------------------------------------------- */

/*
 * Attaches a program to what it was loaded for: tp_btf, fentry, fexit. The program stays attached
 * as long as *RET_FD is open or another process holds the link. -EEXIST, -EBUSY: the program is
 * attached already.
 */
int bpfsys_attach(int program_fd, int *ret_fd);
/*
 * Another fd of the link with that ID. -ENOENT: there is none any more; -EPERM: it takes
 * CAP_SYS_ADMIN.
 */
int bpfsys_open_link(uint32_t id, int *ret_fd);
struct bpfsys_link {
	uint32_t id;
	uint64_t cgroup_id; /* 0: not attached to a cgroup, or no more */
};
int bpfsys_link_info(int fd, struct bpfsys_link *ret);

/* Attaches to a cgroup: BPF_CGROUP_INET_INGRESS, say. */
int bpfsys_attach_cgroup(int program_fd, int cgroup_fd, enum bpf_attach_type type, int *ret_fd);

/*
 * A fd from which the list that iterator PROGRAM_FD makes can be read, once. MAP_FD: of the map whose
 * elements it goes through; -1: it goes through something else.
 */
int bpfsys_iterate(int program_fd, int map_fd, int *ret_fd);

/*
 * Runs a program of type raw_tp once on CPU, in an interrupt of what runs there; ARG[n] is its context.
 * -ENXIO: the CPU is offline; -EINVAL, -ENOTSUPP (524): a kernel before 5.10 (1b4d60ec162f).
 */
int bpfsys_run_on(int program_fd, uint32_t cpu, const uint64_t *arg, uint32_t n);
/* The same here, without a context; *RET is what it returned. */
int bpfsys_run(int program_fd, uint32_t *ret);

#endif
