/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/librecord/lower_bound.h"

enum lower_bound lower_bound_of_step(const struct record_step *s)
{
	const struct values *f = &s->values;
	uint64_t known = f->value[METRIC_ENERGY_NODES];

	if (!s->nnodes || !values_has(f, METRIC_ENERGY_NODES))
		return LOWER_BOUND_UNTOLD;
	if (known >= s->nnodes)
		return LOWER_BOUND_NONE;
	/* a node that did not report is in neither number */
	return values_has(f, METRIC_LATE_NODES) && f->value[METRIC_LATE_NODES] >= s->nnodes - known ?
		       LOWER_BOUND_LATE :
		       LOWER_BOUND_NODE;
}

enum lower_bound lower_bound_of(const struct record *r)
{
	enum lower_bound worst = LOWER_BOUND_UNTOLD;
	size_t i;

	for (i = 0; i < r->nsteps; i++) {
		enum lower_bound bound = lower_bound_of_step(&r->steps[i]);

		if (r->steps[i].step_id == RECORD_STEP_EXTERN && bound != LOWER_BOUND_UNTOLD)
			return bound;
		worst = bound > worst ? bound : worst;
	}
	return worst;
}

const char *lower_bound_text(enum lower_bound bound)
{
	switch (bound) {
	case LOWER_BOUND_LATE:
		return "last tick came late";
	case LOWER_BOUND_NODE:
		return "a node did not report";
	case LOWER_BOUND_UNTOLD:
	case LOWER_BOUND_NONE:
		break;
	}
	return "";
}
