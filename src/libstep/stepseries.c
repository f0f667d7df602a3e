/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libstep/stepseries.h"

#include <stdio.h>
#include <string.h>

_Static_assert(STEPSERIES_NAME_SIZE >= sizeof(metric_table[0].name) + sizeof("_uj"), "metric.h");

void stepseries_init(struct stepseries *s, const enum metric *metrics, size_t n, const struct values *f)
{
	size_t i;

	memset(s, 0, sizeof(*s));
	for (i = 0; i < n && s->n < STEPSERIES_MAX; i++)
		if (values_has(f, metrics[i]))
			s->metric[s->n++] = metrics[i];
}

void stepseries_name(enum metric m, char name[STEPSERIES_NAME_SIZE])
{
	(void)snprintf(name, STEPSERIES_NAME_SIZE, "%s%s", metric_table[m].name,
		       unit_table[metric_table[m].unit].name);
}

uint64_t stepseries_next(struct stepseries *s, const struct values *f, uint64_t elapsed_ns, uint64_t *gained)
{
	uint64_t ns = elapsed_ns > s->last_ns ? elapsed_ns - s->last_ns : 0;
	size_t i;

	for (i = 0; i < s->n; i++) {
		uint64_t value = f->value[s->metric[i]];

		gained[i] = values_has(f, s->metric[i]) && value > s->last[i] ? value - s->last[i] : 0;
		s->last[i] += gained[i];
	}
	s->last_ns += ns;
	return ns;
}
