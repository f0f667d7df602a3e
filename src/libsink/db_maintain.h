/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * db_maintain.h - adds the coming months' partitions, sums up old months into usage_day and drops them.
 * Beside a busy sink, which waits a little at most.
 *
 * A partition goes in steps, each of which a kill may follow; the next run finishes. Its jobs are counted
 * once by the view usage_all at every moment:
 *
 *	archived(leaving)	the intent is noted
 *	exchange		job's partition becomes job_leaving, where no writer comes
 *	sum			usage_day and archived(summed) in one transaction: the sums count from now
 *	truncate		job_leaving is empty
 *	archived(gone)
 *	drop			the empty partitions of step and job; not if late jobs came into job's meanwhile
 */
#ifndef CEEMS_DB_MAINTAIN_H
#define CEEMS_DB_MAINTAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "src/libcore/settings.h"
#include "src/libsink/db_report.h"
#include "src/libutil/errmsg.h"

struct db_maintain_options {
	const char *defaults_file; /* of who may alter tables; NULL: MariadbDefaultsFile */
	uint64_t retention_ns;	   /* 0: nothing is dropped */
	uint64_t now;		   /* Unix seconds; 0: the clock */
	bool dry_run;
	/* One line for each thing that is done, after it was done; may be NULL. */
	db_report_fn report;
	void *ctx;
};

/*
 * -EBUSY: another one is at work, or the tables stayed locked by others for too long: try again later.
 * -EIO: the server says no. What is half done then is finished by the next run.
 */
int db_maintain_run(const struct settings *s, const struct db_maintain_options *options,
		    struct errmsg *err);

#endif
