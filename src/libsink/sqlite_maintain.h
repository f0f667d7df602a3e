/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sqlite_maintain.h - `ceems db` and `ceems check` for the sink sqlite. Beside a busy sink, which waits for one day's jobs
 * at most.
 */
#ifndef CEEMS_SQLITE_MAINTAIN_H
#define CEEMS_SQLITE_MAINTAIN_H

#include "src/libsink/db_maintain.h"
#include "src/libsink/migrate.h"
#include "src/libsink/sink.h"

/* Parts of struct sink_db and struct sink_ops; what is of a server in their options is not looked at. */
int sqlite_migrate_run(const struct settings *s, const struct migrate_options *options, struct errmsg *err);
/*
 * Sums up days into usage_day, and deletes the jobs of days of which all ended before the retention; their sums stay.
 * A day is one transaction.
 */
int sqlite_maintain_run(const struct settings *s, const struct db_maintain_options *options, struct errmsg *err);
int sqlite_status(const struct settings *s, const char *defaults_file, db_report_fn report, void *ctx,
		  struct errmsg *err);
void sqlite_check(const struct settings *s, sink_tell_fn *tell, void *ctx);

#endif
