/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libsink/otlp/otlp_names.h"

#include <stdio.h>
#include <string.h>

#include "src/libutil/util.h"

struct otlp_row {
	const char *path, *name;
	enum otlp_private privacy;
};

/* hw.*, user.* and process.* are names of OpenTelemetry's semantic conventions. The others are ours. */
static const struct otlp_row otlp_job_names[] = {
	{ "jobid", "slurm.job.id", OTLP_PUBLIC },
	{ "sluid", "slurm.job.sluid", OTLP_PUBLIC },
	{ "restart_count", "slurm.job.restarts", OTLP_PUBLIC },
	{ "array_job_id", "slurm.array.job.id", OTLP_PUBLIC },
	{ "array_task_id", "slurm.array.task.id", OTLP_PUBLIC },
	{ "het_job_id", "slurm.het.job.id", OTLP_PUBLIC },
	{ "het_job_offset", "slurm.het.job.offset", OTLP_PUBLIC },
	{ "job_name", "slurm.job.name", OTLP_PRIVATE },
	{ "username", "user.name", OTLP_PRIVATE },
	{ "account", "slurm.account", OTLP_PRIVATE },
	{ "wc_key", "slurm.wckey", OTLP_PRIVATE },
	{ "reservation_name", "slurm.reservation", OTLP_PRIVATE },
	{ "partition", "slurm.partition", OTLP_PUBLIC },
	{ "qos", "slurm.qos", OTLP_PUBLIC },
	{ "state", "slurm.job.state", OTLP_PUBLIC },
	{ "nodes", "slurm.nodes", OTLP_PUBLIC },
	{ "total_nodes", "slurm.node.count", OTLP_PUBLIC },
	{ "total_cpus", "slurm.cpu.count", OTLP_PUBLIC },
	{ "tres_req", "slurm.tres.requested", OTLP_PUBLIC },
	{ "tres_alloc", "slurm.tres.allocated", OTLP_PUBLIC },
	{ "time_limit", "slurm.job.time_limit_s", OTLP_PUBLIC },
	{ "elapsed", "slurm.elapsed_s", OTLP_PUBLIC },
	{ "exit_code", "process.exit.code", OTLP_PUBLIC },
	{ "energy.total_j", "hw.energy", OTLP_PUBLIC },
};

static const struct otlp_row otlp_step_names[] = {
	{ "stepid", "slurm.step.id", OTLP_PUBLIC },
	{ "het_component", "slurm.step.het_component", OTLP_PUBLIC },
	{ "name", "slurm.step.name", OTLP_PRIVATE },
	{ "state", "slurm.step.state", OTLP_PUBLIC },
	{ "nodes", "slurm.nodes", OTLP_PUBLIC },
	{ "nnodes", "slurm.node.count", OTLP_PUBLIC },
	{ "ncpus", "slurm.cpu.count", OTLP_PUBLIC },
	{ "ntasks", "slurm.task.count", OTLP_PUBLIC },
	{ "elapsed", "slurm.elapsed_s", OTLP_PUBLIC },
	{ "exit_code", "process.exit.code", OTLP_PUBLIC },
	{ "energy.total_j", "hw.energy", OTLP_PUBLIC },
};

static const char *const otlp_measured[] = { "energy.", "emissions.", "usage.", "derived.",
					     "load_imbalance." };

static const struct otlp_row *find_row(const char *path, const struct otlp_row *row, size_t n)
{
	for (; n; n--, row++)
		if (!strcmp(row->path, path))
			return row;
	return NULL;
}

const char *otlp_name(const char *path, bool is_step, bool with_users, char *buf, size_t size)
{
	const struct otlp_row *row = is_step ? find_row(path, otlp_step_names, ARRAY_SIZE(otlp_step_names)) :
					       find_row(path, otlp_job_names, ARRAY_SIZE(otlp_job_names));
	size_t i;

	if (row)
		return row->privacy == OTLP_PUBLIC || with_users ? row->name : NULL;
	for (i = 0; i < ARRAY_SIZE(otlp_measured); i++)
		if (!strncmp(path, otlp_measured[i], strlen(otlp_measured[i]))) {
			(void)snprintf(buf, size, "ceems.%s", path);
			return buf;
		}
	return NULL;
}
