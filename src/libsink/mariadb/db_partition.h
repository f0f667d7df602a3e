/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * db_partition.h - makes the monthly partitions of the tables job and step. Partition pYYYYMM has the jobs
 * that were submitted in that month. The lowest partition also has all earlier jobs. pmax has the jobs after
 * the last month.
 */
#ifndef CEEMS_DB_PARTITION_H
#define CEEMS_DB_PARTITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libsink/mariadb/mariadb_client.h"
#include "src/libutil/must_check.h"

#define DB_PARTITION_BACK 13 /* a table without partitions gets those of so many past months */
#define DB_PARTITION_AHEAD 3 /* and every table those of so many coming months */

/* SQL for the months that have a partition of TABLE: a table with the column month, such as 202611. */
#define DB_PARTITION_MONTHS(table)                                                           \
	"(SELECT SUBSTR(PARTITION_NAME, 2) + 0 AS month FROM information_schema.PARTITIONS " \
	"WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '" table                           \
	"' AND PARTITION_NAME RLIKE '^p[0-9]{6}$') AS months"

/*
 * Counts the months after NOW (Unix seconds) that have a partition of job. *RET is -1: not
 * even the month of NOW has.
 */
int db_partition_ahead(MYSQL *m, uint64_t now, int *ret, struct errmsg *err) _must_check_;

/*
 * Makes the missing partitions of TABLE, up to DB_PARTITION_AHEAD months after NOW (Unix seconds). If TABLE
 * has partitions, begins after the last one; if not, DB_PARTITION_BACK months before NOW. Keeps the rows.
 * *RET_ADDED is the number of new partitions, or with DRY_RUN the number that would be made. Waits for locks
 * as long as the session's lock_wait_timeout.
 */
int db_partition_ensure(MYSQL *m, const char *table, uint64_t now, bool dry_run, size_t *ret_added,
			struct errmsg *err) _must_check_;

#endif
