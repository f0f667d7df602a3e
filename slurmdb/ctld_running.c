/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "slurmdb/ctld_running.h"

#include <errno.h>
#include <stdlib.h>

#include "slurmdb/ctld_rows.h"
#include "slurmdb/slurm_compat.h"
#include "slurmdb/slurmdb_copy.h"
#include "src/libutil/util.h"

struct ctld_running {
	bool all_users;
	uint32_t uid;
	time_t last_update; /* 0: never asked */
};

struct ctld_running *ctld_running_create(bool all_users, uint32_t uid)
{
	struct ctld_running *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	slurm_init(NULL); /* as in slurmdb_rows_create(), without slurm_fini() */
	*c = (struct ctld_running){ .all_users = all_users, .uid = uid };
	return c;
}

void ctld_running_destroy(struct ctld_running *c)
{
	free(c);
}

static bool ctld_is_running(const slurm_job_info_t *job)
{
	uint32_t base = job->job_state & JOB_STATE_BASE;

	return (base == JOB_RUNNING || base == JOB_SUSPENDED) && !(job->job_state & JOB_COMPLETING) &&
	       job->nodes && *job->nodes;
}

static int ctld_add_running(const slurm_job_info_t *job, struct slurmdb_jobs *ret)
{
	struct slurmdb_job *more = realloc(ret->job, (ret->n + 1) * sizeof(*more));
	struct record *r;

	if (!more)
		return -ENOMEM;
	ret->job = more;
	r = ctld_record(NULL, job);
	if (!r)
		return -ENOMEM;
	ret->job[ret->n++] = (struct slurmdb_job){ .state = SLURMDB_OPEN, .missing = SIGN_END, .record = r };
	r->total_nodes = job->num_nodes;
	r->total_cpus = job->num_cpus;
	if (job->time_limit != INFINITE && job->time_limit != NO_VAL)
		r->time_limit_min = (struct maybe_u64){ job->time_limit, true };
	return slurmdb_copy_text(&r->tres_alloc, job->tres_alloc_str);
}

static int ctld_load(const struct ctld_running *c, job_info_msg_t **ret)
{
	/*
	 * Asks slurmctld. For one user slurmctld cannot send only changes, but the answer is short.
	 * For all users, SHOW_ALL would cost slurmctld some 30 % more, for hidden partitions.
	 */
	return c->all_users ? slurm_load_jobs(c->last_update, ret, SHOW_LOCAL) :
			      slurm_load_job_user(ret, c->uid, SHOW_ALL);
}

int ctld_running_get(struct ctld_running *c, struct slurmdb_jobs *ret, struct errmsg *err)
{
	struct slurmdb_jobs jobs = { 0 };
	job_info_msg_t *msg = NULL;
	uint32_t k;
	int rc = 0;

	errno = 0;
	if (ctld_load(c, &msg) != SLURM_SUCCESS) {
		if (errno == SLURM_NO_CHANGE_IN_DATA)
			return 0;
		return errmsg_set(err, -EIO, "slurmctld does not answer: %s", slurm_strerror(errno));
	}
	for (k = 0; k < msg->record_count && rc == 0; k++)
		if (ctld_is_running(&msg->job_array[k]))
			rc = ctld_add_running(&msg->job_array[k], &jobs);
	if (rc == 0)
		c->last_update = msg->last_update;
	slurm_free_job_info_msg(msg);
	if (rc < 0) {
		slurmdb_jobs_free(&jobs);
		return errmsg_set(err, rc, "out of memory");
	}
	slurmdb_jobs_free(ret);
	*ret = jobs;
	return 1;
}
