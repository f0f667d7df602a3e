/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sink_mariadb.c - records as rows of job and step, in transactions of array-bound upserts; a record
 * that comes again writes the same values into the same rows. When the server finds fault with
 * a row, every record of the transaction is sent alone and the faulty ones are refused. A
 * transaction has as many records as the server stores well within the time there is, so that a
 * slow one is not asked the same too much again and again.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <errmsg.h>
#include <mysql.h>
#include <mysqld_error.h>

#include "src/libjob/record.h"
#include "src/libsink/mariadb_client.h"
#include "src/libsink/sink.h"
#include "src/libsink/sqlrow.h"
#include "src/libutil/clock.h"

#define MAX_BATCH 500
#define ROWS_PER_STATEMENT 500
#define SLICE_MIN 8

struct sink {
	char defaults_file[PATH_MAX];
	char database[65];
	MYSQL *conn; /* NULL: not connected */
	MYSQL_STMT *stmt[2]; /* by enum sqlrow_table */
	uint64_t statement_max; /* bytes, by the server's max_allowed_packet */
	size_t slice; /* records per transaction: what the server does well within the time */
	unsigned int last_errno; /* of the last transaction that failed */
	struct record *record[MAX_BATCH]; /* of the batch; the rows borrow from them */
	struct sqlrow rows[2];
	/* arrays that libmariadb binds, one stretch of ROWS_PER_STATEMENT per column */
	MYSQL_BIND *bind;
	const char **text;
	unsigned long *len;
	char *indicator;
};

static size_t max_columns(void)
{
	size_t a = sqlrow_ncols(SQLROW_JOB);
	size_t b = sqlrow_ncols(SQLROW_STEP);

	return a > b ? a : b;
}

static void disconnect(struct sink *k)
{
	int t;

	for (t = 0; t < 2; t++) {
		if (k->stmt[t])
			(void)mysql_stmt_close(k->stmt[t]);
		k->stmt[t] = NULL;
	}
	mariadb_client_close(k->conn);
	k->conn = NULL;
}

static void mariadb_close(struct sink *k)
{
	if (!k)
		return;
	disconnect(k);
	sqlrow_fini(&k->rows[SQLROW_JOB]);
	sqlrow_fini(&k->rows[SQLROW_STEP]);
	free(k->bind);
	free(k->text);
	free(k->len);
	free(k->indicator);
	free(k);
}

static int mariadb_open(const struct settings *s, struct sink **ret, struct errmsg *err)
{
	size_t cells = max_columns() * ROWS_PER_STATEMENT;
	struct sink *k;
	int rc = mariadb_client_check(s->mariadb_defaults_file, err);

	if (rc < 0)
		return rc;
	if (!s->mariadb_database[0])
		return errmsg_set(err, -EINVAL, "MariadbDatabase is empty");
	k = calloc(1, sizeof(*k));
	if (!k)
		return errmsg_set(err, -ENOMEM, "out of memory");
	memcpy(k->defaults_file, s->mariadb_defaults_file, sizeof(k->defaults_file));
	memcpy(k->database, s->mariadb_database, sizeof(k->database));
	k->slice = MAX_BATCH / 4;
	k->bind = calloc(max_columns(), sizeof(*k->bind));
	k->text = calloc(cells, sizeof(*k->text));
	k->len = calloc(cells, sizeof(*k->len));
	k->indicator = calloc(cells, sizeof(*k->indicator));
	if (!k->bind || !k->text || !k->len || !k->indicator) {
		mariadb_close(k);
		return errmsg_set(err, -ENOMEM, "out of memory");
	}
	*ret = k;
	return 0;
}

/* --- the connection ---------------------------------------------------------------------- */

