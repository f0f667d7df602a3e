/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/profiler/stacks_filter.h"

#include "src/libmeter/activity/bpfsys.h"

/*
 * About a second: how far from a sample its note is looked for, as a virtual machine
 * may stand still in between.
 */
#define UNITS_MAX 1024

bool stacks_filter_has_foreign(const struct profile_samples *f)
{
	uint64_t key;

	return f->noting && bpfsys_next_key(f->foreign, NULL, &key) == 0;
}

/* Looks for the note KEY, and deletes the one that this CPU's last foreign sample had. */
static bool find_note(const struct profile_samples *f, uint64_t key, uint64_t *last)
{
	uint64_t value;

	if (key == *last)
		return true;
	if (bpfsys_lookup(f->foreign, &key, &value) < 0)
		return false;
	if (*last)
		(void)bpfsys_delete(f->foreign, last);
	*last = key;
	return true;
}

bool stacks_filter_is_foreign(const struct profile_samples *f, uint32_t cpu,
			      const struct stacks_neighbours *at, uint64_t *last)
{
	const uint64_t middle = at->mono_ns >> PROFILE_UNIT_SHIFT;
	uint64_t first = at->before_ns >> PROFILE_UNIT_SHIFT, unit = at->after_ns >> PROFILE_UNIT_SHIFT;

	if (middle - first > UNITS_MAX)
		first = middle - UNITS_MAX;
	if (unit - middle > UNITS_MAX)
		unit = middle + UNITS_MAX;
	if (*last && *last >> PROFILE_CPU_BITS < first) { /* no later sample can have it */
		(void)bpfsys_delete(f->foreign, last);
		*last = 0;
	}
	while (!find_note(f, unit << PROFILE_CPU_BITS | (cpu & PROFILE_CPU_MASK), last))
		if (unit-- == first)
			return false;
	return true;
}
