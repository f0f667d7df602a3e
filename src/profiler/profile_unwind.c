/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/profiler/profile_unwind.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "src/libprofile/symbols.h"

/*
 * Size of the cache of rows, a power of two. The same few callers are looked up at each sample;
 * sampled addresses themselves are many.
 */
#define CACHE_SIZE 8192u

struct unwind_answer {
	uint64_t address;
	uint32_t mapping;
	bool is_known; /* this entry is in use */
	bool has_row;
	struct unwind_row row;
};

struct profile_unwind {
	const struct profile *profile;
	struct profile_maps *maps;
	struct profile_names *names;
	struct profile_jit *jit;
	const struct unwind_machine *machine;
	uint32_t pid; /* process of the sample that is being unwound */
	struct unwind_answer cache[CACHE_SIZE];
};

int profile_unwind_create(const struct profile *p, struct profile_maps *maps, struct profile_names *names,
			  struct profile_jit *jit, struct profile_unwind **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	(*ret)->profile = p;
	(*ret)->maps = maps;
	(*ret)->names = names;
	(*ret)->jit = jit;
	(*ret)->machine = unwind_host();
	return 0;
}

void profile_unwind_destroy(struct profile_unwind *u)
{
	free(u);
}

static int find_answer(struct profile_unwind *u, struct unwind_answer *a)
{
	struct symbols *symbols;
	uint64_t offset;
	int rc = profile_names_open(u->names, u->pid, a->mapping, a->address, &symbols, &offset);

	if (rc < 0)
		return rc;
	a->has_row = symbols && symbols_unwind_row(symbols, u->machine, offset, &a->row);
	a->is_known = true;
	return 0;
}

/* Finds the row for PC, as unwind_find_fn. */
static int find_row(void *ctx, uint64_t pc, struct unwind_row *ret)
{
	struct profile_unwind *u = ctx;
	struct unwind_answer *a;
	uint64_t address;
	uint32_t mapping;
	int rc = profile_maps_find(u->maps, u->pid, pc, &mapping, &address);

	if (rc < 0)
		return rc;
	/* not in the cache: processes may have the same mapping with different code in it */
	if (u->machine == &unwind_x86_64 && profile_jit_is_made(&u->profile->mapping[mapping]))
		return profile_jit_row(u->jit, u->pid, pc, ret);
	a = &u->cache[(address ^ address / CACHE_SIZE ^ mapping) & (CACHE_SIZE - 1)];
	if (!a->is_known || a->address != address || a->mapping != mapping) {
		*a = (struct unwind_answer){ .address = address, .mapping = mapping };
		rc = find_answer(u, a);
		if (rc < 0)
			return rc;
	}
	*ret = a->row;
	return a->has_row;
}

/*
 * Takes the callers from the kernel's call chain instead. A return address may be the first byte of
 * the next function, so 1 is subtracted. An address in no mapping is not code: a function without
 * frame pointer had other data there, and the rest of the chain is meaningless.
 */
static int take_chain(struct profile_unwind *u, const struct stacks_record *r, uint64_t *ret, size_t max,
		      size_t *ret_n, enum unwind_end *ret_end)
{
	uint64_t address;
	uint32_t mapping;
	size_t n;
	int rc = 0;

	for (n = 0; n < r->nuser && n < max; n++) {
		ret[n] = r->user[n] - (n > 0);
		rc = profile_maps_find(u->maps, r->pid, ret[n], &mapping, &address);
		if (rc < 0)
			break;
	}
	*ret_n = n;
	*ret_end = rc < 0 ? UNWIND_FAILED : r->is_cut || n < r->nuser ? UNWIND_CUT : UNWIND_WHOLE;
	return rc == -ENOENT ? 0 : rc;
}

int profile_unwind_sample(struct profile_unwind *u, const struct stacks_record *r, uint64_t *ret, size_t max,
			  size_t *ret_n, enum unwind_end *ret_end)
{
	const struct unwind_sample sample = {
		.machine = u->machine,
		.reg = r->reg,
		.stack = r->dump,
		.size = r->dump_size,
		.is_short = r->is_dump_short,
		.chain = r->user,
		.nchain = r->nuser,
		.find = find_row,
		.ctx = u,
	};

	u->pid = r->pid;
	if (!u->machine || r->nregs != u->machine->n)
		return take_chain(u, r, ret, max, ret_n, ret_end);
	return unwind_walk(&sample, ret, max, ret_n, ret_end);
}
