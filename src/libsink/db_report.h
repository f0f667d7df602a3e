/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * db_report.h - the lines that `ceems db` prints: what migrate and maintain did, and the status of a
 * database.
 */
#ifndef CEEMS_DB_REPORT_H
#define CEEMS_DB_REPORT_H

#include <stdint.h>

#include "src/libutil/errmsg.h"
#include "src/libutil/util.h"

typedef void (*db_report_fn)(void *ctx, const char *line);

/* Calls REPORT with a line made from FMT, cut to 255 bytes. Does nothing if REPORT is NULL. */
void db_report(db_report_fn report, void *ctx, const char *fmt, ...) _printf_(3, 4);

/*
 * Reports the first lines of `ceems db status`: the database and its schema. -EPROTO:
 * SCHEMA is older than OURS.
 */
int db_report_schema(db_report_fn report, void *ctx, const char *database, uint64_t schema, uint64_t ours,
		     struct errmsg *err);

/* Another line of `ceems db status`: what the value is, and the query for it. */
struct db_status_row {
	const char *what;
	const char *sql;
};
#define DB_STATUS_JOBS                                                                                   \
	{ "jobs", "SELECT COUNT(*) FROM job" }, { "steps", "SELECT COUNT(*) FROM step" },                \
		{ "jobs whose energy is not final", "SELECT COUNT(*) FROM job WHERE NOT energy_final" }, \
	{                                                                                                \
		"oldest submission", "SELECT MIN(submit_time) FROM job"                                  \
	}
#define DB_STATUS_ARCHIVED                                                                   \
	{ "archived until", "SELECT MAX(partition_of) FROM archived WHERE state = 'gone'" }, \
		{ "jobs archived", "SELECT COALESCE(SUM(jobs), 0) FROM archived" },          \
	{                                                                                    \
		"last archived at (UTC)", "SELECT MAX(archived_at) FROM archived"            \
	}

#endif