static int check_schema(struct sink *k, struct errmsg *err)
{
	uint64_t version = 0;
	int rc = mariadb_client_schema(k->conn, &version, err);

	if (rc < 0)
		return rc;
	if (version < MARIADB_SCHEMA)
		return errmsg_set(err, -ENOENT, "database %s has schema %" PRIu64 ", %d is needed; "
				  "run `ceems db migrate`", k->database, version,
				  MARIADB_SCHEMA);
	return 0;
}

static int prepare(struct sink *k, enum sqlrow_table t, struct errmsg *err)
{
	_cleanup_free_ char *sql = sqlrow_upsert(t);

	k->stmt[t] = sql ? mysql_stmt_init(k->conn) : NULL;
	if (!k->stmt[t])
		return errmsg_set(err, -ENOMEM, "out of memory");
	if (mysql_stmt_prepare(k->stmt[t], sql, strlen(sql)))
		return errmsg_set(err, -EIO, "cannot prepare: %s (%u)",
				  mysql_stmt_error(k->stmt[t]), mysql_stmt_errno(k->stmt[t]));
	return 0;
}

static int connect_db(struct sink *k, uint64_t timeout_ns, struct errmsg *err)
{
	uint64_t packet = 0;
	int rc;

	rc = mariadb_client_open(k->defaults_file, k->database, timeout_ns, 0, &k->conn, err);
	if (rc == 0)
		rc = check_schema(k, err);
	if (rc == 0)
		rc = mariadb_client_number(k->conn, "SELECT @@max_allowed_packet", &packet, err);
	if (rc == 0)
		rc = prepare(k, SQLROW_JOB, err);
	if (rc == 0)
		rc = prepare(k, SQLROW_STEP, err);
	if (rc < 0)
		disconnect(k);
	else
		k->statement_max = packet - packet / 8; /* the rest: lengths, headers */
	return rc;
}

/* --- one transaction --------------------------------------------------------------------- */

/*
 * Errors of the server that are about values in a row: SQLSTATE class 22 (data exception) and 23
 * (constraint), and those that MariaDB reports with the general state. All others are about
 * the server, the schema or permissions, which somebody can put right: the record waits.
 */
static bool is_about_row(unsigned int code, const char *sqlstate)
{
	switch (code) {
	case ER_TRUNCATED_WRONG_VALUE_FOR_FIELD: /* 1366 */
	case ER_WARN_DATA_OUT_OF_RANGE:		 /* 1264 */
	case WARN_DATA_TRUNCATED:		 /* 1265 */
	case ER_DATA_TOO_LONG:			 /* 1406 */
	case ER_TOO_LONG_KEY:			 /* 1071 */
		return true;
	default:
		return !strncmp(sqlstate, "22", 2) || !strncmp(sqlstate, "23", 2);
	}
}

/* The connection, not the server, said so: it may have been closed while it was idle. */
static bool is_gone(const struct sink *k)
{
	return k->last_errno == CR_SERVER_GONE_ERROR || k->last_errno == CR_SERVER_LOST;
}

/* -EINVAL: a row is at fault; -EIO: anything else. */
static int stmt_error(MYSQL_STMT *stmt, struct errmsg *err)
{
	unsigned int code = mysql_stmt_errno(stmt);

	return errmsg_set(err, is_about_row(code, mysql_stmt_sqlstate(stmt)) ? -EINVAL : -EIO,
			  "%s (%u)", mysql_stmt_error(stmt), code);
}

static uint64_t row_bytes(const struct sqlrow_cell *cell, size_t n)
{
	uint64_t sum = 0;

	while (n--)
		sum += (cell++)->len + 10; /* at most 9 bytes of length, 1 indicator */
	return sum;
}

/* Rows [first, first + n) in one statement. */
static int run_statement(struct sink *k, enum sqlrow_table t, size_t first, unsigned int n,
			 struct errmsg *err)
{
	size_t ncols = sqlrow_ncols(t);
	const struct sqlrow_cell *cell = k->rows[t].cell + first * ncols;
	size_t c;
	size_t i;

