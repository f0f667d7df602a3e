/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * db_options.h - what `ceems db` passes to the members migrate and maintain of struct sink_db.
 */
#ifndef CEEMS_DB_OPTIONS_H
#define CEEMS_DB_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "src/libsink/db_report.h"

struct migrate_options {
	const char *sql_dir;	   /* NULL: the installed folder */
	const char *defaults_file; /* of a database user who may create tables; NULL: MariadbDefaultsFile */
	bool dry_run;		   /* report what would be done, change nothing */
	/* Called with a line for each version and for what is created; may be NULL. */
	db_report_fn report;
	void *ctx;
};

struct db_maintain_options {
	const char *defaults_file; /* of a database user who may alter tables; NULL: MariadbDefaultsFile */
	uint64_t retention_ns;	   /* 0: nothing is dropped */
	uint64_t now;		   /* Unix seconds; 0: the clock */
	bool dry_run;
	/* Called with a line for each thing that was done; may be NULL. */
	db_report_fn report;
	void *ctx;
};

#endif
