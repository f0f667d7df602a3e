/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * probes_internal.h - what probes.c (the object) and probes_slots.c (its users) share.
 */
#ifndef CEEMS_PROBES_INTERNAL_H
#define CEEMS_PROBES_INTERNAL_H

#include <limits.h>
#include <sys/stat.h>

#include "src/libmeter/activity/probes.h"
#include "src/libutil/must_check.h"

struct probes_fd {
	char name[32];
	int fd;
};

/* The most pins open at once; the object has fewer. */
#define PROBES_PINS_MAX 64

struct probes {
	char dir[PATH_MAX];
	struct probes_meta *meta; /* mapped, shared with the kernel */
	uint32_t npins;
	struct probes_fd pin[PROBES_PINS_MAX];
	int link[LINK_N]; /* descriptors of links; -1: not held */
};

/* The arrays that have elements for each slot. */
struct probes_by_slot {
	const char *name;
	enum probes_group group;
	uint32_t value_size; /* bytes of an element */
	uint32_t shard_size; /* further bytes of an element for each shard */
	bool is_sharded;     /* a slot has one element per shard; else one element for all shards */
};
#define PROBES_BY_SLOT_N 5
extern const struct probes_by_slot probes_by_slot[PROBES_BY_SLOT_N];

/*
 * Checks that only root can write to DIR; ST is its fstat(2). -EPERM: others can, as in a bpf file
 * system mounted without mode=.
 */
int probes_check_folder(const char *dir, const struct stat *st, struct errmsg *err);

/*
 * Maps the array NAME into memory, shared with the BPF programs. PROT is as in mmap(2). RET is the
 * address of a pointer, which the caller unmaps.
 */
int probes_map_memory(struct probes *p, const char *name, size_t size, int prot, void *ret) _must_check_;

/*
 * Makes the BPF programs look up cgroups again, without their cache. Call it after a
 * change of the registered ids.
 */
void probes_void_cache(struct probes *p);

#endif
