/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libsink/mariadb/mariadb_upsert.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/libutil/util.h"

union upsert_value {
	const char *text;
	uint64_t number;
};

int mariadb_upsert_init(struct mariadb_upsert *u, enum sqlrow_table t)
{
	size_t ncols = sqlrow_ncols(t);
	size_t cells = ncols * UPSERT_ROWS_MAX;

	*u = (struct mariadb_upsert){ .table = t };
	u->bind = calloc(ncols, sizeof(*u->bind));
	u->value = calloc(cells, sizeof(*u->value));
	u->len = calloc(cells, sizeof(*u->len));
	u->indicator = calloc(cells, sizeof(*u->indicator));
	return u->bind && u->value && u->len && u->indicator ? 0 : -ENOMEM;
}

void mariadb_upsert_reset(struct mariadb_upsert *u)
{
	size_t i;

	for (i = 0; i < UPSERT_CACHED; i++) {
		if (u->cached[i].stmt)
			(void)mysql_stmt_close(u->cached[i].stmt);
		u->cached[i].stmt = NULL;
		u->cached[i].used = 0;
	}
}

void mariadb_upsert_fini(struct mariadb_upsert *u)
{
	mariadb_upsert_reset(u);
	free(u->bind);
	free(u->value);
	free(u->len);
	free(u->indicator);
}

static int prepare(struct mariadb_upsert *u, MYSQL *m, const struct sqlrow_set *set, size_t slot,
		   struct errmsg *err)
{
	_cleanup_free_ char *sql = sqlrow_upsert(u->table, SQLROW_MARIADB, set);
	MYSQL_STMT *stmt = sql ? mysql_stmt_init(m) : NULL;
	int rc;

	if (!stmt)
		return errmsg_set(err, -ENOMEM, "out of memory");
	if (mysql_stmt_prepare(stmt, sql, strlen(sql))) {
		rc = errmsg_set(err, -EIO, "cannot prepare: %s (%u)", mysql_stmt_error(stmt),
				mysql_stmt_errno(stmt));
		(void)mysql_stmt_close(stmt);
		return rc;
	}
	if (u->cached[slot].stmt)
		(void)mysql_stmt_close(u->cached[slot].stmt);
	u->cached[slot].stmt = stmt;
	u->cached[slot].set = *set;
	return 0;
}

/* Finds or prepares the statement for SET. A new one replaces the statement that was not used for longest. */
static int statement(struct mariadb_upsert *u, MYSQL *m, const struct sqlrow_set *set, MYSQL_STMT **ret,
		     struct errmsg *err)
{
	size_t slot = 0;
	size_t i;
	int rc = 0;

	for (i = 0; i < UPSERT_CACHED; i++) {
		if (u->cached[i].stmt && !memcmp(&u->cached[i].set, set, sizeof(*set)))
			break;
		if (u->cached[i].used < u->cached[slot].used)
			slot = i;
	}
	if (i < UPSERT_CACHED)
		slot = i;
	else
		rc = prepare(u, m, set, slot, err);
	if (rc < 0)
		return rc;
	u->cached[slot].used = ++u->uses;
	*ret = u->cached[slot].stmt;
	return 0;
}

/*
 * Binds column C of N rows, with its values from index AT on. There is no gap between the columns, so that
 * few rows touch few pages of memory.
 */
static void bind_column(struct mariadb_upsert *u, const struct sqlrow *rows, size_t c, size_t first, size_t n,
			size_t at, MYSQL_BIND *bind)
{
	size_t ncols = sqlrow_ncols(u->table);
	const struct sqlrow_cell *cell = rows->cell + first * ncols + c;
	enum sqlrow_type type = sqlrow_type(u->table, c);
	static const enum enum_field_types bind_type[] = {
		[SQLROW_TEXT] = MYSQL_TYPE_STRING,
		/* as bytes: the server does not count the characters */
		[SQLROW_JSON] = MYSQL_TYPE_BLOB,
		[SQLROW_UNSIGNED] = MYSQL_TYPE_LONGLONG,
		[SQLROW_SIGNED] = MYSQL_TYPE_LONGLONG,
	};
	size_t i;

	for (i = 0; i < n; i++, cell += ncols) {
		if (type == SQLROW_TEXT || type == SQLROW_JSON)
			u->value[at + i].text = cell->v.text;
		else
			u->value[at + i].number = cell->v.number;
		u->len[at + i] = cell->len;
		u->indicator[at + i] = cell->is_null ? STMT_INDICATOR_NULL : STMT_INDICATOR_NONE;
	}
	*bind = (MYSQL_BIND){
		.buffer_type = bind_type[type],
		.is_unsigned = type == SQLROW_UNSIGNED,
		.buffer = &u->value[at],
		.length = &u->len[at],
		.u.indicator = &u->indicator[at],
	};
}

int mariadb_upsert_bind(struct mariadb_upsert *u, MYSQL *m, const struct sqlrow *rows, size_t first, size_t n,
			MYSQL_STMT **ret, struct errmsg *err)
{
	unsigned int size = (unsigned int)n;
	struct sqlrow_set set;
	MYSQL_STMT *stmt;
	size_t nbound = 0;
	size_t c;
	int rc;

	sqlrow_used(rows, u->table, first, n, &set);
	rc = statement(u, m, &set, &stmt, err);
	if (rc < 0)
		return rc;
	for (c = 0; c < sqlrow_ncols(u->table); c++) {
		if (!sqlrow_set_has(&set, c))
			continue;
		bind_column(u, rows, c, first, n, nbound * n, &u->bind[nbound]);
		nbound++;
	}
	if (mysql_stmt_attr_set(stmt, STMT_ATTR_ARRAY_SIZE, &size) || mysql_stmt_bind_param(stmt, u->bind))
		return errmsg_set(err, -EIO, "cannot bind: %s (%u)", mysql_stmt_error(stmt),
				  mysql_stmt_errno(stmt));
	*ret = stmt;
	return 0;
}
