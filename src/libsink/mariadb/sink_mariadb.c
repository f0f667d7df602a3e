/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sink_mariadb.c - stores records as rows of the tables job and step, in MariaDB or MySQL. A transaction
 * has many records; its statements insert or update many rows at once. A repeated record writes the same
 * values into the same rows.
 *
 * If the server rejects a row, the transaction is rolled back, each of its records is sent alone, and the
 * faulty ones are refused. For a slow server, transactions get fewer records, down to one; otherwise the same
 * transaction could time out again and again. One record may have 2,000 rows of steps. While the server
 * stores records, the next ones are parsed.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include <errmsg.h>
#include <mysql.h>
#include <mysqld_error.h>

#include "src/librecord/record.h"
#include "src/libsink/mariadb/db_check.h"
#include "src/libsink/mariadb/db_maintain.h"
#include "src/libsink/mariadb/mariadb_client.h"
#include "src/libsink/mariadb/mariadb_upsert.h"
#include "src/libsink/mariadb/mariadb_walk.h"
#include "src/libsink/mariadb/migrate.h"
#include "src/libsink/mariadb/mysql_upsert.h"
#include "src/libsink/sink.h"
#include "src/libsink/sqlrow.h"
#include "src/libutil/clock.h"
#include "src/libutil/util.h"

#define MARIADB_BATCH 500
#define CHUNK 64 /* records whose rows are sent together */
#define DEADLOCK_TRIES 5

struct sink {
	char defaults_file[SETTINGS_PATH_MAX];
	char database[65];
	MYSQL *conn;			 /* NULL: not connected */
	bool has_arrays;		 /* the server is MariaDB, not MySQL */
	struct mariadb_upsert upsert[2]; /* by enum sqlrow_table */
	struct sqlrow rows[2];
	uint64_t statement_max;	 /* most bytes of rows in a statement, from the server's max_allowed_packet */
	size_t slice;		 /* records per transaction; adapted to the speed of the server */
	unsigned int last_errno; /* the server's error number for the last transaction; 0: it succeeded */
	uint32_t day[MARIADB_BATCH]; /* days of submission that this transaction has opened */
	size_t ndays;
	/* the items of this call of mariadb_deliver() */
	struct sink_item *item;
	enum sink_result *result;
	size_t n;
	size_t nparsed;
	struct entry {
		struct record *record;	      /* NULL: not parsed yet, or refused; rows borrow from it */
		char job_key[RECORD_KEY_MAX]; /* only for STORE_STEPS: key of the job */
	} * entry;
};

static void disconnect(struct sink *k)
{
	mariadb_upsert_reset(&k->upsert[SQLROW_JOB]);
	mariadb_upsert_reset(&k->upsert[SQLROW_STEP]);
	mariadb_client_close(k->conn);
	k->conn = NULL;
}

static void mariadb_close(struct sink *k)
{
	if (!k)
		return;
	disconnect(k);
	mariadb_upsert_fini(&k->upsert[SQLROW_JOB]);
	mariadb_upsert_fini(&k->upsert[SQLROW_STEP]);
	sqlrow_fini(&k->rows[SQLROW_JOB]);
	sqlrow_fini(&k->rows[SQLROW_STEP]);
	free(k->entry);
	free(k);
}

