/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * db_walk.h - reads the jobs of a time from the tables of the sinks mariadb and sqlite, for reports. Both have the same
 * two questions.
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
	const char *cpu_us; /* CPU time of the steps, where the record has none; NULL: not known */
};

struct db_walk {
	uint64_t from, to; /* seconds since the epoch: of the jobs' ends, TO not included */
	/* -errno ends the walk, with the reason in ERR. */
	int (*each)(void *ctx, const struct db_walk_row *row, struct errmsg *err);
	void *ctx;
};

#define DB_WALK_SQL_MAX 512

/* Selects the columns of struct db_walk_row. Returns BUF. */
const char *db_walk_jobs(const struct db_walk *w, char buf[DB_WALK_SQL_MAX]);
/* How many jobs that ended in these days (UTC) `ceems db maintain` has deleted. Returns BUF. */
const char *db_walk_gone(uint64_t from, uint64_t to, char buf[DB_WALK_SQL_MAX]);

#endif
