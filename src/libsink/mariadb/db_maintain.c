/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libsink/mariadb/db_maintain.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include <mysqld_error.h>

#include "src/libsink/mariadb/db_partition.h"
#include "src/libutil/clock.h"
#include "src/libutil/util.h"

/* Summing up a month of millions of jobs may take long. */
#define STATEMENT_TIMEOUT_NS (3600 * NSEC_PER_SEC)
/* Waits for locks are short and repeated, because other sessions queue up behind a session that waits. */
#define LOCK_SECONDS "3"
#define LOCK_TRIES 20
#define LOCK_NAP_NS 200000000
#define OPEN_SECONDS (2 * 86400)

struct db_maintain_run {
	MYSQL *m;
	const struct db_options *options;
	uint64_t now;	/* Unix seconds */
	uint64_t limit; /* Unix seconds: jobs that ended earlier may be dropped */
	uint64_t first; /* the lowest month whose sums go with the next partition, such as 202611 */
};

#define report(r, ...) db_report((r)->options->report, (r)->options->ctx, __VA_ARGS__)

/* Runs one statement. RET, if not NULL, gets the number that it returns. */
static int maintain_sql(struct db_maintain_run *r, uint64_t *ret, struct errmsg *err, const char *fmt, ...)
	_printf_(4, 5);
static int maintain_sql(struct db_maintain_run *r, uint64_t *ret, struct errmsg *err, const char *fmt, ...)
{
	char sql[1024];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(sql, sizeof(sql), fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(sql))
		return errmsg_set(err, -EINVAL, "statement too long");
	return ret ? mariadb_client_number(r->m, sql, ret, err) : mariadb_client_query(r->m, sql, err);
}

/*
 * Calls TRY again while other sessions hold the locks that it needs. After a failure, TRY must be repeatable.
 */
static int maintain_retry(struct db_maintain_run *r,
			  int (*try)(struct db_maintain_run *, uint64_t, struct errmsg *), uint64_t arg,
			  struct errmsg *err)
{
	unsigned int code;
	int tries;
	int rc;

	for (tries = LOCK_TRIES; tries; tries--) {
		rc = try(r, arg, err);
		if (rc == 0)
			return 0;
		code = mysql_errno(r->m);
		(void)mariadb_client_query(r->m, "ROLLBACK", NULL);
		(void)mariadb_client_query(r->m, "UNLOCK TABLES", NULL);
		if (code != ER_LOCK_WAIT_TIMEOUT && code != ER_LOCK_DEADLOCK)
			return rc;
		(void)nanosleep(&(struct timespec){ .tv_nsec = LOCK_NAP_NS }, NULL);
	}
	return errmsg_set(err, -EBUSY, "the tables were locked for too long: try again later");
}

static int maintain_add_months(struct db_maintain_run *r, uint64_t is_step, struct errmsg *err)
{
	const char *table = is_step ? "step" : "job";
	size_t added = 0;
	int rc = db_partition_ensure(r->m, table, r->now, r->options->dry_run, &added, err);

	if (rc == 0 && added)
		report(r, "%s: %s %zu partitions", table, r->options->dry_run ? "would get" : "got", added);
	return rc;
}

/* --- days: sums of the jobs in table job ------------------------------------------------------ */

/*
 * Sums up a day in usage_day. SELECT ... FOR UPDATE waits for sinks that are writing jobs of that day, and
 * makes later ones wait, so that no job is missing in the sums.
 */
static int maintain_close_day(struct db_maintain_run *r, uint64_t day, struct errmsg *err)
{
	int rc = maintain_sql(r, NULL, err, "START TRANSACTION");

	if (rc == 0)
		rc = maintain_sql(r, NULL, err,
				  "SELECT submit_day FROM usage_open WHERE submit_day = "
				  "FROM_DAYS(%" PRIu64 ") FOR UPDATE",
				  day);
	if (rc == 0)
		rc = maintain_sql(r, NULL, err,
				  "DELETE FROM usage_day WHERE archived_id = 0 AND "
				  "submit_day = FROM_DAYS(%" PRIu64 ")",
				  day);
	if (rc == 0)
		rc = maintain_sql(r, NULL, err,
				  "INSERT INTO usage_day SELECT NULL, 0, u.* FROM "
				  "usage_of_open AS u WHERE submit_day = FROM_DAYS(%" PRIu64 ")",
				  day);
	if (rc == 0)
		rc = maintain_sql(r, NULL, err,
				  "DELETE FROM usage_open WHERE "
				  "submit_day = FROM_DAYS(%" PRIu64 ")",
				  day);
	return rc == 0 ? maintain_sql(r, NULL, err, "COMMIT") : rc;
}

/*
 * Sums up the open days that are more than two days ago. Most records belong to later days, and the sink
 * would have to wait. Each day is summed up once per run, because a sink that catches up may reopen days as
 * fast as they are summed up.
 */
