/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * migrate.h - brings the database to schema MARIADB_SCHEMA. Of the files NNNN-what.sql in sql/, it applies in order
 * those whose number is above the highest version in the table schema_version, and then views.sql.
 */
#ifndef CEEMS_MIGRATE_H
#define CEEMS_MIGRATE_H

#include <stdbool.h>

#include "src/libcore/settings.h"
#include "src/libsink/db_report.h"
#include "src/libutil/errmsg.h"

struct migrate_options {
	const char *sql_dir;	   /* NULL: the installed folder */
	const char *defaults_file; /* of a database user who may create tables; NULL: MariadbDefaultsFile */
	bool dry_run;		   /* report what would be done, change nothing */
	/* Called with a line for each version and for what is created; may be NULL. */
	db_report_fn report;
	void *ctx;
};

/*
 * Migrates the database s->mariadb_database, and creates it if it is missing. -EPROTO: its schema is of a later
 * version; nothing is changed. -EBUSY: another run is at work. -EIO: the server refused a statement; ERR has the
 * version and the reason. Earlier versions stay applied, and the next run repeats the one that failed.
 */
int migrate_run(const struct settings *s, const struct migrate_options *options,
		struct errmsg *err);

#endif
