/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions for readings and states that all sources use. Not in source.c, which lists all sources:
 * a test of one source is linked with this file alone.
 */
#include <errno.h>
#include <string.h>

#include "src/libmeter/sensor/source.h"
#include "src/libutil/util.h"

const char *reading_quality_name(enum reading_quality q)
{
	static const char *const names[] = {
		[QUALITY_COUNTER] = "counter",
		[QUALITY_INTEGRATED] = "integrated",
		[QUALITY_ESTIMATE] = "estimate",
	};

	return (size_t)q < ARRAY_SIZE(names) ? names[q] : "?";
}

struct part *reading_part_of(struct reading *r, enum part_scope scope, unsigned int module, enum domain d,
			     unsigned int unit, enum reading_quality q)
{
	struct part *p;
	uint32_t i;

	for (i = 0; i < r->nparts; i++)
		if (r->part[i].domain == d && r->part[i].unit == unit && r->part[i].scope == scope &&
		    (scope == SCOPE_UNIT || r->part[i].module == module))
			return &r->part[i];
	if (r->nparts == PARTS_MAX)
		return &r->part[PARTS_MAX - 1];
	p = &r->part[r->nparts++];
	*p = (struct part){
		.domain = (uint8_t)d,
		.quality = (uint8_t)q,
		.unit = (uint8_t)unit,
		.scope = (uint8_t)scope,
		.module = (uint8_t)module,
	};
	return p;
}

struct part *reading_part(struct reading *r, enum domain d, unsigned int unit, enum reading_quality q)
{
	return reading_part_of(r, SCOPE_UNIT, 0, d, unit, q);
}

/*
 * Returns the number of entries in the state. It comes from a file and is used as an index, so a
 * wrong number counts as 0.
 */
static uint32_t state_count(const struct source_state *state)
{
	return state->ncounters <= SOURCE_MAX_COUNTERS ? state->ncounters : 0;
}

static struct source_counter *find(struct source_state *state, const char *name)
{
	uint32_t n = state_count(state);
	uint32_t i;

	for (i = 0; i < n; i++) {
		struct source_counter *c = &state->counter[i];

		if (!strncmp(c->name, name, sizeof(c->name)))
			return c;
	}
	return NULL;
}

uint64_t *source_state_find(struct source_state *state, const char *name)
{
	struct source_counter *c = find(state, name);

	return c ? &c->raw : NULL;
}

int source_state_put(struct source_state *state, const char *name, uint64_t raw)
{
	struct source_counter *c = find(state, name);
	uint32_t n = state_count(state);

	if (!c) {
		if (strlen(name) >= sizeof(c->name))
			return -ENAMETOOLONG;
		if (n == SOURCE_MAX_COUNTERS)
			return -ENOSPC;
		c = &state->counter[n];
		memset(c, 0, sizeof(*c));
		memcpy(c->name, name, strlen(name));
		state->ncounters = n + 1;
	}
	c->raw = raw;
	return 0;
}

void source_state_drop(struct source_state *state, const char *name)
{
	struct source_counter *c = find(state, name);

	if (!c)
		return;
	*c = state->counter[--state->ncounters];
	memset(&state->counter[state->ncounters], 0, sizeof(*c));
}
