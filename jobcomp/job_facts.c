/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobcomp/job_facts.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/libutil/util.h"

static const struct {
	size_t max;
	size_t offset; /* of the char * in struct record */
} texts[FACT_TEXT_N] = {
	[FACT_JOB_NAME] = { FACT_TEXT_MAX, offsetof(struct record, job_name) },
	[FACT_USER] = { FACT_TEXT_MAX, offsetof(struct record, user_name) },
	[FACT_ACCOUNT] = { FACT_TEXT_MAX, offsetof(struct record, account) },
	[FACT_PARTITION] = { FACT_TEXT_MAX, offsetof(struct record, partition) },
	[FACT_QOS] = { FACT_TEXT_MAX, offsetof(struct record, qos) },
	[FACT_WCKEY] = { FACT_TEXT_MAX, offsetof(struct record, wckey) },
	[FACT_STATE] = { FACT_TEXT_MAX, offsetof(struct record, state) },
	[FACT_NODES] = { FACT_NODES_MAX, offsetof(struct record, nodes) },
	[FACT_WORK_DIR] = { FACT_TEXT_MAX, offsetof(struct record, work_dir) },
	[FACT_RESERVATION] = { FACT_TEXT_MAX, offsetof(struct record, reservation) },
	[FACT_SUBMIT_HOST] = { FACT_TEXT_MAX, offsetof(struct record, submit_host) },
	[FACT_COMMENT] = { FACT_TEXT_MAX, offsetof(struct record, comment) },
	[FACT_TRES_REQ] = { FACT_TEXT_MAX, offsetof(struct record, tres_req) },
	[FACT_TRES_ALLOC] = { FACT_TEXT_MAX, offsetof(struct record, tres_alloc) },
	[FACT_SLUID] = { FACT_TEXT_MAX, offsetof(struct record, sluid) },
	[FACT_ARRAY_TASKS] = { FACT_TEXT_MAX, offsetof(struct record, array_tasks) },
};

void job_facts_add_text(struct job_facts *f, enum fact_text which, const char *text)
{
	size_t max = texts[which].max;
	size_t len = text ? strnlen(text, max + 1) : 0;

	if (len > max) {
		job_facts_leave_out(f, which);
		return;
	}
	f->text_len[which] = (uint16_t)len;
	memcpy(f->text + f->text_used, text ? text : "", len);
	f->text_used += (uint32_t)len;
}

void job_facts_leave_out(struct job_facts *f, enum fact_text which)
{
	f->text_len[which] = 0;
	f->left_out |= UINT32_C(1) << which;
}

static bool has_task(const char *digits, size_t len, size_t task)
{
	char c;
	int digit;

	if (task / 4 >= len)
		return false;
	c = digits[len - 1 - task / 4];
	digit = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
	return digit >> task % 4 & 1;
}

char *job_facts_tasks(const char *text)
{
	const char *digits = text + 2;
	char *out = NULL;
	size_t size = 0;
	size_t first;
	size_t task;
	size_t len;
	FILE *f;

	if (strncmp(text, "0x", 2) != 0 || digits[strspn(digits, "0123456789abcdefABCDEF")])
		return strdup(text);
	f = open_memstream(&out, &size);
	if (!f)
		return NULL;
	len = strlen(digits);
	for (task = 0; task < len * 4; task++) {
		if (!has_task(digits, len, task))
			continue;
		first = task;
		while (has_task(digits, len, task + 1))
			task++;
		(void)fprintf(f, "%s%zu", ftell(f) > 0 ? "," : "", first);
		if (task > first)
			(void)fprintf(f, "-%zu", task);
	}
	if (fclose(f) != 0) {
		free(out);
		return NULL;
	}
	return out;
}

static struct maybe_u64 unless_unknown(uint32_t v)
{
	return (struct maybe_u64){ v == FACT_UNKNOWN ? 0 : v, v != FACT_UNKNOWN };
}

static int take_texts(const struct job_facts *f, size_t room, struct record *r)
{
	size_t at = 0;
	size_t i;

	for (i = 0; i < FACT_TEXT_N; i++) {
		size_t len = f->text_len[i];
		char *copy;

		if (len > room - at)
			return -EINVAL;
		if (!len)
			continue;
		copy = strndup(f->text + at, len);
		if (!copy)
			return -ENOMEM;
		*(char **)(void *)((char *)r + texts[i].offset) = copy;
		at += len;
	}
	return 0;
}

int job_facts_to_record(const struct job_facts *f, size_t size, const char *cluster,
			struct record **ret)
{
	struct record *r;
	int rc;

	if (size < offsetof(struct job_facts, text) || size != job_facts_size(f))
		return -EINVAL;
	r = record_create();
	if (!r)
		return -ENOMEM;
	r->cluster = strdup(cluster);
	rc = r->cluster ? take_texts(f, f->text_used, r) : -ENOMEM;
	if (rc < 0) {
		record_destroy(r);
		return rc;
	}
	if (r->array_tasks) {
		char *tasks = job_facts_tasks(r->array_tasks);

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
	r->array_job_id = unless_unknown(f->array_job_id);
	r->array_task_id = unless_unknown(f->array_task_id);
	r->het_job_id = unless_unknown(f->het_job_id);
	r->het_job_offset = unless_unknown(f->het_job_offset);
	r->user_id = f->user_id;
	r->group_id = f->group_id;
	r->submit = f->submit;
	r->eligible = f->eligible;
	r->start = f->start;
	r->end = f->end;
	r->time_limit_min = unless_unknown(f->time_limit_min);
	r->exit_code = f->exit_code;
	r->exit_signal = f->exit_signal;
	r->derived_exit_code = f->derived_exit_code;
	r->total_nodes = f->total_nodes;
	r->total_cpus = f->total_cpus;
	r->priority = (struct maybe_u64){ f->priority, true };
	*ret = r;
	return 0;
}
