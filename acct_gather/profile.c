/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "acct_gather/profile.h"

#include "acct_gather/slurm_compat.h"

#include <time.h>

#include "src/libstep/stepseries.h"
#include "src/libutil/logger.h"
#include "src/libutil/util.h"

struct profile_set {
	const char *name;
	const enum metric *metrics; /* the columns; one whose metric the step lacks is left out */
	size_t nmetrics;
	bool has_power; /* the first column is the power, as in Slurm's own energy plugins */
	bool is_created;
	int id; /* number that Slurm gave the dataset; negative: the profile plugin refused it */
	struct stepseries series;
};

static const enum metric energy_metrics[] = {
	METRIC_ENERGY,	     METRIC_CPU_ENERGY, METRIC_DRAM_ENERGY, METRIC_GPU_ENERGY,
	METRIC_OTHER_ENERGY, METRIC_CO2E,	METRIC_CO2E_MARKET,
};
static const enum metric usage_metrics[] = {
	METRIC_CPU_TIME,       METRIC_MEMORY_TIME,	  METRIC_CACHE_TIME,	 METRIC_IO_READ_BYTES,
	METRIC_IO_WRITE_BYTES, METRIC_TCP_RECEIVED_BYTES, METRIC_TCP_SENT_BYTES, METRIC_CYCLES,
	METRIC_INSTRUCTIONS,   METRIC_FP_OPERATIONS,	  METRIC_MEMORY_BYTES,	 METRIC_GPU_HELD,
	METRIC_GPU_BUSY,       METRIC_GPU_NO_PROCESS,	  METRIC_GPU_SM_ACTIVE,	 METRIC_GPU_TENSOR,
	METRIC_GPU_DRAM,
};

/* Named as Slurm's own dataset, because sh5util extracts only datasets with Slurm's names. */
static struct profile_set energy = {
	.name = "Energy",
	.metrics = energy_metrics,
	.nmetrics = ARRAY_SIZE(energy_metrics),
	.has_power = true,
};
static struct profile_set usage = {
	.name = "Usage",
	.metrics = usage_metrics,
	.nmetrics = ARRAY_SIZE(usage_metrics),
};
_Static_assert(ARRAY_SIZE(usage_metrics) <= STEPSERIES_MAX, "stepseries.h");

bool profile_is_wanted(void)
{
	/*
	 * test() first: after the last task, is_active() of 22.05 may wait for a lock that its caller holds
	 */
	return acct_gather_profile_test() && acct_gather_profile_g_is_active(ACCT_GATHER_PROFILE_ENERGY);
}

static void profile_create(struct profile_set *set, const struct values *f)
{
	static char power[] = "Power";
	struct stepseries *s = &set->series;
	char name[STEPSERIES_MAX][STEPSERIES_NAME_SIZE];
	/* PROFILE_FIELD_NOT_SET ends them */
	acct_gather_profile_dataset_t column[STEPSERIES_MAX + 2] = { 0 };
	size_t n = 0;
	size_t i;

	stepseries_init(s, set->metrics, set->nmetrics, f);
	if (set->has_power)
		column[n++] = (acct_gather_profile_dataset_t){ power, PROFILE_FIELD_DOUBLE };
	for (i = 0; i < s->n; i++) {
		stepseries_name(s->metric[i], name[i]);
		column[n++] = (acct_gather_profile_dataset_t){ name[i], PROFILE_FIELD_UINT64 };
	}
	set->is_created = true;
	set->id = n ? acct_gather_profile_g_create_dataset(set->name, NO_PARENT, column) : -1;
	if (n && set->id < 0)
		logger_info("the acct_gather_profile plugin cannot create dataset %s; this step has no such "
			    "series",
			    set->name);
}

static void profile_add_row(struct profile_set *set, const struct values *f, uint64_t elapsed_ns)
{
	uint64_t row[STEPSERIES_MAX + 1]; /* Slurm wants the fields, of 8 bytes each, without gaps */
	uint64_t *gained = set->has_power ? row + 1 : row;
	uint64_t ns;

	if (!set->is_created)
		profile_create(set, f);
	if (set->id < 0)
		return;
	ns = stepseries_next(&set->series, f, elapsed_ns, gained);
	if (set->has_power) {
		double watts = ns ? (double)gained[0] * 1000 / (double)ns : 0;

		memcpy(row, &watts, sizeof(watts));
	}
	(void)acct_gather_profile_g_add_sample_data(set->id, row, time(NULL));
}

void profile_add(const struct values *f, uint64_t elapsed_ns, bool has_all)
{
	if (!profile_is_wanted() || !values_has(f, METRIC_ENERGY))
		return;
	profile_add_row(&energy, f, elapsed_ns);
	if (has_all || usage.is_created)
		profile_add_row(&usage, f, elapsed_ns);
}
