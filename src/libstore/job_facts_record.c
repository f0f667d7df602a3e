/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job_facts_record.c - makes a record from facts; only the recorder links this part of job_facts.h.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "src/librecord/record.h"
#include "src/libstore/job_facts.h"
#include "src/libutil/util.h"

static const size_t fact_texts[FACT_TEXT_N] = {
	/* offset in struct record of each text */
	[FACT_JOB_NAME] = offsetof(struct record, job_name),
	[FACT_USER] = offsetof(struct record, user_name),
	[FACT_ACCOUNT] = offsetof(struct record, account),
	[FACT_PARTITION] = offsetof(struct record, partition),
	[FACT_QOS] = offsetof(struct record, qos),
	[FACT_WCKEY] = offsetof(struct record, wckey),
	[FACT_STATE] = offsetof(struct record, state),
	[FACT_NODES] = offsetof(struct record, nodes),
	[FACT_WORK_DIR] = offsetof(struct record, work_dir),
	[FACT_RESERVATION] = offsetof(struct record, reservation),
	[FACT_SUBMIT_HOST] = offsetof(struct record, submit_host),
	[FACT_COMMENT] = offsetof(struct record, comment),
	[FACT_TRES_REQ] = offsetof(struct record, tres_req),
	[FACT_TRES_ALLOC] = offsetof(struct record, tres_alloc),
	[FACT_SLUID] = offsetof(struct record, sluid),
	[FACT_TRACE_PARENT] = offsetof(struct record, trace_parent),
	[FACT_ARRAY_TASKS] = offsetof(struct record, array_tasks),
};

static struct maybe_u64 facts_number(uint32_t v)
{
	return (struct maybe_u64){ v == FACT_UNKNOWN ? 0 : v, v != FACT_UNKNOWN };
}

static int facts_take_texts(const struct job_facts *f, struct record *r)
{
	size_t at = 0;
	size_t i;

	for (i = 0; i < FACT_TEXT_N; i++) {
		size_t len = f->text_len[i];
		char *copy;

		if (!len)
			continue;
		copy = strndup(f->text + at, len);
		if (!copy)
			return -ENOMEM;
		*(char **)(void *)((char *)r + fact_texts[i]) = copy;
		at += len;
	}
	return 0;
}

int job_facts_to_record(const struct job_facts *f, size_t size, const char *cluster, struct record **ret)
{
	struct record *r;
	int rc;

	if (!job_facts_is_whole(f, size))
		return -EINVAL;
	r = record_create();
	if (!r)
		return -ENOMEM;
	r->cluster = strdup(cluster);
	rc = r->cluster ? facts_take_texts(f, r) : -ENOMEM;
	if (rc < 0) {
		record_destroy(r);
		return rc;
	}
	if (r->array_tasks) {
		char *tasks = record_array_tasks(r->array_tasks);

		if (!tasks) {
			record_destroy(r);
			return -ENOMEM;
		}
		free(r->array_tasks);
		r->array_tasks = tasks;
	}
	r->job_id = f->job_id;
	r->restart_count = f->restart_count;
	r->db_index = (struct maybe_u64){ f->db_index, f->db_index != 0 };
	r->array_job_id = facts_number(f->array_job_id);
	r->array_task_id = facts_number(f->array_task_id);
	r->het_job_id = facts_number(f->het_job_id);
	r->het_job_offset = facts_number(f->het_job_offset);
	r->user_id = f->user_id;
	r->group_id = f->group_id == FACT_UNKNOWN ? 0 : f->group_id;
	r->submit = f->submit;
	r->eligible = f->eligible;
	r->start = f->start;
	r->end = f->end;
	r->time_limit_min = facts_number(f->time_limit_min);
	record_exit_status(f->exit_status, &r->exit_code, &r->exit_signal);
	record_exit_status(f->derived_status, &r->derived_exit_code, &r->derived_exit_signal);
	r->total_nodes = f->total_nodes;
	r->total_cpus = f->total_cpus;
	r->priority = facts_number(f->priority);
	*ret = r;
	return 0;
}

int job_facts_record_key(const struct job_facts *f, size_t size, const char *cluster, char *buf, size_t room)
{
	if (!job_facts_is_whole(f, size))
		return -EINVAL;
	return record_key_of(cluster, f->job_id, f->submit, f->restart_count,
			     f->het_job_offset == FACT_UNKNOWN ? 0 : f->het_job_offset, buf, room);
}
