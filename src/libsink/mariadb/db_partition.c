/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libsink/mariadb/db_partition.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "src/libutil/util.h"

/* Returns the month of a time, counted from January of the year 0, so that months can be added. */
static int partition_month_of(uint64_t unix_seconds)
{
	time_t when = (time_t)unix_seconds;
	struct tm tm = { 0 };

	(void)gmtime_r(&when, &tm);
	return (tm.tm_year + 1900) * 12 + tm.tm_mon;
}

/*
 * Finds the last month that has a partition of TABLE, as partition_month_of() counts.
 * *RET is 0: there is none.
 */
static int partition_last_month(MYSQL *m, const char *table, int *ret, struct errmsg *err)
{
	uint64_t last = 0;
	char sql[320];
	int rc;

	(void)snprintf(sql, sizeof(sql), "SELECT COALESCE(MAX(month), 0) FROM " DB_PARTITION_MONTHS("%s"),
		       table);
	rc = mariadb_client_number(m, sql, &last, err);
	if (rc == 0)
		*ret = last ? (int)(last / 100 * 12 + last % 100) - 1 : 0;
	return rc;
}

int db_partition_ahead(MYSQL *m, uint64_t now, int *ret, struct errmsg *err)
{
	int last = 0;
	int rc = partition_last_month(m, "job", &last, err);

	if (rc == 0)
		*ret = last < partition_month_of(now) ? -1 : last - partition_month_of(now);
	return rc;
}

int db_partition_ensure(MYSQL *m, const char *table, uint64_t now, bool dry_run, size_t *ret_added,
			struct errmsg *err)
{
	int until = partition_month_of(now) + DB_PARTITION_AHEAD + 1;
	_cleanup_free_ char *sql = NULL;
	int month = 0;
	size_t len;
	FILE *f;
	int rc = partition_last_month(m, table, &month, err);

	if (rc < 0)
		return rc;
	f = open_memstream(&sql, &len);
	if (!f)
		return errmsg_set(err, -ENOMEM, "out of memory");
	(void)fprintf(f,
		      month ? "ALTER TABLE %s REORGANIZE PARTITION pmax INTO (" :
			      "ALTER TABLE %s PARTITION BY RANGE COLUMNS (submit_time) (",
		      table);
	month = month ? month + 1 : until - DB_PARTITION_AHEAD - 1 - DB_PARTITION_BACK;
	for (*ret_added = 0; month < until; month++, ++*ret_added)
		(void)fprintf(f, "PARTITION p%04d%02d VALUES LESS THAN ('%04d-%02d-01'), ", month / 12,
			      month % 12 + 1, (month + 1) / 12, (month + 1) % 12 + 1);
	(void)fputs("PARTITION pmax VALUES LESS THAN (MAXVALUE))", f);
	if (fclose(f))
		return errmsg_set(err, -ENOMEM, "out of memory");
	return *ret_added && !dry_run ? mariadb_client_query(m, sql, err) : 0;
}