static int maintain_close_days(struct db_maintain_run *r, struct errmsg *err)
{
	uint64_t days = 0;
	uint64_t day = 0;
	int rc;

	for (;; days++) {
		rc = maintain_sql(r, &day, err,
				  "SELECT COALESCE(MIN(TO_DAYS(submit_day)), 0) FROM usage_open WHERE "
				  "TO_DAYS(submit_day) > %" PRIu64
				  " AND submit_day < DATE(FROM_UNIXTIME(%" PRIu64 "))",
				  day, r->now > OPEN_SECONDS ? r->now - OPEN_SECONDS : 0);
		if (rc < 0 || !day || r->options->dry_run)
			break;
		rc = maintain_retry(r, maintain_close_day, day, err);
		if (rc < 0)
			break;
	}
	if (rc == 0 && day)
		report(r, "days would be summed up");
	else if (days)
		report(r, "summed up %" PRIu64 " days", days);
	return rc;
}

/* --- months: partitions that go, with their days' sums kept ---------------------------------- */

#define OF_MONTH "EXTRACT(YEAR_MONTH FROM submit_day) BETWEEN %" PRIu64 " AND %" PRIu64

/*
 * Counts the jobs of a month that ended too recently for the month to be dropped. The conditions select few
 * rows by the index job_end. Reading all rows would take minutes, while the tables are locked.
 */
static int maintain_count_recent(struct db_maintain_run *r, uint64_t month, uint64_t *ret, struct errmsg *err)
{
	int rc = maintain_sql(r, ret, err,
			      "SELECT COUNT(*) FROM job PARTITION (p%" PRIu64 ") WHERE end_time >= "
			      "FROM_UNIXTIME(%" PRIu64 ") OR (end_time IS NULL AND submit_time >= "
			      "FROM_UNIXTIME(%" PRIu64 "))",
			      month, r->limit, r->limit);

	if (rc == 0 && *ret)
		report(r, "p%" PRIu64 ": stays, %" PRIu64 " of its jobs ended later", month, *ret);
	return rc;
}

/* Drops a month in the four steps of db_maintain.h. The process may be killed after each of them. */
static int maintain_drop_month(struct db_maintain_run *r, uint64_t month, struct errmsg *err)
{
	uint64_t of_step = 0;
	uint64_t recent = 0;
	uint64_t open = 0;
	uint64_t jobs = 0;
	int rc = maintain_sql(r, NULL, err,
			      "LOCK TABLES job WRITE, step WRITE, usage_open WRITE, "
			      "usage_day WRITE, archived WRITE");

	if (rc == 0)
		rc = maintain_count_recent(r, month, &recent, err);
	if (rc == 0)
		rc = maintain_sql(r, &open, err, "SELECT COUNT(*) FROM usage_open WHERE " OF_MONTH, r->first,
				  month);
	if (rc == 0 && open)
		report(r, "p%" PRIu64 ": stays, records came just now", month);
	if (rc == 0 && (recent || open)) {
		r->first = month + 1;
		return maintain_sql(r, NULL, err, "UNLOCK TABLES");
	}
	if (rc == 0)
		rc = maintain_sql(r, &jobs, err,
				  "SELECT COALESCE(SUM(jobs), 0) FROM usage_day WHERE "
				  "archived_id = 0 AND " OF_MONTH,
				  r->first, month);
	if (rc == 0)
		rc = maintain_sql(r, NULL, err,
				  "INSERT INTO archived (partition_of, state, jobs) VALUES "
				  "('p%" PRIu64 "', 'leaving', %" PRIu64 ")",
				  month, jobs);
	if (rc == 0)
		rc = maintain_sql(r, NULL, err,
				  "UPDATE usage_day SET archived_id = LAST_INSERT_ID() "
				  "WHERE archived_id = 0 AND " OF_MONTH,
				  r->first, month);
	if (rc < 0)
		return rc;
	report(r, "p%" PRIu64 ": the sums of %" PRIu64 " jobs are kept", month, jobs);
	/* a run that was killed may have dropped it */
	rc = maintain_sql(r, &of_step, err,
			  "SELECT COUNT(*) FROM " DB_PARTITION_MONTHS("step") " WHERE month = %" PRIu64,
			  month);
	if (rc == 0 && of_step)
		rc = maintain_sql(r, NULL, err, "ALTER TABLE step DROP PARTITION p%" PRIu64, month);
	if (rc < 0)
		return rc;
	report(r, "p%" PRIu64 ": dropped of step", month);
	rc = maintain_sql(r, NULL, err, "ALTER TABLE job DROP PARTITION p%" PRIu64, month);
	if (rc < 0)
		return rc;
	report(r, "p%" PRIu64 ": dropped", month);
	rc = maintain_sql(r, NULL, err, "UPDATE archived SET state = 'gone' WHERE state = 'leaving'");
	return rc == 0 ? maintain_sql(r, NULL, err, "UNLOCK TABLES") : rc;
}

