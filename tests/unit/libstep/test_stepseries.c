/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of a step's time series: what a step used since the row before. */
#include "src/libstep/stepseries.h"

#include "src/libutil/util.h"
#include "tap.h"

#define UNKNOWN UINT64_MAX

static void set(struct values *f, enum metric m, uint64_t value)
{
	if (value == UNKNOWN)
		values_miss(f, m, REASON_FAILED);
	else
		values_set(f, m, value);
}

/* What the step has in the end, and what rows of it say. */
static const struct {
	const char *name;
	uint64_t elapsed_ns, energy_uj, read_bytes;
	uint64_t ns, gained_uj, gained_bytes;
} rows[] = {
	{ "the first is of the time since the step began", 500, 1000, 70, 500, 1000, 70 },
	{ "the next is what came after it", 1500, 1600, 70, 1000, 600, 0 },
	{ "what is unknown for once is 0", 2500, 1700, UNKNOWN, 1000, 100, 0 },
	{ "and comes later", 3500, 1800, 100, 1000, 100, 30 },
	{ "what went back is 0", 4500, 1700, 90, 1000, 0, 0 },
	{ "and counts once", 5500, 1900, 110, 1000, 100, 10 },
	{ "a clock that did not move", 5500, 1900, 110, 0, 0, 0 },
	{ "or went back", 5400, 2000, 110, 0, 100, 0 },
	{ "the end", 6500, UINT64_MAX - 1, 110, 1000, UINT64_MAX - 1 - 2000, 0 },
};

static void test_rows(void)
{
	static const enum metric wanted[] = { METRIC_ENERGY, METRIC_GPU_ENERGY, METRIC_IO_READ_BYTES };
	struct stepseries s;
	struct values f;
	uint64_t gained[STEPSERIES_MAX];
	uint64_t sum_uj = 0;
	size_t i;

	values_init(&f);
	set(&f, METRIC_ENERGY, 1);
	set(&f, METRIC_IO_READ_BYTES, 0);
	set(&f, METRIC_CPU_TIME, 5);
	stepseries_init(&s, wanted, ARRAY_SIZE(wanted), &f);
	is_u64(s.n, 2, "a column for each metric that is wanted and known");
	ok(s.metric[0] == METRIC_ENERGY && s.metric[1] == METRIC_IO_READ_BYTES,
	   "in the order of what is wanted");
	set(&f, METRIC_GPU_ENERGY, 77);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		set(&f, METRIC_ENERGY, rows[i].energy_uj);
		set(&f, METRIC_IO_READ_BYTES, rows[i].read_bytes);
		is_u64(stepseries_next(&s, &f, rows[i].elapsed_ns, gained), rows[i].ns, rows[i].name);
		is_u64(gained[0], rows[i].gained_uj, "  energy");
		is_u64(gained[1], rows[i].gained_bytes, "  bytes");
		sum_uj += gained[0];
	}
	is_u64(sum_uj, UINT64_MAX - 1, "all rows are all of it");
}

static void test_limits(void)
{
	enum metric all[METRIC_N];
	struct stepseries s;
	struct values f;
	unsigned int m;

	values_init(&f);
	stepseries_init(&s, NULL, 0, &f);
	is_u64(s.n, 0, "no metrics, no columns");
	metric_foreach(m) {
		all[m] = (enum metric)m;
		values_set(&f, (enum metric)m, 1);
	}
	stepseries_init(&s, all, METRIC_N, &f);
	is_u64(s.n, STEPSERIES_MAX, "no more columns than there is room for");
}

static const struct {
	enum metric metric;
	const char *name;
} names[] = {
	{ METRIC_ENERGY, "energy_uj" },	    { METRIC_CO2E, "co2e_ng" },
	{ METRIC_CPU_TIME, "cpu_time_ns" }, { METRIC_IO_READ_BYTES, "read_bytes" },
	{ METRIC_CYCLES, "cycles" },	    { METRIC_MEMORY_TIME, "memory_kib_s" },
};

static void test_names(void)
{
	char name[STEPSERIES_NAME_SIZE];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		stepseries_name(names[i].metric, name);
		is_str(name, names[i].name, metric_table[names[i].metric].label);
	}
}

int main(void)
{
	test_rows();
	test_limits();
	test_names();
	return done_testing();
}
