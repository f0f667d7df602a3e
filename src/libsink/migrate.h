/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * migrate.h - brings the database to the schema in sql/: applies the files NNNN-what.sql that
 * schema_version does not list, in order.
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
	/* One line for each file and for what is created; may be NULL. */
	db_report_fn report;
	void *ctx;
};

/*
 * The database s->mariadb_database is created if it is missing. Two at once wait for one another.
 * -EINVAL: a file is misnamed, numbers are given twice, or an applied file was changed since;
 * -EIO: the server says no, ERR has file and reason. Files before the failing one stay applied;
 * applying them twice is harmless.
 */
int migrate_run(const struct settings *s, const struct migrate_options *options,
		struct errmsg *err);

#endif
