/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * probes_internal.h - shared by probes.c (the object) and probes_slots.c (its users).
 */
#ifndef CEEMS_PROBES_INTERNAL_H
#define CEEMS_PROBES_INTERNAL_H

#include <limits.h>
#include <sys/stat.h>

#include "src/libmeter/activity/probes.h"

struct probes_fd {
	char name[32];
	int fd;
};

/* Pins that may be open at once: all of the object's. */
#define PROBES_PINS_MAX 64

struct probes {
	char dir[PATH_MAX];
	struct probes_meta *meta; /* mapped, shared with the kernel */
	uint32_t npins;
	struct probes_fd pin[PROBES_PINS_MAX];
	int link[LINK_N]; /* fds, -1: not held */
};

/* The arrays that have elements for each slot. */
struct probes_by_slot {
	const char *name;
	enum probes_group group;
	uint32_t value_size; /* of an element */
	uint32_t shard_size; /* and what each shard adds to that */
	bool is_sharded;     /* has an element per shard, or one for all */
};
#define PROBES_BY_SLOT_N 5
extern const struct probes_by_slot probes_by_slot[PROBES_BY_SLOT_N];

/*
 * -EPERM: DIR, which is like ST, is not ours alone. A bpf file system that was mounted without mode= is
 * everybody's to make folders in.
 */
int probes_check_folder(const char *dir, const struct stat *st, struct errmsg *err);

/*
 * The array NAME in memory, shared with the programs; PROT as mmap(2) has it. RET: the address of a
 * pointer, which the caller unmaps.
 */
int probes_map_memory(struct probes *p, const char *name, size_t size, int prot, void *ret);

/* Voids what the programs know of cgroups, after a change of what they go by. */
void probes_void_cache(struct probes *p);

#endif
