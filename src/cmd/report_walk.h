/* SPDX-License-Identifier: GPL-2.0-or-later */
/* report_walk.h - calls a function for each job of a report that ended in a time, wherever the jobs are read. */
#ifndef CEEMS_CMD_REPORT_WALK_H
#define CEEMS_CMD_REPORT_WALK_H

#include "src/cmd/report.h"

struct report_walk {
	struct job_site *site;
	uint64_t from, to; /* TO not included */
	uint64_t need;	   /* jobs that ended before may be lost: *lacks is set then, and they are left out */
	bool *lacks;
	bool all_users;	   /* also those that the options leave out */
	/* Returns 0, or -errno to end the walk. */
	int (*each)(void *arg, const struct jobs_job *j);
	void *arg;
};

/* Returns CMD_OK, or CMD_FAILED after it has printed the reason. */
int report_walk(const struct report_options *o, const struct report_walk *w);

/* Whether the one user whose jobs O chooses has this job. */
bool report_is_users(const struct report_options *o, const struct record *r);

/* Why the caller may not see the jobs of all users; NULL: it may. */
const char *report_walk_hides(const struct report_options *o, struct job_site *site);

#endif
