/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/job/job_step.h"

#include <stdio.h>

#include "src/libcore/doubt.h"
#include "src/librecord/lower_bound.h"
#include "src/libledger/ledger.h"
#include "src/librecord/record_emissions.h"

struct record_step *job_step_find(const struct record *r, uint32_t step_id)
{
	size_t i;

	for (i = 0; i < r->nsteps; i++)
		if (r->steps[i].step_id == step_id)
			return &r->steps[i];
	return NULL;
}

const char *job_step_id(uint32_t job_id, uint32_t step_id, char buf[JOB_STEP_ID_MAX])
{
	char number[16];

	(void)snprintf(buf, JOB_STEP_ID_MAX, "%u.%s", job_id,
		       ledger_step_name(step_id, number, sizeof(number)));
	return buf;
}

void job_step_record(const struct record *r, struct record_step *s, struct record *ret)
{
	*ret = (struct record){
		.cluster = r->cluster,
		.job_id = r->job_id,
		.job_name = s->name,
		.user_name = r->user_name,
		.account = r->account,
		.partition = r->partition,
		.state = s->state,
		.nodes = s->nodes,
		.start = s->start,
		.end = s->end,
		.suspended_s = s->suspended_s,
		.exit_code = s->exit_code,
		.exit_signal = s->exit_signal,
		.total_nodes = s->nnodes,
		.total_cpus = s->ncpus,
		.energy = { .final = s->end != 0 },
		.values = s->values,
		.steps = s,
		.nsteps = 1,
		.steps_known = true,
	};
	record_emissions_of_step(r, s, &ret->emissions);
	if (values_has(&s->values, METRIC_ENERGY_DOUBT))
		doubt_list(s->values.value[METRIC_ENERGY_DOUBT], ret->energy.missing,
			   sizeof(ret->energy.missing));
	if (lower_bound_of_step(s) > LOWER_BOUND_NONE)
		(void)snprintf(ret->energy.quality, sizeof(ret->energy.quality), "lower-bound");
}
