/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * report_walk.h - reads the jobs that ended in a period, from slurmdbd or a database, and
 * calls a function for each.
 */
#ifndef CEEMS_CMD_REPORT_WALK_H
#define CEEMS_CMD_REPORT_WALK_H

#include "src/cmd/report/report.h"

struct report_walk {
	struct job_site *site;
	uint64_t from, to; /* Unix seconds: jobs that ended at FROM or later, and before TO */
	/*
	 * Jobs that ended before NEED are optional. If they are deleted, they are left out and *LACKS is set.
	 */
	uint64_t need;
	bool *lacks;
	bool all_users; /* read the jobs of all users, whatever the options choose */
	/* Called for each job. A negative result ends the walk. */
	int (*each)(void *arg, const struct jobs_job *j);
	void *arg;
};

/* Runs the walk. Returns CMD_OK, or CMD_FAILED after it has printed the reason. */
int report_walk(const struct report_options *o, const struct report_walk *w);

/* Returns true if job R belongs to the one user whose jobs O chooses. */
bool report_is_users(const struct report_options *o, const struct record *r);

/* Returns why the caller may not see the jobs of all users. NULL: the caller may see them. */
const char *report_walk_hides(const struct report_options *o, struct job_site *site);

#endif
