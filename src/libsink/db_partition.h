/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * db_partition.h - the monthly partitions of the tables job and step. pYYYYMM has the jobs that were submitted in
 * that month. The lowest partition also has all earlier jobs, and pmax has the jobs after the last month.
 */
#ifndef CEEMS_DB_PARTITION_H
#define CEEMS_DB_PARTITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libsink/mariadb_client.h"

#define DB_PARTITION_BACK 13  /* months before this one, when there are none */
#define DB_PARTITION_AHEAD 3  /* months after this one */

/* SQL: a table with one column, month (202611), a row for each partition of TABLE that is a month. */
#define DB_PARTITION_MONTHS(table)                                                         \
	"(SELECT SUBSTR(PARTITION_NAME, 2) + 0 AS month FROM information_schema.PARTITIONS " \
	"WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '" table                           \
	"' AND PARTITION_NAME RLIKE '^p[0-9]{6}$') AS months"

/* How many months after NOW (Unix seconds) have a partition of job; -1: not even this one. */
int db_partition_ahead(MYSQL *m, uint64_t now, int *ret, struct errmsg *err);

/*
 * Makes the partitions that are missing at NOW (Unix seconds): all of them if there are none, else the coming
 * ones. The session's lock_wait_timeout bounds the waits for locks. *RET_ADDED: the number of new partitions; with
 * DRY_RUN, the number that would be made. Rows of the table stay.
 */
int db_partition_ensure(MYSQL *m, const char *table, uint64_t now, bool dry_run,
			size_t *ret_added, struct errmsg *err);

#endif
