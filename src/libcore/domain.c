/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libcore/domain.h"

#include <stdio.h>

#include "src/libcore/settings.h"

const struct domain_info domain_table[DOMAIN_N] = {
	[DOMAIN_CPU] = { "cpu", "CPU", METRIC_CPU_ENERGY, METRIC_CPU_ENERGY_STATIC, METRIC_CPU_CO2E },
	[DOMAIN_DRAM] = { "dram", "DRAM", METRIC_DRAM_ENERGY, METRIC_DRAM_ENERGY_STATIC, METRIC_DRAM_CO2E },
	[DOMAIN_GPU] = { "gpu", "GPU", METRIC_GPU_ENERGY, METRIC_GPU_ENERGY_STATIC, METRIC_GPU_CO2E },
	[DOMAIN_OTHER] = { "other", "other", METRIC_OTHER_ENERGY, METRIC_OTHER_ENERGY_STATIC,
			   METRIC_OTHER_CO2E },
};

const char *domain_name(enum domain d)
{
	return (unsigned int)d < DOMAIN_N ? domain_table[d].name : "?";
}

const char *domain_unit_name(enum domain d, unsigned int unit, char buf[8])
{
	if (unit == SOCKET_UNKNOWN && (d == DOMAIN_CPU || d == DOMAIN_DRAM))
		return "all";
	(void)snprintf(buf, 8, "%u", unit);
	return buf;
}

const struct source_info source_table[SOURCE_N] = {
#define SOURCE(id, name, place, kind, node_place, node_note, label, help, setting, remedy) \
	[SOURCE_##id] = { #name, kind, node_place, setting, METRIC_SOURCE_##id },
#include "src/libcore/sources.def"
#undef SOURCE
};

/* clang-format off */
/* Sums of one bit per place: N bits have the sum 2^N - 1 only if no two of them are the same. */
enum {
	PLACES = 0
#define SOURCE(id, name, place, ...) +(1 << (place))
#include "src/libcore/sources.def"
#undef SOURCE
	,
	NODE_PLACES = 0
#define SOURCE(id, name, place, kind, node_place, ...) +((1 << (node_place)) / 2)
#include "src/libcore/sources.def"
#undef SOURCE
	,
	NODE_SOURCES = 0
#define SOURCE(id, name, place, kind, node_place, ...) +((node_place) > 0)
#include "src/libcore/sources.def"
#undef SOURCE
};
/* clang-format on */
_Static_assert(PLACES == (1 << SOURCE_N) - 1, "sources.def: a place is taken twice, or there is a gap");
_Static_assert(NODE_PLACES == (1 << NODE_SOURCES) - 1,
	       "sources.def: a place for the whole node is taken twice, or there is a gap");

const char *source_name(enum source_id id)
{
	return (unsigned int)id < SOURCE_N ? source_table[id].name : "?";
}

enum metric source_metric(enum source_id id)
{
	return (unsigned int)id < SOURCE_N ? source_table[id].metric : METRIC_N;
}

bool source_is_estimate(uint32_t id)
{
	return id < SOURCE_N && source_table[id].kind == SENSOR_ESTIMATE;
}
