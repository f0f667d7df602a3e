/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sqlite_maintain.h - `ceems db` and `ceems check` for the sink sqlite. A sink may be busy meanwhile; it waits until the
 * jobs of one day are done, at most.
 */
#ifndef CEEMS_SQLITE_MAINTAIN_H
#define CEEMS_SQLITE_MAINTAIN_H

#include "src/libsink/db_maintain.h"
#include "src/libsink/migrate.h"
#include "src/libsink/sink.h"

/* Parts of struct sink_db and struct sink_ops. Options that concern a server are ignored. */
int sqlite_migrate_run(const struct settings *s, const struct migrate_options *options, struct errmsg *err);
/*
 * Sums up days into usage_day. Deletes the jobs of a day if all of them ended before the retention; their sums stay.
 * A day is one transaction.
 */
int sqlite_maintain_run(const struct settings *s, const struct db_maintain_options *options, struct errmsg *err);
int sqlite_status(const struct settings *s, const char *defaults_file, db_report_fn report, void *ctx,
		  struct errmsg *err);
void sqlite_check(const struct settings *s, sink_tell_fn *tell, void *ctx);

#endif
