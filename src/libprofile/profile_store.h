/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile_store.h - for profile.c: an arena, whose memory is freed at once, and hash indexes of arrays.
 */
#ifndef CEEMS_PROFILE_STORE_H
#define CEEMS_PROFILE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- memory ---------------------------------------------------------------------------------- */

struct arena_chunk;
struct arena {
	struct arena_chunk *chunk;
};

/* Allocates SIZE zeroed bytes, aligned for any type. SIZE may be 0. NULL: out of memory. */
void *arena_take(struct arena *a, size_t size);
/* Copies SIZE bytes at FROM. NULL: out of memory. */
void *arena_copy(struct arena *a, const void *from, size_t size);
/* Frees all memory of A. */
void arena_fini(struct arena *a);

/* --- indexes --------------------------------------------------------------------------------- */

/* Maps hashes to places, which are indexes in the caller's array. The caller compares the elements. */
struct place_index {
	struct place_slot *slot;
	uint32_t size, n; /* SIZE is a power of 2 */
};

#define PLACE_NONE UINT32_MAX

/* Returns the hash of DATA[len], continued from HASH; begin with 0. */
uint64_t place_hash(uint64_t hash, const void *data, size_t len);

/* Returns the place with this HASH for which IS_SAME(OWNER, place, KEY) is true, or PLACE_NONE. */
uint32_t place_find(const struct place_index *x, uint64_t hash,
		    bool (*is_same)(const void *owner, uint32_t place, const void *key), const void *owner,
		    const void *key);
/* Adds PLACE under HASH. Returns 0 or -ENOMEM. */
int place_add(struct place_index *x, uint64_t hash, uint32_t place);
void place_fini(struct place_index *x);

#endif
