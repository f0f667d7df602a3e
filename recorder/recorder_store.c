/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recorder/recorder.h"

#define FIRST_TRY_S 1 /* slurmdbd usually has the job within 0.2 s */

int recorder_load_meta(struct recorder *r, const char *name, void *buf, size_t size, bool *ret_found,
		       struct errmsg *err)
{
	size_t len = 0;
	int rc = store_meta_get(r->store, name, buf, size, &len, err);

	*ret_found = rc > 0 && len == size;
	return rc < 0 ? rc : 0;
}

int recorder_put_job(struct recorder *r, const char *key, const struct job_facts *facts, size_t len,
		     struct errmsg *err)
{
	struct store_job job = { .key = key,
				 .state = STORE_JOB_ENDED,
				 .next_try = r->wall_s() + FIRST_TRY_S,
				 .ended = facts->end,
				 .facts = facts,
				 .facts_len = len };

	return store_job_put(r->store, &job, err);
}
