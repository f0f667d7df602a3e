/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * migrate.h - brings the database to schema MARIADB_SCHEMA: applies the files NNNN-what.sql in sql/ above
 * the highest number in schema_version, in order.
 */
#ifndef CEEMS_MIGRATE_H
#define CEEMS_MIGRATE_H

#include <stdbool.h>

#include "src/libcore/settings.h"
#include "src/libsink/db_report.h"
#include "src/libutil/errmsg.h"

struct migrate_options {
	const char *sql_dir;	   /* NULL: the installed one */
	const char *defaults_file; /* of an administrator; NULL: MariadbDefaultsFile */
	bool dry_run;		   /* report what would be done, change nothing */
	/* One line for each version and for what is created; may be NULL. */
	db_report_fn report;
	void *ctx;
};

/*
 * The database s->mariadb_database is created if it is missing. -EPROTO: its schema is of a later version,
 * nothing is changed. -EBUSY: another one is at work. -EIO: the server says no, ERR has version and reason;
 * earlier versions stay applied, and the failed one is repeated by the next run.
 */
int migrate_run(const struct settings *s, const struct migrate_options *options,
		struct errmsg *err);

#endif
