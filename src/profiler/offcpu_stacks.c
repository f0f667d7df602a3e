/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/profiler/offcpu_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/libmeter/activity/bpfsys.h"

struct offcpu_kept {
	struct offcpu_stack stack;
	size_t n;
	uint64_t *address;
};

static void kept_free(struct offcpu_kept *kept, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		free(kept[i].address);
	free(kept);
}

void offcpu_stacks_close(struct offcpu_stacks *s)
{
	kept_free(s->kept, s->nkept);
	*s = (struct offcpu_stacks){ 0 };
}

/* --- reading -------------------------------------------------------------------------------- */

/* For qsort() and bsearch(): A and B begin with a struct offcpu_stack. */
static int compare_stacks(const void *a, const void *b)
{
	const struct offcpu_stack *x = a, *y = b;

	if (x->generation != y->generation)
		return x->generation < y->generation ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

static bool is_in_map(const struct offcpu_stacks *s, const struct offcpu_stack *stack)
{
	return s->generation - stack->generation < 2;
}

static void note_seen(struct offcpu_stacks *s, const struct offcpu_stack *stack)
{
	const uint32_t id = (uint32_t)stack->id;
	const uint64_t bit = UINT64_C(1) << (id % 64);

	if (stack->generation != s->generation || id >= PROFILE_STACKS || s->seen[id / 64] & bit)
		return;
	s->seen[id / 64] |= bit;
	s->nseen++;
}

size_t offcpu_stacks_read(struct offcpu_stacks *s, const struct offcpu_stack *stack,
			  uint64_t address[PROFILE_DEPTH])
{
	const uint32_t key = (uint32_t)stack->id;
	const struct offcpu_kept *kept;
	size_t n = 0;

	if (stack->id < 0)
		return 0;
	if (!is_in_map(s, stack)) {
		kept = s->nkept ? bsearch(stack, s->kept, s->nkept, sizeof(*s->kept), compare_stacks) : NULL;
		if (!kept)
			return 0;
		memcpy(address, kept->address, kept->n * sizeof(*address));
		return kept->n;
	}
	if (bpfsys_lookup(s->map[stack->generation % 2], &key, address) < 0)
		return 0;
	note_seen(s, stack);
	while (n < PROFILE_DEPTH && address[n])
		n++;
	return n;
}

/* --- a new generation ----------------------------------------------------------------------- */

bool offcpu_stacks_is_due(const struct offcpu_stacks *s)
{
	return s->nseen >= PROFILE_STACKS / 4;
}

static void empty_map(int map)
{
	uint32_t key, next = 0;
	int rc;

	for (rc = bpfsys_next_key(map, NULL, &key); rc == 0; key = next) {
		rc = bpfsys_next_key(map, &key, &next);
		(void)bpfsys_delete(map, &key);
	}
}

/* Copies STACK out of its map, or out of what was kept. */
static int keep_stack(struct offcpu_stacks *s, const struct offcpu_stack *stack, struct offcpu_kept *ret)
{
	uint64_t address[PROFILE_DEPTH];
	const size_t n = offcpu_stacks_read(s, stack, address);
	uint64_t *copy = malloc((n + 1) * sizeof(*copy));

	if (!copy)
		return -ENOMEM;
	memcpy(copy, address, n * sizeof(*copy));
	*ret = (struct offcpu_kept){ *stack, n, copy };
	return 0;
}

int offcpu_stacks_renew(struct offcpu_stacks *s, struct offcpu_stack *used, size_t n)
{
	struct offcpu_kept *kept = calloc(n + 1, sizeof(*kept));
	size_t i, nkept = 0;
	int rc = kept ? 0 : -ENOMEM;

	qsort(used, n, sizeof(*used), compare_stacks);
	for (i = 0; i < n && rc == 0; i++)
		/* the stacks of this generation stay in their map */
		if (used[i].id >= 0 && used[i].generation != s->generation &&
		    (!nkept || compare_stacks(&kept[nkept - 1].stack, &used[i]) != 0))
			rc = keep_stack(s, &used[i], &kept[nkept++]);
	if (rc < 0) {
		kept_free(kept, nkept);
		return rc;
	}
	kept_free(s->kept, s->nkept);
	s->kept = kept;
	s->nkept = nkept;
	s->generation++;
	empty_map(s->map[s->generation % 2]);
	memset(s->seen, 0, sizeof(s->seen));
	s->nseen = 0;
	return 0;
}