	for (c = 0; c < ncols; c++) {
		size_t at = c * ROWS_PER_STATEMENT;

		for (i = 0; i < n; i++) {
			k->text[at + i] = cell[i * ncols + c].text;
			k->len[at + i] = (unsigned long)cell[i * ncols + c].len;
			k->indicator[at + i] = k->text[at + i] ? STMT_INDICATOR_NONE :
								 STMT_INDICATOR_NULL;
		}
		k->bind[c] = (MYSQL_BIND){ .buffer_type = MYSQL_TYPE_STRING,
					   .buffer = &k->text[at],
					   .length = &k->len[at],
					   .u.indicator = &k->indicator[at] };
	}
	if (mysql_stmt_attr_set(k->stmt[t], STMT_ATTR_ARRAY_SIZE, &n) ||
	    mysql_stmt_bind_param(k->stmt[t], k->bind) || mysql_stmt_execute(k->stmt[t]))
		return stmt_error(k->stmt[t], err);
	return 0;
}

static int run_rows(struct sink *k, enum sqlrow_table t, uint64_t deadline_ns,
		    struct errmsg *err)
{
	size_t ncols = sqlrow_ncols(t);
	size_t first = 0;
	int rc = 0;

	while (rc == 0 && first < k->rows[t].nrows) {
		uint64_t bytes = 0;
		unsigned int n = 0;

		while (n < ROWS_PER_STATEMENT && first + n < k->rows[t].nrows) {
			bytes += row_bytes(k->rows[t].cell + (first + n) * ncols, ncols);
			if (bytes > k->statement_max)
				break;
			n++;
		}
		if (!n)
			return errmsg_set(err, -EINVAL, "row of %" PRIu64 " bytes is over the "
					  "server's max_allowed_packet", bytes);
		if (clock_mono_ns() > deadline_ns)
			return errmsg_set(err, -EIO, "the server takes too long");
		rc = run_statement(k, t, first, n, err);
		first += n;
	}
	return rc;
}

/* Items [first, first + n) whose record could be read, all or none. */
static int store(struct sink *k, const struct sink_item *item, size_t first, size_t n,
		 uint64_t deadline_ns, struct errmsg *err)
{
	size_t i;
	int rc = 0;

	sqlrow_clear(&k->rows[SQLROW_JOB]);
	sqlrow_clear(&k->rows[SQLROW_STEP]);
	for (i = first; rc == 0 && i < first + n; i++) {
		if (!k->record[i])
			continue;
		rc = sqlrow_add_job(&k->rows[SQLROW_JOB], item[i].key, item[i].key_len,
				    item[i].json, item[i].json_len, k->record[i]);
		if (rc == 0)
			rc = sqlrow_add_steps(&k->rows[SQLROW_STEP], item[i].key,
					      item[i].key_len, k->record[i]);
	}
	if (rc < 0)
		return errmsg_errno(err, -EIO, "cannot make rows");
	rc = mariadb_client_query(k->conn, "START TRANSACTION", err);
	if (rc == 0)
		rc = run_rows(k, SQLROW_JOB, deadline_ns, err);
	if (rc == 0)
		rc = run_rows(k, SQLROW_STEP, deadline_ns, err);
	if (rc == 0)
		rc = mariadb_client_query(k->conn, "COMMIT", err);
	k->last_errno = mysql_errno(k->conn);
	if (rc == -EINVAL && mariadb_client_query(k->conn, "ROLLBACK", NULL) < 0)
		rc = -EIO;
	return rc;
}

/* --- delivery ---------------------------------------------------------------------------- */

static size_t parse_all(struct sink *k, const struct sink_item *item, size_t n,
			enum sink_result *result, struct errmsg *err)
{
	size_t good = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		k->record[i] = NULL;
		if (record_from_json(item[i].json, item[i].json_len, &k->record[i], err) == 0) {
			result[i] = SINK_RETRY;
			good++;
		} else {
			result[i] = SINK_REFUSED;
		}
	}
	return good;
}

