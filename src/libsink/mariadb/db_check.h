/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * db_check.h - `ceems check` and `ceems db status` for the sink mariadb.
 */
#ifndef CEEMS_DB_CHECK_H
#define CEEMS_DB_CHECK_H

#include "src/libsink/db_report.h"
#include "src/libsink/sink.h"

/*
 * Member `check` of struct sink_ops: checks the schema, the partitions and the rights of the database user.
 */
void db_check(const struct settings *s, sink_tell_fn *tell, void *ctx);

/* Member `status` of struct sink_db: reports the lines of `ceems db status`. */
int db_status(const struct settings *s, const char *defaults_file, db_report_fn report, void *ctx,
	      struct errmsg *err);

#endif
