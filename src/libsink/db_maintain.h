/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * db_maintain.h - adds the coming months' partitions, sums up days into usage_day and drops old months,
 * whose sums stay in usage_day. Meanwhile a sink can go on writing; it waits a few seconds at most.
 *
 * A month is dropped when all its days are summed up and its jobs are old enough. This is done under a lock of
 * the tables, in the steps below. The process may be killed after each step; the next run finishes the work. At
 * every moment the view usage_all counts a job once:
 *
 *	archived(leaving)	the intent is noted
 *	usage_day		the month's sums get archived_id, so that no later record of these days replaces them
 *	drop			the partitions of step, then of job
 *	archived(gone)
 *
 * There is one exception. If the process is killed before the drop, and a record of that month arrives before the
 * next run, its job is counted twice until that run. The next run takes back archived_id, sums up the day anew and
 * starts over.
 */
#ifndef CEEMS_DB_MAINTAIN_H
#define CEEMS_DB_MAINTAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "src/libcore/settings.h"
#include "src/libsink/db_report.h"
#include "src/libutil/errmsg.h"

struct db_maintain_options {
	const char *defaults_file; /* of a database user who may alter tables; NULL: MariadbDefaultsFile */
	uint64_t retention_ns;	   /* 0: nothing is dropped */
	uint64_t now;		   /* Unix seconds; 0: the clock */
	bool dry_run;
	/* One line for each thing that is done, after it was done; may be NULL. */
	db_report_fn report;
	void *ctx;
};

/*
 * -EBUSY: another run is at work, or others kept the tables locked for too long; try again later. -EIO: the
 * server refused a statement. The next run finishes the work.
 */
int db_maintain_run(const struct settings *s, const struct db_maintain_options *options,
		    struct errmsg *err);

#endif
