/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * db_walk.h - reads the jobs that ended in a period from the tables of the sinks mariadb and sqlite, for
 * reports. Both sinks use the two queries here.
 */
#ifndef CEEMS_DB_WALK_H
#define CEEMS_DB_WALK_H

#include <stddef.h>
#include <stdint.h>

#include "src/libutil/errmsg.h"

/* One row of job. Borrowed until the call returns. */
struct db_walk_row {
	const char *json; /* the record without its steps */
	size_t len;
	const char *cpu_us; /* CPU time of the steps, if the record has no CPU time; NULL: not known */
};

struct db_walk {
	uint64_t from, to; /* Unix seconds: jobs that ended at FROM or later, and before TO */
	/* Called for each job. A negative result ends the walk; then the reason must be in ERR. */
	int (*each)(void *ctx, const struct db_walk_row *row, struct errmsg *err);
	void *ctx;
};

#define DB_WALK_SQL_MAX 512

/* Writes the query for the columns of struct db_walk_row to BUF, and returns BUF. */
const char *db_walk_jobs(const struct db_walk *w, char buf[DB_WALK_SQL_MAX]);
/*
 * Writes the query for the number of deleted jobs that ended on the days (UTC) from FROM to TO. Returns BUF.
 */
const char *db_walk_gone(uint64_t from, uint64_t to, char buf[DB_WALK_SQL_MAX]);

#endif
