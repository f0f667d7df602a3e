/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recorder/recorder.h"

#include <stdio.h>
#include <string.h>

#include "src/libutil/crc32c.h"

static uint32_t question_hash(const char *key)
{
	return crc32c(0, key, strlen(key));
}

bool recorder_is_asked(const struct recorder *r, const char *key)
{
	uint32_t hash = question_hash(key);
	size_t i;

	for (i = 0; i < r->nasked; i++)
		if (r->asked[i].key_hash == hash && !strcmp(r->asked[i].key, key))
			return true;
	return false;
}

struct asked_job *recorder_find_asked(struct recorder *r, uint64_t tag)
{
	size_t i;

	for (i = 0; i < r->nasked; i++)
		if (r->asked[i].tag == tag)
			return &r->asked[i];
	return NULL;
}

void recorder_forget_asked(struct recorder *r, struct asked_job *a)
{
	*a = r->asked[--r->nasked];
}

void recorder_want(const struct recorder *r, const struct job_facts *f, struct slurmdb_want *ret)
{
	bool has_steps = f->start && !(f->flags & FACT_NO_STEPS);

	*ret = (struct slurmdb_want){
		.job_id = f->job_id,
		.submit = f->submit,
		.script = r->settings.record_script && (f->flags & FACT_HAS_BATCH),
		.known = { .end = f->end,
			   .has_nsteps = has_steps && (f->flags & FACT_HAS_NSTEPS),
			   .nsteps = f->nsteps,
			   .has_batch = has_steps && (f->flags & FACT_HAS_BATCH),
			   .has_extern = has_steps && (r->site.flags & SITE_HAS_EXTERN) },
	};
	if (f->array_job_id != FACT_UNKNOWN) {
		ret->array_job_id = f->array_job_id;
		ret->array_task_id = f->array_task_id == FACT_UNKNOWN ? SLURMDB_NO_TASK : f->array_task_id;
	}
	/*
	 * A component of a het job is asked for by its own id. Since 24.11, its row names the het
	 * job only after the start.
	 */
}

int recorder_ask(struct recorder *r, struct slurmdb_client *whom, const struct slurmdb_want *want,
		 const struct store_job *job)
{
	struct asked_job *a = &r->asked[r->nasked];
	int rc;

	*a = (struct asked_job){ .tag = ++r->next_tag,
				 .want = *want,
				 .ended = job->ended,
				 .facts_len = job->facts_len,
				 .of_slurmctld = r->ctld && whom == r->ctld };
	if (job->key) {
		(void)snprintf(a->key, sizeof(a->key), "%s", job->key);
		a->key_hash = question_hash(a->key);
	}
	rc = slurmdb_client_ask(whom, want, a->tag);
	r->nasked += rc == 0;
	return rc;
}
