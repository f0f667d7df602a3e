/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sqlite_maintain.h - `ceems db` and `ceems check` for the sink sqlite. A sink may write at the same time; it
 * waits at most while the jobs of one day are summed up or deleted.
 */
#ifndef CEEMS_SQLITE_MAINTAIN_H
#define CEEMS_SQLITE_MAINTAIN_H

#include "src/libsink/db_options.h"
#include "src/libsink/sink.h"

/* These functions are members of struct sink_db and struct sink_ops. Options for a server are ignored. */
int sqlite_migrate_run(const struct settings *s, const struct db_options *options, struct errmsg *err);
/*
 * Sums up the jobs of each day in usage_day. If all jobs of a day ended longer ago than the retention,
 * deletes these jobs and keeps the sums. A day is one transaction.
 */
int sqlite_maintain_run(const struct settings *s, const struct db_options *options, struct errmsg *err);
int sqlite_status(const struct settings *s, const char *defaults_file, db_report_fn report, void *ctx,
		  struct errmsg *err);
void sqlite_check(const struct settings *s, sink_tell_fn *tell, void *ctx);

#endif
