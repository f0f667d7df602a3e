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
	const char *sql_dir;	   /* NULL: the installed folder */
	const char *defaults_file; /* of an administrator; NULL: MariadbDefaultsFile */
	bool dry_run;		   /* report what would be done, change nothing */
	/* One line for each version and for what is created; may be NULL. */
	db_report_fn report;
	void *ctx;
};

/*
 * Creates the database s->mariadb_database if it is missing. -EPROTO: its schema is of a later version, and
 * nothing is changed. -EBUSY: another run is at work. -EIO: the server refused a statement; ERR has the version of
 * the schema and the reason. Earlier versions stay applied, and the next run repeats the failed one.
 */
int migrate_run(const struct settings *s, const struct migrate_options *options,
		struct errmsg *err);

#endif
