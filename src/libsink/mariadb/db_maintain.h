/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * db_maintain.h - adds partitions for the coming months, sums up the jobs of each day in usage_day, and drops
 * the jobs of old months, whose sums stay in usage_day. A sink may write meanwhile; it waits a few seconds at
 * most.
 *
 * A month is dropped when all its days are summed up and its jobs are old enough. This is done under a lock
 * of the tables, in four steps:
 *
 * 	archived (leaving)	a row says that the month is being dropped
 * 	usage_day		the month's sums get the id of that row, so that no later record replaces them
 * 	drop			the partitions of step, then of job
 * 	archived (gone)		the row says that the month was dropped
 *
 * If the process is killed between two steps, the next run finishes the work. The view usage_all counts each
 * job once at any time, with one exception. If the process is killed before the drop and then a record of
 * that month arrives, its job is counted twice until the next run. That run takes the id back, sums up the
 * day again, and starts with the first step.
 */
#ifndef CEEMS_DB_MAINTAIN_H
#define CEEMS_DB_MAINTAIN_H

#include "src/libcore/settings.h"
#include "src/libsink/db_options.h"
#include "src/libutil/errmsg.h"

/*
 * Does all of the above. -EBUSY: another run is at work, or other sessions kept the tables locked for too
 * long; try again later. -EIO: the server refused a statement. After an error, the next run finishes the
 * work.
 */
int db_maintain_run(const struct settings *s, const struct db_options *options, struct errmsg *err);

#endif
