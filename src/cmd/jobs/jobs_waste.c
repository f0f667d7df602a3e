/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/jobs/jobs_waste.h"

#include <math.h>
#include <string.h>

#include "src/libcore/domain.h"
#include "src/libutil/util.h"

const struct jobs_waste_info jobs_waste_table[WASTE_N] = {
	[WASTE_FAILED] = { "failed", "Jobs that failed",
			   "test a short run before a long one, and write checkpoints" },
	[WASTE_TIMEOUT] = { "timeout", "Jobs cut off at their time limit",
			    "ask for more time, or write checkpoints" },
	[WASTE_OOM] = { "out_of_memory", "Jobs that ran out of memory", "ask for more memory" },
	[WASTE_NODE] = { "node_failure", "Jobs lost with a broken node",
			 "for the operators; checkpoints help" },
	[WASTE_CPU] = { "unused_cpus", "CPUs held but not used", "ask for fewer CPUs" },
	[WASTE_MEMORY] = { "unused_memory", "Memory held but not used", "ask for less memory" },
	[WASTE_GPU] = { "unused_gpus", "GPUs held but not busy", "ask for fewer GPUs, or feed them better" },
};

enum jobs_waste jobs_waste_of_state(const struct record *r)
{
	static const struct {
		const char *state;
		enum jobs_waste waste;
	} states[] = {
		{ "FAILED", WASTE_FAILED },    { "BOOT_FAIL", WASTE_FAILED },  { "TIMEOUT", WASTE_TIMEOUT },
		{ "DEADLINE", WASTE_TIMEOUT }, { "OUT_OF_MEMORY", WASTE_OOM }, { "NODE_FAIL", WASTE_NODE },
	};
	size_t i;

	for (i = 0; r->state && i < ARRAY_SIZE(states); i++)
		if (!strcmp(r->state, states[i].state))
			return states[i].waste;
	return WASTE_N;
}

/*
 * Returns SHARE (cut to 0 to 1) of the idle energy IDLE of a domain. NAN: one of them is not
 * known; KNOWN is for SHARE.
 */
static double idle_part(const struct values *f, enum metric idle, bool known, double share)
{
	if (!values_has(f, idle) || !known)
		return NAN;
	return (double)f->value[idle] * (share < 0 ? 0 : share > 1 ? 1 : share);
}

static double unused(const struct advice_facts *f, enum advice_fact of, enum advice_fact used)
{
	return f->value[of] > 0 ? 1 - f->value[used] / f->value[of] : 0;
}

bool jobs_waste_lacks_idle(const struct record *r)
{
	static const enum domain wasted[] = { DOMAIN_CPU, DOMAIN_DRAM, DOMAIN_GPU };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wasted) && jobs_waste_of_state(r) == WASTE_N; i++) {
		const struct domain_info *d = &domain_table[wasted[i]];

		if (values_has(&r->values, d->energy) && r->values.value[d->energy] &&
		    !values_has(&r->values, d->fixed) && r->values.value[METRIC_IDLE_UNKNOWN])
			return true;
	}
	return false;
}

void jobs_waste_find(const struct record *r, const struct advice_facts *f, double ret_uj[WASTE_N])
{
	const struct values *g = &r->values;
	enum jobs_waste state = jobs_waste_of_state(r);
	unsigned int w;

	for (w = 0; w < WASTE_N; w++)
		ret_uj[w] = values_has(g, METRIC_ENERGY) ? 0 : NAN;
	if (!values_has(g, METRIC_ENERGY))
		return;
	if (state != WASTE_N) {
		ret_uj[state] = (double)g->value[METRIC_ENERGY];
		return;
	}
	ret_uj[WASTE_CPU] = idle_part(g, METRIC_CPU_ENERGY_STATIC, f->known[FACT_CPUS_USED],
				      unused(f, FACT_CPUS, FACT_CPUS_USED));
	ret_uj[WASTE_MEMORY] = idle_part(g, METRIC_DRAM_ENERGY_STATIC, f->known[FACT_MEMORY_SPARE],
					 f->value[FACT_MEMORY_ALLOCATED] > 0 ?
						 f->value[FACT_MEMORY_SPARE] /
							 f->value[FACT_MEMORY_ALLOCATED] :
						 0);
	if (f->known[FACT_GPUS])
		ret_uj[WASTE_GPU] = idle_part(g, METRIC_GPU_ENERGY_STATIC, f->known[FACT_GPU_BUSY],
					      1 - f->value[FACT_GPU_BUSY]);
}
