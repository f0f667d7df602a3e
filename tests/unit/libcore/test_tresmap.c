/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libcore/tresmap.h"

#include <errno.h>

#include "tap.h"

/* 1001: CPU time and nodes' count, 1002: nodes */
static const struct {
	const char *what;
	const char *max, *nodeid;
	uint64_t nodes_known;
	uint32_t nnodes;
	int rc;
} spreads[] = {
	{ "one node", "1001=7000", "1001=0", 1, 1, -ENODATA },
	{ "no node", "1001=7000", "1001=0", 0, 0, -ENODATA },
	{ "a node that does not know", "1001=7000", "1001=1", 2, 3, -ENODATA },
	{ "more nodes than there are", "1001=7000", "1001=1", 4, 3, -ENODATA },
	{ "no maximum", "", "1001=1", 3, 3, -ENODATA },
	{ "no text", NULL, NULL, 3, 3, -ENODATA },
	{ "no node's number", "1001=7000", "1002=1", 3, 3, -ENODATA },
	{ "INFINITE64", "1001=7000", "1001=18446744073709551615", 3, 3, -ENODATA },
	{ "a node that is none of the step's", "1001=7000", "1001=3", 3, 3, -ENODATA },
	{ "all of three nodes", "1001=7000", "1001=2", 3, 3, 0 },
};

static void test_max(void)
{
	struct tresmap map;
	struct values f;
	uint64_t max = 0;
	uint32_t rank = 0;
	size_t i;

	tresmap_init(&map);
	tresmap_learn(&map, 1001, "ic", "ceems_cpu_time");
	tresmap_learn(&map, 1002, "ic", "ceems_nodes");
	for (i = 0; i < sizeof(spreads) / sizeof(spreads[0]); i++) {
		max = rank = 1;
		values_init(&f);
		values_set(&f, METRIC_CPU_TIME_NODES, spreads[i].nodes_known);
		is_int(tresmap_max(&map, METRIC_CPU_TIME, spreads[i].max, spreads[i].nodeid, &f,
				   spreads[i].nnodes, &max, &rank),
		       spreads[i].rc, spreads[i].what);
		is_u64(max, spreads[i].rc ? 1 : 7000000, "  the largest, in ns");
		is_u64(rank, spreads[i].rc ? 1 : 2, "  and whose it is");
		ok(tresmap_max(&map, METRIC_ENERGY, "3=5", "3=0", &f, spreads[i].nnodes, &max, &rank) ==
			   -ENODATA,
		   "  nodes that know CPU time say nothing of energy");
	}
	tresmap_learn(&map, 1003, "ic", "ceems_memory");
	values_set(&f, METRIC_MEMORY_NODES, 2);
	is_int(tresmap_max(&map, METRIC_MEMORY_PEAK, "1003=4096", "1003=2", &f, 3, &max, &rank), -ENODATA,
	       "memory: CPU time of all nodes is known, memory of two");
	values_set(&f, METRIC_MEMORY_NODES, 3);
	is_int(tresmap_max(&map, METRIC_MEMORY_PEAK, "1003=4096", "1003=2", &f, 3, &max, &rank), 0,
	       "of all three");
	ok(max == 4096 && rank == 2, "its bytes and whose they are");
	tresmap_read(&map, "1003=9000", "1003=4096", SIDE_IN, &f);
	is_u64(f.value[METRIC_MEMORY_PEAK], 4096, "the step's peak is the largest of a node, not the sum");
	values_init(&f);
	is_int(tresmap_max(&map, METRIC_CPU_TIME, "1001=7", "1001=1", &f, 3, NULL, NULL), -ENODATA,
	       "a site that does not account the nodes");
}

int main(void)
{
	static const struct {
		const char *what;
		const char *usage;
		uint32_t id;
		int rc;
		uint64_t value;
	} cases[] = {
		{ "no text", NULL, 3, -ENODATA, 0 },
		{ "empty", "", 3, -ENODATA, 0 },
		{ "no number", "energy=4", 3, -ENODATA, 0 },
		{ "no value", "3=", 3, -ENODATA, 0 },
		{ "no equals sign", "3", 3, -ENODATA, 0 },
		{ "a value with a unit", "3=4K", 3, -ENODATA, 0 },
		{ "negative", "3=-4", 3, -ENODATA, 0 },
		{ "too long", "3=99999999999999999999999999999999", 3, -ENODATA, 0 },
		{ "NO_VAL64", "3=18446744073709551614", 3, -ENODATA, 0 },
		{ "INFINITE64", "3=18446744073709551615", 3, -ENODATA, 0 },
		{ "NO_CONSUME_VAL64", "3=18446744073709551613", 3, -ENODATA, 0 },
		{ "another's prefix", "33=4,13=5", 3, -ENODATA, 0 },
		{ "bad neighbours", ",,x,=,3=7,", 3, 0, 7 },
		{ "the largest", "3=18446744073709551612", 3, 0, UINT64_MAX - 3 },
		{ "zero is a value", "1=2,3=0", 3, 0, 0 },
		{ "in the middle", "1=2,1001=17,4=1", 1001, 0, 17 },
	};
	struct tresmap map;
	struct values f;
	uint64_t value;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		value = 42;
		is_int(tresmap_value(cases[i].usage, cases[i].id, &value), cases[i].rc, cases[i].what);
		is_u64(value, cases[i].rc ? 42 : cases[i].value, "  and its value");
	}

	tresmap_init(&map);
	values_init(&f);
	tresmap_learn(&map, 1001, "ic", NULL);
	tresmap_learn(&map, 1002, NULL, "ceems_co2e");
	tresmap_learn(&map, 1003, "ic", "ofed");
	tresmap_read(&map, "1001=1,1002=1,1003=1", NULL, SIDE_IN, &f);
	ok(!values_has(&f, METRIC_CO2E), "foreign TRES are not ours");
	tresmap_learn(&map, 1004, "ic", "ceems_co2e");
	tresmap_learn(&map, 1005, "ic", "ceems_cpu_energy");
	tresmap_learn(&map, 1006, "ic", "ceems_by_counters");
	tresmap_learn(&map, 1007, "ic", "ceems_nodes");
	tresmap_read(&map, "3=5,1004=17,1005=4,1006=3,1007=2", "3=4,1004=9,1005=3,1006=2,1007=1", SIDE_IN,
		     &f);
	tresmap_read(&map, "3=250,1005=1,1006=5000000", NULL, SIDE_OUT, &f);
	ok(!values_has(&f, METRIC_SENSOR_LAG), "the sum of lags over nodes says nothing");
	tresmap_read(&map, "3=250,1005=1,1006=10000000,1007=2", "1006=5000000,1007=1", SIDE_OUT, &f);
	is_u64(f.value[METRIC_ENERGY], 5000000, "energy: joules in, not watts out");
	is_u64(f.value[METRIC_CO2E], 17000, "emissions");
	is_u64(f.value[METRIC_CPU_ENERGY], 4000000, "in");
	is_u64(f.value[METRIC_CPU_ENERGY_STATIC], 1000000, "out");
	is_u64(f.value[METRIC_SENSOR_LAG], 5000000000, "the largest of the nodes");
	is_u64(f.value[METRIC_BY_COUNTERS], 3000000, "what shares its TRES is a sum");
	ok(f.value[METRIC_ENERGY_NODES] == 2 && f.value[METRIC_CPU_TIME_NODES] == 2,
	   "and so are nodes that know");
	ok(!values_has(&f, METRIC_DRAM_ENERGY), "what is not there stays unknown");
	test_max();
	return done_testing();
}
