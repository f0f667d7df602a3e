/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libsink/mariadb/mariadb_walk.h"

#include <errno.h>

#include "src/libsink/mariadb/mariadb_client.h"
#include "src/libutil/clock.h"

#define TIMEOUT_NS (60 * NSEC_PER_SEC)

static int open_filled(const struct settings *s, MYSQL **ret, struct errmsg *err)
{
	uint64_t schema = 0;
	MYSQL *m = NULL;
	int rc = mariadb_client_check(s->mariadb_defaults_file, err);

	if (rc == 0)
		rc = mariadb_client_open(s->mariadb_defaults_file, s->mariadb_database, TIMEOUT_NS, 0, 0, &m,
					 err);
	if (rc == 0)
		rc = mariadb_client_schema(m, &schema, err);
	if (rc == 0 && !schema)
		rc = errmsg_set(err, -EPROTO, "database %s has no tables of ceems: run ceems db migrate",
				s->mariadb_database);
	if (rc < 0) {
		mariadb_client_close(m);
		return rc;
	}
	*ret = m;
	return 0;
}

static int server_error(MYSQL *m, struct errmsg *err)
{
	return errmsg_set(err, -EIO, "server says: %s (%u)", mysql_error(m), mysql_errno(m));
}

/* Calls W->each for each row while the server sends rows, because all rows may not fit into memory. */
static int walk_rows(MYSQL *m, const struct db_walk *w, struct errmsg *err)
{
	MYSQL_RES *res = mysql_use_result(m);
	MYSQL_ROW cell;
	int rc = 0;

	if (!res)
		return server_error(m, err);
	while (rc == 0 && (cell = mysql_fetch_row(res))) {
		const unsigned long *len = mysql_fetch_lengths(res);
		const struct db_walk_row row = { .json = cell[0], .len = len[0], .cpu_us = cell[1] };

		rc = w->each(w->ctx, &row, err);
	}
	if (rc == 0 && mysql_errno(m))
		rc = server_error(m, err);
	mysql_free_result(res);
	return rc;
}

int mariadb_walk(const struct settings *s, const struct db_walk *w, struct errmsg *err)
{
	char sql[DB_WALK_SQL_MAX];
	MYSQL *m = NULL;
	int rc = open_filled(s, &m, err);

	if (rc < 0)
		return rc;
	rc = mysql_query(m, db_walk_jobs(w, sql)) ? server_error(m, err) : walk_rows(m, w, err);
	mariadb_client_close(m);
	return rc;
}

int mariadb_gone(const struct settings *s, uint64_t from, uint64_t to, uint64_t *ret, struct errmsg *err)
{
	char sql[DB_WALK_SQL_MAX];
	MYSQL *m = NULL;
	int rc = open_filled(s, &m, err);

	if (rc == 0)
		rc = mariadb_client_number(m, db_walk_gone(from, to, sql), ret, err);
	mariadb_client_close(m);
	return rc;
}
