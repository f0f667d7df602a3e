/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobcomp/slurm_compat.h"

#include <errno.h>
#include <string.h>

#include "jobcomp/job_facts.h"
#include "jobcomp/job_refill.h"
#include "src/libcore/tresmap.h"
#include "src/libutil/util.h"

static int fill_text(char **to, const char *from)
{
	if (*to || !from || !*from)
		return 0;
	*to = strdup(from);
	return *to ? 0 : -ENOMEM;
}

static void fill_number(struct maybe_u64 *to, uint32_t from)
{
	if (!to->known && from != NO_VAL && from != INFINITE)
		*to = (struct maybe_u64){ from, true };
}

static void fill_u32(uint32_t *to, uint32_t from)
{
	if (!*to)
		*to = from;
}

static void fill_time(uint64_t *to, time_t from)
{
	if (!*to && from > 0)
		*to = (uint64_t)from;
}

/*
 * "1=4,2=8192" as slurmctld writes it: "cpu=4,mem=8G". Without energy, which is not known to it when
 * a job ends.
 */
static int fill_tres(char **to, const char *tres)
{
	_cleanup_free_ char *without = NULL;
	assoc_mgr_lock_t locks = { .tres = READ_LOCK };
	const char *energy = "3=";
	char *named;
	char *item;
	int rc;

	if (*to || !tres || !*tres)
		return 0;
	without = strdup(tres);
	if (!without)
		return -ENOMEM;
	for (item = without; item; item = strchr(item, ',')) {
		char *next;

		item += *item == ',';
		if (strncmp(item, energy, strlen(energy)) != 0)
			continue;
		next = strchr(item, ',');
		if (next)
			memmove(item, next + 1, strlen(next));
		else
			item[item > without ? -1 : 0] = '\0';
		break;
	}
	assoc_mgr_lock(&locks);
	named = slurmdb_make_tres_string_from_simple(without, assoc_mgr_tres_list, (int)NO_VAL,
						     CONVERT_NUM_UNIT_EXACT,
						     TRES_STR_FLAG_SORT_ID, NULL);
	assoc_mgr_unlock(&locks);
	rc = fill_text(to, named);
	xfree(named);
	return rc;
}

static int fill_qos(char **to, uint32_t id)
{
	assoc_mgr_lock_t locks = { .qos = READ_LOCK };
	int rc = 0;

	if (*to || !id)
		return 0;
	assoc_mgr_lock(&locks);
	if (assoc_mgr_qos_list)
		rc = fill_text(to, slurmdb_qos_str(assoc_mgr_qos_list, id));
	assoc_mgr_unlock(&locks);
	return rc;
}

static int fill_texts(const slurmdb_job_rec_t *job, bool ran, struct record *r)
{
	char sluid[JOB_SLUID_SIZE];
	int rc = 0;

	job_sluid(job->db_index, sluid);
	rc |= fill_text(&r->sluid, *sluid ? sluid : NULL);
	rc |= fill_text(&r->job_name, job->jobname);
	rc |= fill_text(&r->user_name, job->user);
	rc |= fill_text(&r->account, job->account);
	rc |= fill_text(&r->partition, job->partition);
	rc |= fill_text(&r->wckey, job->wckey);
	rc |= fill_text(&r->state, job_state_name(job->state));
	rc |= fill_text(&r->nodes, ran ? job->nodes : NULL);
	rc |= fill_text(&r->work_dir, job->work_dir);
	rc |= fill_text(&r->reservation, job->resv_name);
	rc |= fill_text(&r->comment, job->derived_es);
	rc |= fill_qos(&r->qos, job->qosid);
	rc |= fill_tres(&r->tres_req, job->tres_req_str);
	rc |= fill_tres(&r->tres_alloc, job->tres_alloc_str);
	/* of a task, slurmdbd's text is what the array had pending when it was split off */
	if (!r->array_tasks && r->array_job_id.known && !r->array_task_id.known &&
	    job->array_task_str && *job->array_task_str) {
		r->array_tasks = job_facts_tasks(job->array_task_str);
		rc |= r->array_tasks ? 0 : -ENOMEM;
	}
	return rc ? -ENOMEM : 0;
}

int job_refill(const void *row, struct record *r)
{
	const slurmdb_job_rec_t *job = row;
	bool ran = job->nodes && *job->nodes && strcmp(job->nodes, "None assigned") != 0;
	int32_t ignored;

	if (!r->db_index.known && job->db_index)
		r->db_index = (struct maybe_u64){ job->db_index, true };
	if (job->array_job_id) {
		fill_number(&r->array_job_id, job->array_job_id);
		fill_number(&r->array_task_id, job->array_task_id);
	}
	if (job->het_job_id) {
		fill_number(&r->het_job_id, job->het_job_id);
		fill_number(&r->het_job_offset, job->het_job_offset);
	}
	fill_number(&r->time_limit_min, job->timelimit);
	fill_number(&r->priority, job->priority);
	fill_u32(&r->user_id, job->uid);
	fill_u32(&r->group_id, job->gid);
	fill_time(&r->submit, job->submit);
	fill_time(&r->eligible, job->eligible);
	fill_time(&r->end, job->end);
	if (ran) {
		fill_time(&r->start, job->start);
		fill_u32(&r->total_nodes, job->alloc_nodes);
		fill_u32(&r->total_cpus, tresmap_cpus(job->tres_alloc_str));
	}
	if (!r->exit_code && !r->exit_signal)
		record_exit_status(job->exitcode, &r->exit_code, &r->exit_signal);
	if (!r->derived_exit_code)
		record_exit_status(job->derived_ec, &r->derived_exit_code, &ignored);
	return fill_texts(job, ran, r);
}
