/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recorder/job_record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/librecord/record_field.h"
#include "src/libutil/util.h"

/* --- from the hook ----------------------------------------------------------------------- */

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

int job_record_create(const struct job_facts *f, size_t size, const char *cluster, struct record **ret)
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
	r->suspended_s = (struct maybe_u64){ f->suspended_s, f->suspended_s != UINT64_MAX };
	r->is_resized = f->flags & FACT_IS_RESIZED;
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

int job_record_key(const struct job_facts *f, size_t size, const char *cluster, char *buf, size_t room)
{
	if (!job_facts_is_whole(f, size))
		return -EINVAL;
	return record_key_of(cluster, f->job_id, f->submit, f->restart_count,
			     f->het_job_offset == FACT_UNKNOWN ? 0 : f->het_job_offset, buf, room);
}

/* --- from slurmdbd ----------------------------------------------------------------------- */

enum job_record_run job_record_run_of(const struct job_facts *f, const struct record *row)
{
	/* a start before the submit time is that of a resized job's first part */
	if (!row->end || !f->start || row->start < f->submit)
		return RUN_SAME;
	if (row->start > f->start)
		return RUN_LATER;
	return row->start < f->start && row->end < f->end ? RUN_EARLIER : RUN_SAME;
}

/*
 * Takes the job's end from ROW. slurmctld reports an end to slurmdbd and to the hook at the same time.
 * After it was killed, slurmctld may report another end; slurmdbd has the last one, whatever the
 * order of arrival here.
 */
static void take_ending(struct record *r, struct record *row)
{
	if (!row->end || (r->state && !strcmp(r->state, "RESIZING")))
		return;
	if (row->state) {
		free(r->state);
		r->state = TAKE_PTR(row->state);
	}
	r->end = row->end;
	r->exit_code = row->exit_code;
	r->exit_signal = row->exit_signal;
	r->derived_exit_code = row->derived_exit_code;
	r->derived_exit_signal = row->derived_exit_signal;
}

/* Returns whether the member at P, of one of the kinds below, is unknown. */
static bool field_is_unknown(const struct record_field *f, const void *p)
{
	switch (f->kind) {
	case FIELD_TEXT:
		return !*(char *const *)p;
	case FIELD_U32:
		return !*(const uint32_t *)p;
	case FIELD_TIME:
		return !*(const uint64_t *)p;
	case FIELD_MAYBE:
	case FIELD_MINUTES:
		return !((const struct maybe_u64 *)p)->known;
	default:
		return false;
	}
}

static void take_unknown(struct record *r, struct record *row)
{
	const struct record_field *f;

	for (f = record_job_fields; f->path; f++) {
		char *to = (char *)r + f->offset;
		char *from = (char *)row + f->offset;

		if (!(f->flags & FIELD_OF_SLURMDBD) || !field_is_unknown(f, to))
			continue;
		memcpy(to, from, f->size);
		if (f->kind == FIELD_TEXT)
			*(char **)from = NULL;
	}
}

void job_record_complete(struct record *r, struct record *row)
{
	take_ending(r, row);
	r->suspended_s.known &= !row->suspended_s.known; /* the row's is that of sacct */
	take_unknown(r, row);
	r->energy.row_j = row->energy.row_j;
	if (row->steps_known) {
		record_steps_destroy(r->steps, r->nsteps);
		r->steps = TAKE_PTR(row->steps);
		r->nsteps = row->nsteps;
		r->steps_known = true;
		row->nsteps = 0;
	}
}
