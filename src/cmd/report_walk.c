/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/report_walk.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/cmd/cmd.h"
#include "src/cmd/job_ask.h"
#include "src/cmd/jobs_walk.h"

struct walking {
	const struct report_walk *w;
	uint64_t now;
};

static int walk_job(void *arg, struct slurmdb_job *job)
{
	const struct walking *k = arg;
	struct jobs_job j;
	int rc;

	if (!jobs_walk_is_listed(job))
		return 0;
	rc = job_site_finish(k->w->site, job);
	if (rc < 0)
		return rc;
	jobs_job_init(&j, job->record, k->now);
	return k->w->each(k->w->arg, &j);
}

int report_walk(const struct report_options *o, const struct report_walk *w)
{
	struct walking walking = { .w = w, .now = o->now };
	struct jobs_walk walk = { .site = w->site,
				  .filter = jobs_choice_filter(&o->choice),
				  .cluster = o->choice.cluster,
				  .from = w->from,
				  .to = w->to,
				  .shows_progress = isatty(STDERR_FILENO),
				  .each = walk_job,
				  .arg = &walking };

	if (w->all_users)
		walk.filter.uids = (struct slurmdb_texts){ 0 };
	return jobs_walk(&walk);
}

bool report_is_users(const struct report_options *o, const struct record *r)
{
	const struct text_list *users = &o->choice.users;

	return users->n == 1 && r->user_id == strtoull(users->text[0], NULL, 10);
}

const char *report_walk_hides(const struct report_options *o, struct job_site *site)
{
	const struct slurmdb_options options = { .cluster = job_ask_cluster(site, o->choice.cluster),
						 .one_connection = true, .no_qos = true };
	struct slurmdb_rows *rows = NULL;
	struct errmsg err = { 0 };
	char uid[16];
	char *user = NULL;
	int rc = slurmdb_rows_create(&options, &rows, &err);

	(void)snprintf(uid, sizeof(uid), "%u", (unsigned int)geteuid());
	if (rc == 0)
		rc = text_list_user_name(uid, &user, &err);
	if (rc == 0)
		rc = slurmdb_rows_shows_all(rows, (uint32_t)geteuid(), user, &err);
	free(user);
	slurmdb_rows_destroy(rows);
	return rc > 0  ? NULL :
	       rc == 0 ? "PrivateData in slurmdbd.conf hides the jobs of other users" :
			 "slurmdbd does not say whether it shows the jobs of all users";
}
