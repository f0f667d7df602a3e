/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * db_options.h - what `ceems db` passes to the members migrate and maintain of struct sink_db.
 */
#ifndef CEEMS_DB_OPTIONS_H
#define CEEMS_DB_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "src/libsink/db_report.h"

struct db_options {
	const char *defaults_file; /* of a database user who may do this; NULL: MariadbDefaultsFile */
	bool dry_run;		   /* report what would be done, change nothing */
	/* Called with a line for each thing that is done; may be NULL. */
	db_report_fn report;
	void *ctx;
	const char *sql_dir;   /* migrate: folder of the schema; NULL: the installed one */
	uint64_t retention_ns; /* maintain: 0: nothing is dropped */
	uint64_t now;	       /* maintain: Unix seconds; 0: the clock */
};

#endif
