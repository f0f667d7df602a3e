/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bpfsys.h - the bpf(2) commands that a reader of pinned maps needs. libbpf would cost every
 * slurmstepd its size and relocations for these five.
 */
#ifndef CEEMS_BPFSYS_H
#define CEEMS_BPFSYS_H

#include <stdint.h>

/* What an open map must look like to be the one meant; zero fields are not compared. */
struct bpfsys_map {
	uint32_t type; /* enum bpf_map_type */
	uint32_t key_size;
	uint32_t value_size;
};

/* The map pinned at PATH, an O_CLOEXEC fd. -EPROTO: it is not of that shape. */
int bpfsys_open_map(const char *path, const struct bpfsys_map *want, int *ret_fd);

/* -ENOENT: no such key. */
int bpfsys_lookup(int fd, const void *key, void *value);
/* FLAGS: BPF_ANY, BPF_NOEXIST (-EEXIST). -E2BIG: the map is full. */
int bpfsys_update(int fd, const void *key, const void *value, uint64_t flags);
int bpfsys_delete(int fd, const void *key);
/* KEY NULL: the first one. -ENOENT: that was the last. */
int bpfsys_next_key(int fd, const void *key, void *next);

#endif
