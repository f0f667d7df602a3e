/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile_maps.h - what code processes have mapped where, for ceems-profile: by the kernel's records, and for processes
 * that began before it by /proc/PID/maps. A process that has ended is known for a while, as its samples are.
 */
#ifndef CEEMS_PROFILE_MAPS_H
#define CEEMS_PROFILE_MAPS_H

#include <stdint.h>

#include "src/libmeter/activity/stacks.h"
#include "src/libprofile/profile.h"

struct profile_maps;

/* Mappings are stored in P, which is borrowed. -ENOMEM */
int profile_maps_create(struct profile *p, struct profile_maps **ret);
void profile_maps_destroy(struct profile_maps *m);

/* What a record of mappings, execs, forks and exits says. -ENOMEM, or as profile_add_mapping(). */
int profile_maps_learn(struct profile_maps *m, const struct stacks_record *r);

/*
 * The mapping that ADDRESS of process PID is in, and the address there. -ENOENT: none is known. Of a process without
 * records it reads /proc/PID/maps, once.
 */
int profile_maps_find(struct profile_maps *m, uint32_t pid, uint64_t address, uint32_t *ret_mapping,
		      uint64_t *ret_address);

#endif
