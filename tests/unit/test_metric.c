/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libjob/metric.h"

#include <errno.h>

#include "tap.h"

int main(void)
{
	struct figures a;
	struct figures b;
	char line[1024];
	unsigned int m;
	unsigned int k;
	bool complete = true;
	bool unique = true;

	metric_foreach(m) {
		const struct metric_info *i = &metric_table[m];

		if (!i->name || !i->label || !i->help || !i->group)
			complete = false;
		for (k = 0; k < m; k++) {
			const struct metric_info *o = &metric_table[k];

			if (!strcmp(i->name, o->name))
				unique = false;
			if (i->tres && o->tres && !strcmp(i->tres, o->tres) &&
			    i->side == o->side)
				unique = false;
			if (i->prom && o->prom && !strcmp(i->prom, o->prom) &&
			    (!i->prom_labels || !o->prom_labels ||
			     !strcmp(i->prom_labels, o->prom_labels)))
				unique = false;
		}
	}
	ok(complete, "every metric has name, label, help and group");
	ok(unique, "names, TRES sides and Prometheus names are used once");

	is_u64(metric_to_tres(METRIC_ENERGY, 1499999), 1, "1.499999 J is 1 J");
	is_u64(metric_to_tres(METRIC_ENERGY, 1500000), 2, "1.5 J is 2 J");
	is_u64(metric_to_tres(METRIC_ENERGY, UINT64_MAX), 18446744073710, "the largest");
	is_u64(metric_to_tres(METRIC_CYCLES, 7), 7, "counts stay as they are");
	is_u64(metric_to_tres(METRIC_RUN_DELAY, 1499), 1, "times are microseconds");
	is_u64(metric_from_tres(METRIC_RUN_DELAY, 3), 3000, "and back");
	is_u64(metric_from_tres(METRIC_CO2E, 3), 3000000, "mg to ng");
	is_u64(metric_from_tres(METRIC_ENERGY, UINT64_MAX), UINT64_MAX, "no overflow");

	figures_init(&a);
	figures_init(&b);
	ok(!figures_has(&a, METRIC_ENERGY), "nothing is known at first");
	figures_fold(&a, &b);
	ok(!figures_has(&a, METRIC_ENERGY), "unknown and unknown is unknown");
	figures_miss(&b, METRIC_CYCLES, REASON_NO_PMU);
	figures_set(&b, METRIC_ENERGY, 5);
	figures_fold(&a, &b);
	figures_fold(&a, &b);
	is_u64(a.value[METRIC_ENERGY], 10, "known parts add up");
	is_str(metric_reason_text(a.reason[METRIC_CYCLES]), "no PMU", "the reason is kept");
	figures_set(&b, METRIC_ENERGY, UINT64_MAX);
	figures_fold(&a, &b);
	is_u64(a.value[METRIC_ENERGY], UINT64_MAX, "sums saturate");

	is_int(metric_tres_line(line, sizeof(line)), 0, "the TRES line");
	ok(!strncmp(line, "energy,ic/ceems_co2e,ic/ceems_cpu_energy,", 41), "in the table's order");
	ok(strstr(line, "fs/ceems,") && strstr(strstr(line, "fs/ceems,") + 1, "fs/ceems,") == NULL,
	   "each TRES once");
	is_int(metric_tres_line(line, 20), -ENOSPC, "too small a buffer");
	return done_testing();
}
