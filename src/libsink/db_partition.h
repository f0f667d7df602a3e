/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * db_partition.h - the monthly partitions of job and step: pYYYYMM has what was submitted in that month,
 * the lowest also what came before, pmax what comes after the last.
 */
#ifndef CEEMS_DB_PARTITION_H
#define CEEMS_DB_PARTITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libsink/mariadb_client.h"

#define DB_PARTITION_BACK 13  /* months before this one, when there are none */
#define DB_PARTITION_AHEAD 3  /* months after this one */

/* A month as a count since the year 0, so that months can be added. */
struct db_partition {
	char name[16]; /* "p202611" */
	uint32_t month;
};

uint32_t db_partition_month_of(uint64_t unix_seconds);
/* "p202611" */
void db_partition_name(uint32_t month, char ret[16]);
/* First second of MONTH. */
uint64_t db_partition_begin(uint32_t month);

/* Those of TABLE with a month, ascending; malloc'ed. No partitions at all: 0 of them. */
int db_partition_list(MYSQL *m, const char *table, struct db_partition **ret, size_t *ret_n,
		      struct errmsg *err);

/*
 * Makes what is missing for NOW (Unix seconds): all partitions where there are none, else the ones
 * ahead. Its lock waits are bounded by the session's lock_wait_timeout: -EBUSY. *RET_ADDED: how many; with
 * DRY_RUN how many would be. What is in the table stays.
 */
int db_partition_ensure(MYSQL *m, const char *table, uint64_t now, bool dry_run,
			size_t *ret_added, struct errmsg *err);

#endif
