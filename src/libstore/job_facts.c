/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libstore/job_facts.h"

#include <string.h>

bool job_facts_is_whole(const struct job_facts *f, size_t size)
{
	size_t used = 0;
	size_t i;

	if (size < offsetof(struct job_facts, text) || size != job_facts_size(f))
		return false;
	for (i = 0; i < FACT_TEXT_N; i++)
		used += f->text_len[i];
	return used <= f->text_used;
}

void job_facts_add_text(struct job_facts *f, enum fact_text which, const char *text)
{
	size_t max = which == FACT_NODES ? FACT_NODES_MAX : FACT_TEXT_MAX;
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

void job_facts_from_key(const struct job_key *key, struct job_facts *ret)
{
	memset(ret, 0, offsetof(struct job_facts, text));
	ret->job_id = key->job_id;
	ret->restart_count = key->restart_count;
	ret->state = key->state;
	ret->user_id = key->user_id;
	ret->group_id = FACT_UNKNOWN;
	ret->array_job_id = key->array_job_id;
	ret->array_task_id = key->array_task_id;
	ret->het_job_id = key->het_job_id;
	ret->het_job_offset = key->het_job_offset;
	ret->time_limit_min = ret->priority = FACT_UNKNOWN;
	ret->exit_status = ret->derived_status = FACT_UNKNOWN;
	ret->left_out = (UINT32_C(1) << FACT_TEXT_N) - 1;
	ret->submit = key->submit;
	ret->start = key->start;
	ret->end = key->end;
	ret->suspended_s = UINT64_MAX;
}
