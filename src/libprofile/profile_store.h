/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile_store.h - for profile.c: memory that is given back as a whole, and indexes that find what is stored.
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

/* SIZE bytes, aligned for any type, zeroed; NULL: there is no memory. SIZE may be 0. */
void *arena_take(struct arena *a, size_t size);
/* A copy of FROM[0..SIZE). */
void *arena_copy(struct arena *a, const void *from, size_t size);
void arena_fini(struct arena *a);

/* --- indexes --------------------------------------------------------------------------------- */

/* From a hash to places in an array; who asks compares what is there. */
struct place_index {
	struct place_slot *slot;
	uint32_t size, n; /* SIZE is a power of 2 */
};

#define PLACE_NONE UINT32_MAX

/* Continues HASH, at first 0, over DATA[0..LEN). */
uint64_t place_hash(uint64_t hash, const void *data, size_t len);

/* The place that IS_SAME(OWNER, place, KEY) accepts, or PLACE_NONE. */
uint32_t place_find(const struct place_index *x, uint64_t hash,
		    bool (*is_same)(const void *owner, uint32_t place, const void *key), const void *owner,
		    const void *key);
/* -ENOMEM */
int place_add(struct place_index *x, uint64_t hash, uint32_t place);
void place_fini(struct place_index *x);

#endif
