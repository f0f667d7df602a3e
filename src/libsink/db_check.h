/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * db_check.h - checks the database of the sink mariadb, for `ceems check` and `ceems db status`.
 */
#ifndef CEEMS_DB_CHECK_H
#define CEEMS_DB_CHECK_H

#include "src/libsink/db_report.h"
#include "src/libsink/sink.h"

/* Part of struct sink_ops: schema, partitions, the writer's rights. */
void db_check(const struct settings *s, sink_tell_fn *tell, void *ctx);

/* Part of struct sink_db. */
int db_status(const struct settings *s, const char *defaults_file, db_report_fn report, void *ctx,
	      struct errmsg *err);

#endif