/*
 * Finishes the work of a run that was killed. A month whose partition of job is gone is marked as `gone`. A
 * month that still has the partition loses its marks; this run then drops it from the first step on.
 */
static int maintain_recover(struct db_maintain_run *r, struct errmsg *err)
{
	static const char *const sql[] = {
		("UPDATE archived SET state = 'gone' WHERE state = 'leaving' AND SUBSTR(partition_of, 2) "
		 "NOT IN (SELECT month FROM " DB_PARTITION_MONTHS("job") ")"),
		("UPDATE usage_day SET archived_id = 0 WHERE archived_id IN (SELECT id FROM archived "
		 "WHERE state = 'leaving')"),
		"DELETE FROM archived WHERE state = 'leaving'",
	};
	uint64_t n = 0;
	size_t i;
	int rc = maintain_sql(r, &n, err, "SELECT COUNT(*) FROM archived WHERE state = 'leaving'");

	if (rc < 0 || !n)
		return rc;
	report(r, "goes on where it stopped");
	for (i = 0; rc == 0 && i < ARRAY_SIZE(sql) && !r->options->dry_run; i++)
		rc = maintain_sql(r, NULL, err, "%s", sql[i]);
	return rc;
}

static int maintain_drop_months(struct db_maintain_run *r, struct errmsg *err)
{
	uint64_t recent = 0;
	uint64_t month = 0;
	uint64_t jobs = 0;
	int rc = 0;

	while (rc == 0) {
		rc = maintain_sql(r, &month, err,
				  "SELECT COALESCE(MIN(month), 0) FROM " DB_PARTITION_MONTHS(
					  "job") " WHERE month > %" PRIu64
						 " AND month < EXTRACT(YEAR_MONTH FROM "
						 "FROM_UNIXTIME(%" PRIu64 "))",
				  month, r->limit);
		if (rc < 0 || !month)
			break;
		rc = maintain_count_recent(r, month, &recent, err);
		if (rc < 0)
			break;
		if (recent) {
			r->first = month + 1;
		} else if (!r->options->dry_run) {
			rc = maintain_retry(r, maintain_drop_month, month, err);
		} else {
			rc = maintain_sql(r, &jobs, err, "SELECT COUNT(*) FROM job PARTITION (p%" PRIu64 ")",
					  month);
			report(r, "p%" PRIu64 ": would sum up %" PRIu64 " jobs and drop", month, jobs);
		}
	}
	return rc;
}

static int maintain_open(struct db_maintain_run *r, const struct settings *s, struct errmsg *err)
{
	uint64_t version = 0;
	int rc = mariadb_client_open(r->options->defaults_file ? r->options->defaults_file :
								 s->mariadb_defaults_file,
				     s->mariadb_database, STATEMENT_TIMEOUT_NS, 0, 0, &r->m, err);

	if (rc == 0)
		rc = mariadb_client_schema(r->m, &version, err);
	if (rc == 0 && version < MARIADB_SCHEMA)
		rc = errmsg_set(err, -ENOENT, "the schema is too old: ceems db migrate");
	/* the tables of a later version may have to be summed up in another way */
	if (rc == 0 && version > MARIADB_SCHEMA)
		rc = errmsg_set(err, -EPROTO,
				"database %s has schema %" PRIu64 " of a later version, this "
				"one knows %d: it moves and deletes nothing; run that version's ceems",
				s->mariadb_database, version, MARIADB_SCHEMA);
	if (rc == 0)
		rc = mariadb_client_lock_schema(r->m, err);
	if (rc == 0)
		rc = maintain_sql(r, NULL, err,
				  "SET SESSION lock_wait_timeout = " LOCK_SECONDS
				  ", innodb_lock_wait_timeout = " LOCK_SECONDS);
	return rc;
}

int db_maintain_run(const struct settings *s, const struct db_options *options, struct errmsg *err)
{
	struct db_maintain_run r = { .options = options,
				     .now = options->now ? options->now : clock_wall_ns() / NSEC_PER_SEC };
	uint64_t retention = options->retention_ns / NSEC_PER_SEC;
	int rc = maintain_open(&r, s, err);

	r.limit = r.now > retention ? r.now - retention : 0;
	if (rc == 0)
		rc = maintain_retry(&r, maintain_add_months, /* is_step= */ 0, err);
	if (rc == 0)
		rc = maintain_retry(&r, maintain_add_months, /* is_step= */ 1, err);
	if (rc == 0)
		rc = maintain_recover(&r, err);
	if (rc == 0)
		rc = maintain_close_days(&r, err);
	if (rc == 0 && retention)
		rc = maintain_drop_months(&r, err);
	mariadb_client_close(r.m);
	return rc;
}