static int mariadb_open(const struct settings *s, struct sink **ret, struct errmsg *err)
{
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
	k->slice = MARIADB_BATCH / 4;
	k->entry = calloc(MARIADB_BATCH, sizeof(*k->entry));
	if (!k->entry || mariadb_upsert_init(&k->upsert[SQLROW_JOB], SQLROW_JOB) < 0 ||
	    mariadb_upsert_init(&k->upsert[SQLROW_STEP], SQLROW_STEP) < 0) {
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
		return errmsg_set(err, -ENOENT,
				  "database %s has schema %" PRIu64 ", %d is needed; "
				  "run `ceems db migrate`",
				  k->database, version, MARIADB_SCHEMA);
	return 0;
}

static int connect_db(struct sink *k, uint64_t timeout_ns, struct errmsg *err)
{
	uint64_t packet = 0;
	int rc;

	rc = mariadb_client_open(k->defaults_file, k->database, timeout_ns, MARIADB_CLIENT_ASYNC, 0, &k->conn,
				 err);
	if (rc == 0)
		rc = check_schema(k, err);
	if (rc == 0)
		rc = mariadb_client_number(k->conn, "SELECT @@max_allowed_packet", &packet, err);
	if (rc < 0)
		disconnect(k);
	else
		k->statement_max = packet - packet / 8; /* an eighth is left for lengths and headers */
	k->has_arrays = rc == 0 && mariadb_client_is_mariadb(k->conn);
	return rc;
}

/* --- the batch --------------------------------------------------------------------------- */

static void parse_next(struct sink *k)
{
	size_t i = k->nparsed++;
	struct sink_item *item = &k->item[i];
	struct entry *e = &k->entry[i];
	struct errmsg why = { 0 };
	int rc;

	if (item->kind == STORE_STEPS)
		rc = record_from_steps_json(item->json, item->json_len, &e->record, e->job_key, &why);
	else
		rc = record_from_json(item->json, item->json_len, &e->record, &why);
	if (rc < 0) {
		e->record = NULL;
		sink_refuse(item, &k->result[i], why.text);
	}
}

static void parse_until(struct sink *k, size_t n)
{
	while (k->nparsed < n)
		parse_next(k);
}

static void batch_begin(struct sink *k, struct sink_item *item, size_t n, enum sink_result *result)
{
	size_t i;

	k->item = item;
	k->n = n;
	k->result = result;
	k->nparsed = 0;
	for (i = 0; i < n; i++)
		result[i] = SINK_RETRY;
}

static void batch_end(struct sink *k)
{
	size_t i;

	for (i = 0; i < k->nparsed; i++) {
		record_destroy(k->entry[i].record);
		k->entry[i].record = NULL;
	}
}

/* --- while the server works -------------------------------------------------------------- */

/*
 * Waits until the server is ready for the next call of libmariadb. STATUS and the result are MYSQL_WAIT_*.
 * Meanwhile the next records of the batch are parsed, which takes about as long as storing them.
 */
static int wait_for_server(struct sink *k, int status)
{
	struct pollfd p = { .fd = mysql_get_socket(k->conn) };
	uint64_t deadline_ns = UINT64_MAX;
	int ready = 0;
	int rc;

	p.events = (short)((status & MYSQL_WAIT_READ ? POLLIN : 0) |
			   (status & MYSQL_WAIT_WRITE ? POLLOUT : 0) |
			   (status & MYSQL_WAIT_EXCEPT ? POLLPRI : 0));
	if (status & MYSQL_WAIT_TIMEOUT)
		deadline_ns = clock_mono_ns() + mysql_get_timeout_value_ms(k->conn) * NSEC_PER_MSEC;
	for (;;) {
		uint64_t now_ns = clock_mono_ns();
		int ms = 0;

		if (k->nparsed < k->n)
			parse_next(k);
		else
			ms = deadline_ns <= now_ns ? 0 :
			     deadline_ns - now_ns > 1000 * NSEC_PER_MSEC ?
						     1000 :
						     (int)((deadline_ns - now_ns) / NSEC_PER_MSEC) + 1;
		rc = poll(&p, 1, ms);
		if (rc > 0)
			break;
		if (clock_mono_ns() >= deadline_ns)
			return MYSQL_WAIT_TIMEOUT;
	}
	if (p.revents & (POLLIN | POLLERR | POLLHUP | POLLNVAL))
		ready |= status & MYSQL_WAIT_READ;
	if (p.revents & (POLLOUT | POLLERR | POLLHUP | POLLNVAL))
		ready |= status & MYSQL_WAIT_WRITE;
	if (p.revents & POLLPRI)
		ready |= MYSQL_WAIT_EXCEPT;
	return ready ? ready : status & (MYSQL_WAIT_READ | MYSQL_WAIT_WRITE);
}

static int execute(struct sink *k, MYSQL_STMT *stmt)
{
	int failed = 0;
	int status = mysql_stmt_execute_start(&failed, stmt);

	while (status)
		status = mysql_stmt_execute_cont(&failed, stmt, wait_for_server(k, status));
	return failed;
}

static int query_text(struct sink *k, const char *sql, size_t len, struct errmsg *err)
{
	int failed = 0;
	int status = mysql_real_query_start(&failed, k->conn, sql, len);

	while (status)
		status = mysql_real_query_cont(&failed, k->conn, wait_for_server(k, status));
	if (failed)
		return errmsg_set(err, -EIO, "server says: %s (%u)", mysql_error(k->conn),
				  mysql_errno(k->conn));
	return 0;
}

static int query(struct sink *k, const char *sql, struct errmsg *err)
{
	return query_text(k, sql, strlen(sql), err);
}

/* --- one transaction --------------------------------------------------------------------- */

/*
 * Returns true if the error is about a value in a row: SQLSTATE class 22 (data exception) or 23 (constraint),
 * or one of those that MariaDB reports with the general state. After other errors (server, schema,
 * permissions), records wait until somebody corrects the cause.
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

/* Returns true if the connection was lost, perhaps because it was idle. */
static bool is_gone(const struct sink *k)
{
	return k->last_errno == CR_SERVER_GONE_ERROR || k->last_errno == CR_SERVER_LOST;
}

/*
 * Returns the server's error CODE: -EINVAL if a row is wrong, -EDEADLK if the transaction can be repeated,
 * else -EIO.
 */
static int rows_error(unsigned int code, const char *sqlstate, const char *text, struct errmsg *err)
{
	int rc = -EIO;

	if (is_about_row(code, sqlstate))
		rc = -EINVAL;
	else if (code == ER_LOCK_DEADLOCK || code == ER_CHECKREAD)
		rc = -EDEADLK;
	return errmsg_set(err, rc, "%s (%u)", text, code);
}

static uint64_t row_bytes(const struct sqlrow_cell *cell, size_t n)
{
	uint64_t sum = 0;

	for (; n--; cell++)
		if (!cell->is_null)
			sum += cell->len + 10; /* its length takes at most 9 bytes, its indicator 1 byte */
	return sum;
}

/*
 * Stores rows of one table from FIRST on, as many as fit into a statement, by arrays of parameters. *RET_N
 * is their number.
 */
static int run_array(struct sink *k, enum sqlrow_table t, size_t first, size_t *ret_n, struct errmsg *err)
{
	size_t ncols = sqlrow_ncols(t);
	uint64_t bytes = 0;
	MYSQL_STMT *stmt;
	size_t n = 0;
	int rc;

	while (n < UPSERT_ROWS_MAX && first + n < k->rows[t].nrows) {
		bytes += row_bytes(k->rows[t].cell + (first + n) * ncols, ncols);
		if (bytes > k->statement_max)
			break;
		n++;
	}
	if (!n)
		return errmsg_set(err, -EINVAL,
				  "row of %" PRIu64 " bytes is over the server's max_allowed_packet", bytes);
	rc = mariadb_upsert_bind(&k->upsert[t], k->conn, &k->rows[t], first, n, &stmt, err);
	if (rc == 0 && execute(k, stmt))
		rc = rows_error(mysql_stmt_errno(stmt), mysql_stmt_sqlstate(stmt), mysql_stmt_error(stmt),
				err);
	*ret_n = n;
	return rc;
}

/* As run_array(), by a text with the values. */
static int run_text(struct sink *k, enum sqlrow_table t, size_t first, size_t *ret_n, struct errmsg *err)
{
	_cleanup_free_ char *sql = NULL;
	size_t len = 0;
	int rc = mysql_upsert(t, &k->rows[t], first, k->statement_max, &sql, &len, ret_n, err);

	if (rc == 0 && query_text(k, sql, len, NULL) < 0)
		rc = rows_error(mysql_errno(k->conn), mysql_sqlstate(k->conn), mysql_error(k->conn), err);
	return rc;
}

/* Stores all rows of one table, in as many statements as needed. */
static int run_rows(struct sink *k, enum sqlrow_table t, uint64_t deadline_ns, struct errmsg *err)
{
	size_t first = 0;
	size_t n = 0;
	int rc = 0;

	for (; rc == 0 && first < k->rows[t].nrows; first += n) {
		if (clock_mono_ns() > deadline_ns)
			return errmsg_set(err, -EIO, "the server takes too long");
		rc = k->has_arrays ? run_array(k, t, first, &n, err) : run_text(k, t, first, &n, err);
	}
	return rc;
}

/* Makes the rows of those items [first, first + n) whose records could be parsed. */
static int make_rows(struct sink *k, size_t first, size_t n)
{
	size_t i;
	int rc = 0;

	parse_until(k, first + n);
	sqlrow_clear(&k->rows[SQLROW_JOB]);
	sqlrow_clear(&k->rows[SQLROW_STEP]);
	for (i = first; rc == 0 && i < first + n; i++) {
		const struct sink_item *item = &k->item[i];
		const struct entry *e = &k->entry[i];

		if (!e->record)
			continue;
		if (item->kind == STORE_STEPS) {
			rc = sqlrow_add_steps(&k->rows[SQLROW_STEP], e->job_key, strlen(e->job_key),
					      e->record);
			continue;
		}
		rc = sqlrow_add_job(&k->rows[SQLROW_JOB], item->key, item->key_len, item->json,
				    item->json_len, e->record);
		if (rc == 0)
			rc = sqlrow_add_steps(&k->rows[SQLROW_STEP], item->key, item->key_len, e->record);
	}
	return rc;
}

/* Notes the day, and returns false if this transaction has opened it already. */
static bool is_new_day(struct sink *k, uint32_t day)
{
	size_t i;

	for (i = 0; i < k->ndays; i++)
		if (k->day[i] == day)
			return false;
	k->day[k->ndays++] = day;
	return true;
}

/*
 * Opens the days on which the jobs were submitted: their sums in usage_day become invalid. This is done
 * before a row is written, so that `ceems db maintain` never sums up a day while we write to it. IGNORE,
 * because most days are open already.
 */
static int open_days(struct sink *k, size_t first, size_t n, struct errmsg *err)
{
	char sql[64 + CHUNK * 24] = "INSERT IGNORE INTO usage_open VALUES ";
	size_t empty = strlen(sql);
	size_t len = empty;
	size_t i;

	for (i = first; i < first + n; i++) {
		uint32_t day;

		if (!k->entry[i].record || k->item[i].kind != STORE_RECORD)
			continue;
		day = sqlrow_submit_day(k->entry[i].record);
		if (is_new_day(k, day))
			len += (size_t)snprintf(sql + len, sizeof(sql) - len, "%s(FROM_DAYS(%" PRIu32 "))",
						len > empty ? "," : "", day);
	}
	return len > empty ? query(k, sql, err) : 0;
}

/* Stores the items [first, first + n) in one transaction. Errors as stmt_error(); then none is stored. */
static int store(struct sink *k, size_t first, size_t n, uint64_t deadline_ns, struct errmsg *err)
{
	size_t end = first + n;
	int rc = query(k, "START TRANSACTION", err);

	k->ndays = 0;

	for (; rc == 0 && first < end; first += n) {
		n = end - first < CHUNK ? end - first : CHUNK;
		if (make_rows(k, first, n) < 0)
			rc = errmsg_set(err, -EIO, "cannot make rows: out of memory");
		if (rc == 0)
			rc = open_days(k, first, n, err);
		if (rc == 0)
			rc = run_rows(k, SQLROW_JOB, deadline_ns, err);
		if (rc == 0)
			rc = run_rows(k, SQLROW_STEP, deadline_ns, err);
	}
	if (rc == 0)
		rc = query(k, "COMMIT", err);
	k->last_errno = mysql_errno(k->conn);
	if ((rc == -EINVAL || rc == -EDEADLK) && query(k, "ROLLBACK", NULL) < 0)
		rc = -EIO;
	return rc;
}

/* Stores as store(), and again if the server ended the transaction to resolve a deadlock. */
static int store_patiently(struct sink *k, size_t first, size_t n, uint64_t deadline_ns, struct errmsg *err)
{
	int tries = DEADLOCK_TRIES;
	int rc;

	do
		rc = store(k, first, n, deadline_ns, err);
	while (rc == -EDEADLK && --tries && clock_mono_ns() < deadline_ns);
	return rc;
}

/* --- delivery ---------------------------------------------------------------------------- */

static int store_one_by_one(struct sink *k, size_t first, size_t n, uint64_t deadline_ns, struct errmsg *err)
{
	size_t i;

	parse_until(k, first + n);
	for (i = first; i < first + n; i++) {
		struct errmsg why = { 0 };
		int rc;

		if (!k->entry[i].record)
			continue;
		rc = store_patiently(k, i, 1, deadline_ns, &why);
		if (rc == -EINVAL) {
			sink_refuse(&k->item[i], &k->result[i], why.text);
			continue;
		}
		if (rc < 0) {
			*err = why;
			return rc;
		}
		k->result[i] = SINK_ACKED;
	}
	return 0;
}

/*
 * Stores the items [first, first + n) and sets their results; an item that was not stored stays SINK_RETRY.
 */
static int store_slice(struct sink *k, size_t first, size_t n, uint64_t timeout_ns, uint64_t deadline_ns,
		       struct errmsg *err)
{
	bool is_old = k->conn;
	int rc = is_old ? 0 : connect_db(k, timeout_ns, err);
	size_t i;

	if (rc == 0)
		rc = store_patiently(k, first, n, deadline_ns, err);
	if (rc == -EIO && is_old && is_gone(k) && clock_mono_ns() < deadline_ns) {
		/* The server closes idle connections (wait_timeout), so connect again once. */
		disconnect(k);
		rc = connect_db(k, timeout_ns, err);
		if (rc == 0)
			rc = store_patiently(k, first, n, deadline_ns, err);
	}
	if (rc == -EINVAL)
		return store_one_by_one(k, first, n, deadline_ns, err);
	for (i = first; rc == 0 && i < first + n; i++)
		if (k->entry[i].record)
			k->result[i] = SINK_ACKED;
	return rc;
}

static int store_batch(struct sink *k, uint64_t timeout_ns, struct errmsg *err)
{
	uint64_t start_ns = clock_mono_ns();
	size_t first = 0;
	int rc = 0;

	while (rc == 0 && first < k->n) {
		size_t slice = k->n - first < k->slice ? k->n - first : k->slice;
		uint64_t t = clock_mono_ns();

		if (t - start_ns >= timeout_ns)
			return errmsg_set(err, -EIO, "the server takes too long");
		rc = store_slice(k, first, slice, timeout_ns, start_ns + timeout_ns, err);
		t = clock_mono_ns() - t;
		if (rc < 0 || t > timeout_ns / 2)
			k->slice = k->slice > 1 ? k->slice / 2 : 1;
		else if (t < timeout_ns / 8)
			k->slice = k->slice * 2 < MARIADB_BATCH ? k->slice * 2 : MARIADB_BATCH;
		first += slice;
	}
	return rc;
}

static int mariadb_deliver(struct sink *k, struct sink_item *item, size_t n, enum sink_result *result,
			   uint64_t timeout_ns, struct errmsg *err)
{
	struct errmsg why = { 0 };
	int rc;

	if (n > MARIADB_BATCH)
		return errmsg_set(err, -EINVAL, "more than %d records", MARIADB_BATCH);
	batch_begin(k, item, n, result);
	rc = store_batch(k, timeout_ns, &why);
	if (rc < 0)
		disconnect(k); /* the next try connects again */
	if (err && rc < 0)
		*err = why;
	batch_end(k);
	return rc < 0 ? -EAGAIN : 0;
}

static const struct sink_db db = { .migrate = migrate_run,
				   .maintain = db_maintain_run,
				   .status = db_status,
				   .walk = mariadb_walk,
				   .gone = mariadb_gone,
				   .file = SINK_SETTING("MariadbDefaultsFile", mariadb_defaults_file) };

const struct sink_ops sink_mariadb = {
	.name = "mariadb",
	.kinds = STORE_MASK(STORE_RECORD) | STORE_MASK(STORE_STEPS),
	.max_batch = MARIADB_BATCH,
	.open = mariadb_open,
	.deliver = mariadb_deliver,
	.close = mariadb_close,
	.secret = SINK_SETTING("MariadbDefaultsFile", mariadb_defaults_file),
	.check = db_check,
	.db = &db,
};
