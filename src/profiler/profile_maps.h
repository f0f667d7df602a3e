/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile_maps.h - keeps the code mappings of processes, for ceems-profile. They come from the
 * kernel's records, or from /proc/PID/maps for processes that began before ceems-profile. The
 * mappings of the last 1024 ended processes are kept, because samples may come after the end.
 */
#ifndef CEEMS_PROFILE_MAPS_H
#define CEEMS_PROFILE_MAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "src/libutil/must_check.h"
#include "src/profiler/stacks.h"
#include "src/libprofile/profile.h"

struct profile_maps;

/* Returns whether M is memory without a file. All of it with one name is one mapping. */
bool profile_maps_is_anonymous(const struct profile_mapping *m);

/* Mappings will be added to P, which is borrowed. Returns 0 or -ENOMEM. */
int profile_maps_create(struct profile *p, struct profile_maps **ret) _must_check_;
void profile_maps_destroy(struct profile_maps *m);

/*
 * Learns from a record of a mapping, exec, fork or exit, or of lost records; ignores others. Returns 0,
 * -ENOMEM or an error of profile_add_mapping().
 */
int profile_maps_learn(struct profile_maps *m, const struct stacks_record *r);

/*
 * Finds the mapping of process PID that contains ADDRESS. Sets *RET_MAPPING to its index in P and
 * *RET_ADDRESS to the address in P's mapping (profile_rebase(); of memory without a file, ADDRESS itself).
 * Reads /proc/PID/maps once if records do not tell all mappings, and again after lost records. Returns 0;
 * -ENOENT: no known mapping contains ADDRESS; or an error as above.
 */
int profile_maps_find(struct profile_maps *m, uint32_t pid, uint64_t address, uint32_t *ret_mapping,
		      uint64_t *ret_address) _must_check_;

#endif
