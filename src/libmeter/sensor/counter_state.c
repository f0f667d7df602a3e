/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libmeter/sensor/counter_state.h"

#include <errno.h>
#include <stdio.h>

struct age_name {
	char text[sizeof(((struct source_counter *)0)->name) + 8];
};

static struct age_name age_name_of(const char *name)
{
	struct age_name age;

	(void)snprintf(age.text, sizeof(age.text), "%s age", name);
	return age;
}

int counter_state_advance(struct counter *c, struct source_state *state, const char *name, int read_rc,
			  uint64_t cur_uj, uint64_t dt_ns, uint64_t *ret_uj, bool *ret_wrapped)
{
	struct age_name age_name = age_name_of(name);
	uint64_t *base = source_state_find(state, name);
	uint64_t *age = source_state_find(state, age_name.text);
	int rc = read_rc;

	c->age_ns = base && age ? *age : 0;
	if (rc < 0) {
		counter_miss(c, dt_ns);
	} else if (base) {
		rc = counter_advance(c, base, cur_uj, dt_ns, ret_uj, ret_wrapped);
	} else if (cur_uj > c->range_uj) {
		rc = -ERANGE;
	} else {
		c->doubt.is_set = false;
		rc = source_state_put(state, name, cur_uj);
		rc = rc < 0 ? rc : 1;
	}
	if (rc >= 0)
		source_state_drop(state, age_name.text);
	/* if there is no room for the age, a reading after a long gap may be rejected as a jump */
	else if (base)
		(void)source_state_put(state, age_name.text, c->age_ns);
	return rc;
}

void counter_state_note(const struct counter *c, struct source_state *state, const char *name,
			uint64_t raw_uj, uint64_t since_ns, struct counter_note *n)
{
	const uint64_t *base = source_state_find(state, name);
	const uint64_t *age = source_state_find(state, age_name_of(name).text);

	if (!base)
		return;
	if (!n->after_ns)
		*n = (struct counter_note){ .base_uj = *base, .raw_uj = *base };
	counter_note_add(n, c->range_uj, c->max_w, raw_uj, since_ns + (age ? *age : 0));
}

void counter_state_forget(struct counter *c, struct source_state *state, const char *name)
{
	source_state_drop(state, age_name_of(name).text);
	source_state_drop(state, name);
	c->doubt.is_set = false;
}
