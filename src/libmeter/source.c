/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libmeter/source.h"

#include <errno.h>
#include <string.h>

#include "src/libutil/util.h"

const struct source_ops *const source_all[SOURCE_N] = {
	/* the model is last, as it always opens */
	&source_rapl,
	&source_model,
};

/* The state comes out of a file: its count is not to be trusted with memory. */
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
