/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libprofile/profile_store.h"

#include <errno.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_SIZE ((size_t)64 << 10)

struct arena_chunk {
	struct arena_chunk *next;
	size_t used, size;
	alignas(max_align_t) unsigned char data[];
};

void *arena_take(struct arena *a, size_t size)
{
	const size_t align = alignof(max_align_t);
	struct arena_chunk *c = a->chunk;
	void *taken;

	if (size > SIZE_MAX / 2)
		return NULL;
	size = (size + align - 1) / align * align;
	if (!c || c->size - c->used < size) {
		const size_t room = size > CHUNK_SIZE ? size : CHUNK_SIZE;

		c = calloc(1, sizeof(*c) + room);
		if (!c)
			return NULL;
		c->size = room;
		c->next = a->chunk;
		a->chunk = c;
	}
	taken = c->data + c->used;
	c->used += size;
	return taken;
}

void *arena_copy(struct arena *a, const void *from, size_t size)
{
	void *to = arena_take(a, size);

	if (to && size)
		memcpy(to, from, size);
	return to;
}

void arena_fini(struct arena *a)
{
	struct arena_chunk *c = a->chunk, *next;

	for (; c; c = next) {
		next = c->next;
		free(c);
	}
	a->chunk = NULL;
}

struct place_slot {
	uint64_t hash;
	uint32_t place; /* PLACE_NONE: the slot is free */
};

static uint64_t mix(uint64_t x)
{
	/* the finalizer of MurmurHash3, which is in the public domain */
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdull;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53ull;
	return x ^ x >> 33;
}

uint64_t place_hash(uint64_t hash, const void *data, size_t len)
{
	const unsigned char *p = data;

	hash = mix(hash + len + 0x9e3779b97f4a7c15ull);
	while (len) {
		const size_t take = len < sizeof(uint64_t) ? len : sizeof(uint64_t);
		uint64_t word = 0;

		memcpy(&word, p, take);
		hash = mix(hash ^ word) + 0x9e3779b97f4a7c15ull;
		p += take;
		len -= take;
	}
	return hash;
}

uint32_t place_find(const struct place_index *x, uint64_t hash,
		    bool (*is_same)(const void *owner, uint32_t place, const void *key), const void *owner,
		    const void *key)
{
	uint32_t i;

	if (!x->size)
		return PLACE_NONE;
	for (i = (uint32_t)hash & (x->size - 1); x->slot[i].place != PLACE_NONE; i = (i + 1) & (x->size - 1))
		if (x->slot[i].hash == hash && is_same(owner, x->slot[i].place, key))
			return x->slot[i].place;
	return PLACE_NONE;
}

static void place_put(struct place_slot *slot, uint32_t size, struct place_slot added)
{
	uint32_t i = (uint32_t)added.hash & (size - 1);

	while (slot[i].place != PLACE_NONE)
		i = (i + 1) & (size - 1);
	slot[i] = added;
}

static int place_grow(struct place_index *x)
{
	const uint32_t size = x->size ? x->size * 2 : 64;
	struct place_slot *slot;
	uint32_t i;

	if (x->size > UINT32_MAX / 4)
		return -ENOMEM;
	slot = malloc(size * sizeof(*slot));
	if (!slot)
		return -ENOMEM;
	for (i = 0; i < size; i++)
		slot[i].place = PLACE_NONE;
	for (i = 0; i < x->size; i++)
		if (x->slot[i].place != PLACE_NONE)
			place_put(slot, size, x->slot[i]);
	free(x->slot);
	x->slot = slot;
	x->size = size;
	return 0;
}

int place_add(struct place_index *x, uint64_t hash, uint32_t place)
{
	int rc = x->n >= x->size / 2 ? place_grow(x) : 0;

	if (rc < 0)
		return rc;
	place_put(x->slot, x->size, (struct place_slot){ hash, place });
	x->n++;
	return 0;
}

void place_fini(struct place_index *x)
{
	free(x->slot);
	*x = (struct place_index){ 0 };
}
