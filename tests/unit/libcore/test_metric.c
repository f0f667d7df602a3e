/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The metric table, units of TRES, the 64 bits of Slurm's sums, and values with their reasons. */
#include "src/libcore/metric.h"

#include <errno.h>

#include "tap.h"

#define HAS_END(text) (!(text)[sizeof(text) - 1])

/* Slurm adds 64 bits over the nodes, and wraps: 10,000 CPUs for 30 days must fit. */
static void test_large_jobs(void)
{
	static const struct {
		enum metric m;
		uint64_t per_s; /* of a CPU at its peak */
	} t[] = {
		{ METRIC_ENERGY, 100000000 },
		{ METRIC_CO2E, 100000000 }, /* 300 W at 1,200 g/kWh */
		{ METRIC_IO_READ_BYTES, UINT64_C(500000000) },
		{ METRIC_TCP_RECEIVED_BYTES, UINT64_C(500000000) },
		{ METRIC_CPU_TIME, 1000000000 },
		{ METRIC_OFF_CPU, UINT64_C(64000000000) },
		{ METRIC_CYCLES, UINT64_C(5000000000) },
		{ METRIC_INSTRUCTIONS, UINT64_C(30000000000) },
		{ METRIC_CACHE_REFERENCES, UINT64_C(5000000000) },
		{ METRIC_BRANCHES, UINT64_C(10000000000) },
		{ METRIC_FP_OPERATIONS, UINT64_C(320000000000) },
		{ METRIC_MEMORY_BYTES, UINT64_C(20000000000) },
		{ METRIC_PMU_ENABLED, 1000000000 },
	};
	size_t i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		double a_second = (double)metric_to_tres(t[i].m, t[i].per_s);

		ok(a_second * 10000 * 30 * 86400 < 0x1p64, "%s of 10,000 CPUs in 30 days fits 64 bits",
		   metric_table[t[i].m].name);
	}
}

int main(void)
{
	struct values a;
	struct values b;
	char line[2048];
	unsigned int m;
	unsigned int k;
	bool complete = true;
	bool fits = true;
	bool unique = true;

	metric_foreach(m) {
		const struct metric_info *i = &metric_table[m];

		if (!i->name[0] || !i->label[0] || !i->help[0] || !i->group[0])
			complete = false;
		if (!HAS_END(i->name) || !HAS_END(i->label) || !HAS_END(i->help) || !HAS_END(i->group) ||
		    !HAS_END(i->tres) || !HAS_END(i->prom) || !HAS_END(i->prom_labels))
			fits = false;
		for (k = 0; k < m; k++) {
			const struct metric_info *o = &metric_table[k];

			if (!strcmp(i->name, o->name))
				unique = false;
			if (i->tres[0] && !strcmp(i->tres, o->tres) && i->side == o->side)
				unique = false;
			if (i->prom[0] && !strcmp(i->prom, o->prom) &&
			    (!i->prom_labels[0] || !o->prom_labels[0] ||
			     !strcmp(i->prom_labels, o->prom_labels)))
				unique = false;
		}
	}
	ok(complete, "every metric has name, label, help and group");
	ok(fits, "all texts fit into the table's rows");
	ok(unique, "names, TRES sides and Prometheus names are used once");

	is_u64(metric_to_tres(METRIC_ENERGY, 1499999), 1, "1.499999 J is 1 J");
	is_u64(metric_to_tres(METRIC_ENERGY, 1500000), 2, "1.5 J is 2 J");
	is_u64(metric_to_tres(METRIC_ENERGY, UINT64_MAX), 18446744073710,
	       "the largest value does not overflow");
	is_u64(metric_to_tres(METRIC_PAGE_FAULTS, 7), 7, "counts stay as they are");
	is_u64(metric_to_tres(METRIC_IO_READ_BYTES, 7), 7, "as do bytes");
	is_u64(metric_to_tres(METRIC_CYCLES, 7501), 8, "cycles are thousands");
	is_u64(metric_to_tres(METRIC_MEMORY_BYTES, 3 * 1024), 3, "memory is KiB");
	test_large_jobs();
	is_u64(metric_to_tres(METRIC_RUN_DELAY, 1499), 1, "times are microseconds");
	is_u64(metric_from_tres(METRIC_RUN_DELAY, 3), 3000, "and back to ns");
	is_u64(metric_to_tres(METRIC_CO2E, 158817), 159, "13 J at 43.98 g/kWh are 159 ug");
	is_u64(metric_from_tres(METRIC_CO2E, 159), 159000, "ug to ng");
	is_str(metric_tres_unit(METRIC_CO2E), "ug", "as ceems tres --table says");
	is_u64(metric_from_tres(METRIC_ENERGY, UINT64_MAX), UINT64_MAX, "joules to uJ: no overflow");
	values_init(&a);
	values_set(&a, METRIC_CYCLES, metric_from_tres(METRIC_CYCLES, UINT64_MAX / 2));
	ok(!values_has(&a, METRIC_CYCLES), "a value above 64 bits is unknown");

	values_init(&a);
	values_init(&b);
	ok(!values_has(&a, METRIC_ENERGY), "nothing is known at first");
	values_fold(&a, &b);
	ok(!values_has(&a, METRIC_ENERGY), "unknown and unknown is unknown");
	values_miss(&b, METRIC_CYCLES, REASON_NO_PMU);
	values_set(&b, METRIC_ENERGY, 5);
	values_fold(&a, &b);
	values_fold(&a, &b);
	is_u64(a.value[METRIC_ENERGY], 10, "known parts add up");
	is_str(metric_reason_text(a.reason[METRIC_CYCLES]), "no PMU", "the reason is kept");
	values_set(&b, METRIC_ENERGY, UINT64_MAX - 1);
	values_fold(&a, &b);
	ok(!values_has(&a, METRIC_ENERGY), "a sum that does not fit is not known");
	is_str(metric_reason_text(a.reason[METRIC_ENERGY]), "more than 64 bits", "and the reason says so");
	values_set(&b, METRIC_ENERGY, 5);
	values_fold(&a, &b);
	ok(!values_has(&a, METRIC_ENERGY), "a further part leaves that sum unknown");
	values_fold(&b, &a);
	ok(!values_has(&b, METRIC_ENERGY), "and a sum with it is unknown");

	is_int(metric_tres_line(METRIC_SET_ALL, line, sizeof(line)), 0, "the TRES line");
	ok(!strncmp(line, "energy,ic/ceems_co2e,ic/ceems_cpu_energy,", 41), "in the table's order");
	ok(strstr(line, "fs/ceems,") && strstr(strstr(line, "fs/ceems,") + 1, "fs/ceems,") == NULL,
	   "each TRES once");
	is_int(metric_tres_line(METRIC_SET_ALL, line, 20), -ENOSPC, "too small a buffer");
	is_int(metric_set_of(METRIC_CPU_ENERGY_STATIC), METRIC_SET_BASIC,
	       "a TRES is in the set of its other side");
	is_int(metric_set_of(METRIC_IO_READ_BYTES), METRIC_SET_STANDARD,
	       "a metric that needs no request is standard");
	is_int(metric_set_of(METRIC_CYCLES), METRIC_SET_ALL, "counters of a CPU are not");
	is_int(metric_tres_line(METRIC_SET_BASIC, line, sizeof(line)), 0, "the TRES line of the basic set");
	ok(strstr(line, "ic/ceems_nodes") && !strstr(line, "ic/ceems_io_calls"),
	   "  has no TRES of other sets");
	return done_testing();
}
