/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libsink/db_partition.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/libutil/parse.h"
#include "src/libutil/util.h"

uint32_t db_partition_month_of(uint64_t unix_seconds)
{
	time_t when = (time_t)unix_seconds;
	struct tm tm = { 0 };

	(void)gmtime_r(&when, &tm);
	return (uint32_t)((tm.tm_year + 1900) * 12 + tm.tm_mon);
}

void db_partition_name(uint32_t month, char ret[16])
{
	(void)snprintf(ret, 16, "p%04u%02u", month / 12 % 10000, month % 12 + 1);
}

uint64_t db_partition_begin(uint32_t month)
{
	struct tm tm = { .tm_year = (int)(month / 12) - 1900, .tm_mon = (int)(month % 12),
			 .tm_mday = 1 };

	return (uint64_t)timegm(&tm);
}

/* False: pmax, or somebody else's. */
static bool parse_name(const char *name, uint32_t *ret)
{
	uint64_t n;

	if (name[0] != 'p' || strlen(name) != 7 || parse_u64(name + 1, &n) < 0 || n % 100 < 1 ||
	    n % 100 > 12)
		return false;
	*ret = (uint32_t)(n / 100 * 12 + n % 100 - 1);
	return true;
}

/* 1: the table has partitions, of which *RET are ours. */
static int list(MYSQL *m, const char *table, struct db_partition **ret, size_t *ret_n,
		struct errmsg *err)
{
	struct db_partition *p;
	char sql[256];
	MYSQL_RES *res;
	MYSQL_ROW row;
	size_t n = 0;
	int rc = 0;

	(void)snprintf(sql, sizeof(sql),
		       "SELECT PARTITION_NAME FROM information_schema.PARTITIONS WHERE "
		       "TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '%s' AND PARTITION_NAME IS NOT "
		       "NULL ORDER BY PARTITION_ORDINAL_POSITION", table);
	if (mysql_query(m, sql) || !(res = mysql_store_result(m)))
		return errmsg_set(err, -EIO, "server says: %s (%u)", mysql_error(m),
				  mysql_errno(m));
	p = calloc(mysql_num_rows(res) + 1, sizeof(*p));
	while (p && (row = mysql_fetch_row(res))) {
		rc = 1;
		if (!parse_name(row[0], &p[n].month))
			continue;
		db_partition_name(p[n].month, p[n].name);
		n++;
	}
	mysql_free_result(res);
	if (!p)
		return errmsg_set(err, -ENOMEM, "out of memory");
	*ret = p;
	*ret_n = n;
	return rc;
}

int db_partition_list(MYSQL *m, const char *table, struct db_partition **ret, size_t *ret_n,
		      struct errmsg *err)
{
	int rc = list(m, table, ret, ret_n, err);

	return rc < 0 ? rc : 0;
}

/* ", "-separated definitions of months [first, last], then pmax. */
static void write_months(FILE *f, uint32_t first, uint32_t last)
{
	char name[16];
	uint32_t m;

	for (m = first; m <= last; m++) {
		db_partition_name(m, name);
		(void)fprintf(f, "PARTITION %s VALUES LESS THAN ('%04u-%02u-01'), ", name,
			      (m + 1) / 12, (m + 1) % 12 + 1);
	}
	(void)fputs("PARTITION pmax VALUES LESS THAN (MAXVALUE)", f);
}

int db_partition_ensure(MYSQL *m, const char *table, uint64_t now, bool dry_run,
			size_t *ret_added, struct errmsg *err)
{
	uint32_t month = db_partition_month_of(now);
	uint32_t last = month + DB_PARTITION_AHEAD;
	uint32_t first = month - DB_PARTITION_BACK;
	_cleanup_free_ struct db_partition *p = NULL;
	_cleanup_free_ char *sql = NULL;
	size_t len;
	size_t n = 0;
	FILE *f;
	int rc = list(m, table, &p, &n, err);

	if (rc < 0)
		return rc;
	if (n)
		first = p[n - 1].month + 1;
	*ret_added = first <= last ? last - first + 1 : 0;
	if (!*ret_added || dry_run)
		return 0;
	f = open_memstream(&sql, &len);
	if (!f)
		return errmsg_set(err, -ENOMEM, "out of memory");
	(void)fprintf(f, rc ? "ALTER TABLE %s REORGANIZE PARTITION pmax INTO (" :
			      "ALTER TABLE %s PARTITION BY RANGE COLUMNS (submit_time) (", table);
	write_months(f, first, last);
	(void)fputs(")", f);
	if (fclose(f))
		return errmsg_set(err, -ENOMEM, "out of memory");
	return mariadb_client_query(m, sql, err);
}