static int store_one_by_one(struct sink *k, const struct sink_item *item, size_t first,
			    size_t n, enum sink_result *result, uint64_t deadline_ns,
			    struct errmsg *err)
{
	size_t i;

	for (i = first; i < first + n; i++) {
		struct errmsg why = { 0 };
		int rc;

		if (!k->record[i])
			continue;
		rc = store(k, item, i, 1, deadline_ns, &why);
		if (rc < 0)
			*err = why;
		if (rc < 0 && rc != -EINVAL)
			return rc;
		result[i] = rc < 0 ? SINK_REFUSED : SINK_ACKED;
	}
	return 0;
}

/* Items [first, first + n); the results of what could not be stored are left as they are. */
static int store_slice(struct sink *k, const struct sink_item *item, size_t first, size_t n,
		       enum sink_result *result, uint64_t timeout_ns, uint64_t deadline_ns,
		       struct errmsg *err)
{
	bool is_old = k->conn;
	int rc = is_old ? 0 : connect_db(k, timeout_ns, err);
	size_t i;

	if (rc == 0)
		rc = store(k, item, first, n, deadline_ns, err);
	if (rc == -EIO && is_old && is_gone(k) && clock_mono_ns() < deadline_ns) {
		/* The server closes what idles (wait_timeout): no outage yet. */
		disconnect(k);
		rc = connect_db(k, timeout_ns, err);
		if (rc == 0)
			rc = store(k, item, first, n, deadline_ns, err);
	}
	if (rc == -EINVAL)
		return store_one_by_one(k, item, first, n, result, deadline_ns, err);
	for (i = first; rc == 0 && i < first + n; i++)
		if (k->record[i])
			result[i] = SINK_ACKED;
	return rc;
}

static int store_batch(struct sink *k, const struct sink_item *item, size_t n,
		       enum sink_result *result, uint64_t timeout_ns, struct errmsg *err)
{
	uint64_t start_ns = clock_mono_ns();
	size_t first = 0;
	int rc = 0;

	while (rc == 0 && first < n) {
		size_t slice = n - first < k->slice ? n - first : k->slice;
		uint64_t t = clock_mono_ns();

		if (t - start_ns >= timeout_ns)
			return errmsg_set(err, -EIO, "the server takes too long");
		rc = store_slice(k, item, first, slice, result, timeout_ns,
				 start_ns + timeout_ns, err);
		t = clock_mono_ns() - t;
		if (rc < 0 || t > timeout_ns / 2)
			k->slice = k->slice / 2 > SLICE_MIN ? k->slice / 2 : SLICE_MIN;
		else if (t < timeout_ns / 8)
			k->slice = k->slice * 2 < MAX_BATCH ? k->slice * 2 : MAX_BATCH;
		first += slice;
	}
	return rc;
}

static int mariadb_deliver(struct sink *k, const struct sink_item *item, size_t n,
			   enum sink_result *result, uint64_t timeout_ns, struct errmsg *err)
{
	size_t i;
	int rc = 0;

	if (n > MAX_BATCH)
		return errmsg_set(err, -EINVAL, "more than %d records", MAX_BATCH);
	if (parse_all(k, item, n, result, err) > 0) {
		rc = store_batch(k, item, n, result, timeout_ns, err);
		if (rc < 0)
			disconnect(k); /* the next try starts afresh */
	}
	for (i = 0; i < n; i++) {
		record_destroy(k->record[i]);
		k->record[i] = NULL;
	}
	return rc < 0 ? -EAGAIN : 0;
}

const struct sink_ops sink_mariadb = {
	.name = "mariadb",
	.kinds = SPOOL_MASK(SPOOL_RECORD),
	.max_batch = MAX_BATCH,
	.open = mariadb_open,
	.deliver = mariadb_deliver,
	.close = mariadb_close,
};
