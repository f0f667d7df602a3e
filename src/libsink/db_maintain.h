/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * db_maintain.h - adds the coming months' partitions, sums up days into usage_day and drops old months,
 * whose sums stay there. Beside a busy sink, which waits a little at most.
 *
 * A month goes when all its days are summed up and its jobs are old. Under a lock of the tables, in steps
 * each of which a kill may follow; the next run finishes. The view usage_all counts a job once at every moment:
 *
 *	archived(leaving)	the intent is noted
 *	usage_day		the month's sums get archived_id: no later record of these days replaces them
 *	drop			the partitions of step, then of job
 *	archived(gone)
 *
 * Only a record of that very month that comes between a kill in there and the next run is counted twice
 * (before the drop) until that run: it takes the month's sums as before, sums up the day anew and starts over.
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
