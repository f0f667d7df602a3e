/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libsink/db_maintain.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <mysqld_error.h>

#include "src/libsink/db_partition.h"
#include "src/libsink/db_report.h"
#include "src/libsink/mariadb_client.h"
#include "src/libutil/clock.h"
#include "src/libutil/util.h"

/* Summing up a month of millions of jobs takes its time. */
#define STATEMENT_TIMEOUT_NS (3600 * NSEC_PER_SEC)
/* Whoever comes while a lock is waited for waits too, so it is not for long; and then again. */
#define LOCK_SECONDS "3"
#define LOCK_TRIES 20
#define LOCK_NAP_NS 200000000
#define OPEN_SECONDS (2 * 86400)

struct run {
	MYSQL *m;
	const struct db_maintain_options *options;
	uint64_t limit; /* Unix seconds: what is older goes */
};

#define report(r, ...) db_report((r)->options->report, (r)->options->ctx, __VA_ARGS__)

static bool is_lock_error(MYSQL *m)
{
	return mysql_errno(m) == ER_LOCK_WAIT_TIMEOUT || mysql_errno(m) == ER_LOCK_DEADLOCK;
}

/* SQL that needs a lock on a table which others use. */
static int patiently(struct run *r, const char *sql, struct errmsg *err)
{
	int tries = LOCK_TRIES;
	int rc;

	for (;;) {
		rc = mariadb_client_query(r->m, sql, err);
		if (rc == 0 || !is_lock_error(r->m))
			return rc;
		if (--tries == 0)
			return errmsg_set(err, -EBUSY, "the tables were locked for too long: %s",
					  sql);
		(void)nanosleep(&(struct timespec){ .tv_nsec = LOCK_NAP_NS }, NULL);
	}
}

static int query(struct run *r, struct errmsg *err, const char *fmt, ...) _printf_(3, 4);
static int query(struct run *r, struct errmsg *err, const char *fmt, ...)
{
	char sql[1024];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(sql, sizeof(sql), fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(sql))
		return errmsg_set(err, -EINVAL, "statement too long");
	return patiently(r, sql, err);
}

static int number(struct run *r, uint64_t *ret, struct errmsg *err, const char *fmt, ...)
	_printf_(4, 5);
static int number(struct run *r, uint64_t *ret, struct errmsg *err, const char *fmt, ...)
{
	char sql[512];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(sql, sizeof(sql), fmt, ap);
	va_end(ap);
	return mariadb_client_number(r->m, sql, ret, err);
}

/* --- a partition on its way out ---------------------------------------------------------- */

/*
 * Jobs of what is named by FROM that ended too recently to go. As ranges of the index job_end, of which
 * next to none are there: all rows of a month would take minutes, and nobody gets at the table meanwhile.
 */
static int count_recent(struct run *r, const char *from, uint64_t *ret, struct errmsg *err)
{
	return number(r, ret, err,
		      "SELECT COUNT(*) FROM job %s WHERE end_time >= FROM_UNIXTIME(%" PRIu64 ") OR "
		      "(end_time IS NULL AND submit_time >= FROM_UNIXTIME(%" PRIu64 "))", from,
		      r->limit, r->limit);
}

/* 1: now in job_leaving; 0: recent jobs came into it meanwhile. */
static int exchange(struct run *r, const char *name, struct errmsg *err)
{
	char from[64];
	uint64_t recent = 0;
	int rc;

	(void)snprintf(from, sizeof(from), "PARTITION (%s)", name);
	rc = query(r, err, "LOCK TABLES job WRITE, job_leaving WRITE");
	if (rc < 0)
		return rc;
	rc = count_recent(r, from, &recent, err);
	if (rc == 0 && !recent)
		rc = query(r, err, "ALTER TABLE job EXCHANGE PARTITION %s WITH TABLE job_leaving",
			   name);
	if (mariadb_client_query(r->m, "UNLOCK TABLES", rc < 0 ? NULL : err) < 0)
		rc = rc < 0 ? rc : -EIO;
	return rc < 0 ? rc : !recent;
}

static int sum_up(struct run *r, uint64_t id, const char *name, struct errmsg *err)
{
	uint64_t jobs = 0;
	int rc = number(r, &jobs, err, "SELECT COUNT(*) FROM job_leaving");

	if (rc == 0)
		rc = query(r, err, "START TRANSACTION");
	if (rc == 0)
		rc = query(r, err,
			   "INSERT INTO usage_day SELECT NULL, %" PRIu64 ", u.* FROM "
			   "usage_of_leaving AS u", id);
	if (rc == 0)
		rc = query(r, err,
			   "UPDATE archived SET state = 'summed', jobs = %" PRIu64 ", archived_at = "
			   "CURRENT_TIMESTAMP WHERE id = %" PRIu64, jobs, id);
	if (rc == 0)
		rc = query(r, err, "COMMIT");
	if (rc < 0)
		(void)mariadb_client_query(r->m, "ROLLBACK", NULL);
	else
		report(r, "%s: summed up %" PRIu64 " jobs", name, jobs);
	return rc;
}

static int forget(struct run *r, uint64_t id, const char *name, struct errmsg *err)
{
	int rc = query(r, err, "TRUNCATE TABLE job_leaving");

	if (rc == 0) {
		report(r, "%s: emptied", name);
		rc = query(r, err, "UPDATE archived SET state = 'gone' WHERE id = %" PRIu64, id);
	}
	if (rc == 0)
		report(r, "%s: noted", name);
	return rc;
}

/*
 * Of job's partition NAME nothing is left but what came late, to go another time. Step's goes first: if
 * this is all that happens, the steps of late jobs are in the month behind.
 */
static int drop(struct run *r, const char *name, struct errmsg *err)
{
	uint64_t late = 0;
	int rc = query(r, err, "LOCK TABLES job WRITE, step WRITE");

	if (rc < 0)
		return rc;
	rc = number(r, &late, err, "SELECT COUNT(*) FROM job PARTITION (%s)", name);
	if (rc == 0 && !late)
		rc = query(r, err, "ALTER TABLE step DROP PARTITION IF EXISTS %s", name);
	if (rc == 0 && !late) {
		report(r, "%s: dropped of step", name);
		rc = query(r, err, "ALTER TABLE job DROP PARTITION %s", name);
	}
	if (mariadb_client_query(r->m, "UNLOCK TABLES", rc < 0 ? NULL : err) < 0)
		rc = rc < 0 ? rc : -EIO;
	if (rc == 0)
		report(r, late ? "%s: jobs came late, it stays until they are old" :
				 "%s: dropped", name);
	return rc;
}

/* From the noted intent on. What of the month was summed up day by day does not count from here on. */
static int leave(struct run *r, uint64_t id, const char *name, struct errmsg *err)
{
	int rc = query(r, err, "INSERT IGNORE INTO usage_open SELECT DISTINCT DATE(submit_time) FROM "
		       "job PARTITION (%s)", name);

	if (rc == 0)
		rc = exchange(r, name, err);
	else
		return rc;
	if (rc == 0)
		return query(r, err, "DELETE FROM archived WHERE id = %" PRIu64, id);
	if (rc < 0)
		return rc;
	report(r, "%s: set apart", name);
	rc = sum_up(r, id, name, err);
	if (rc == 0)
		rc = forget(r, id, name, err);
	return rc < 0 ? rc : drop(r, name, err);
}

/* What a run before this did not finish: at most one partition. */
static int finish(struct run *r, struct errmsg *err)
{
	struct db_partition p;
	uint64_t yyyymm = 0;
	uint64_t summed = 0;
	uint64_t id = 0;
	uint64_t any = 0;
	int rc = number(r, &id, err,
			"SELECT COALESCE(MIN(id), 0) FROM archived WHERE state <> 'gone'");

	if (rc < 0 || !id)
		return rc;
	rc = number(r, &yyyymm, err,
		    "SELECT SUBSTR(partition_of, 2) FROM archived WHERE id = %" PRIu64, id);
	if (rc == 0)
		rc = number(r, &summed, err,
			    "SELECT state = 'summed' FROM archived WHERE id = %" PRIu64, id);
	if (rc == 0)
		rc = number(r, &any, err, "SELECT EXISTS (SELECT 1 FROM job_leaving)");
	if (rc < 0)
		return rc;
	p.month = (uint32_t)(yyyymm / 100 * 12 + yyyymm % 100 - 1);
	db_partition_name(p.month, p.name);
	report(r, "%s: goes on where it stopped", p.name);
	if (r->options->dry_run)
		return 0;
	if (!summed && !any)
		return leave(r, id, p.name, err);
	if (!summed)
		rc = sum_up(r, id, p.name, err);
	if (rc == 0)
		rc = forget(r, id, p.name, err);
	return rc < 0 ? rc : drop(r, p.name, err);
}

/* --- days of what stays ------------------------------------------------------------------ */

/*
 * One try. The row of usage_open is ours from the first statement on: whoever writes to a job of that day
 * waits for it, and whoever did before is done.
 */
static int try_close(struct run *r, uint64_t day, struct errmsg *err)
{
	static const struct {
		const char *before, *after;
	} part[] = {
		{ "SELECT submit_day FROM usage_open WHERE submit_day = ", " FOR UPDATE" },
		{ "DELETE FROM usage_day WHERE submit_day = ", "" },
		{ "INSERT INTO usage_day SELECT NULL, 0, u.* FROM usage_of_open AS u WHERE "
		  "submit_day = ", "" },
		{ "DELETE FROM usage_open WHERE submit_day = ", "" },
	};
	char sql[256];
	size_t i;
	int rc = mariadb_client_query(r->m, "START TRANSACTION", err);

	for (i = 0; rc == 0 && i < ARRAY_SIZE(part); i++) {
		(void)snprintf(sql, sizeof(sql), "%sFROM_DAYS(%" PRIu64 ")%s", part[i].before, day,
			       part[i].after);
		rc = mariadb_client_query(r->m, sql, err);
	}
	return rc < 0 ? rc : mariadb_client_query(r->m, "COMMIT", err);
}

/* As patiently(), but a deadlock has undone all of it. */
static int close_day(struct run *r, uint64_t day, struct errmsg *err)
{
	int tries = LOCK_TRIES;
	bool is_locked;
	int rc;

	do {
		rc = try_close(r, day, err);
		is_locked = rc < 0 && is_lock_error(r->m);
		if (rc < 0)
			(void)mariadb_client_query(r->m, "ROLLBACK", NULL);
		if (is_locked)
			(void)nanosleep(&(struct timespec){ .tv_nsec = LOCK_NAP_NS }, NULL);
	} while (is_locked && --tries);
	return rc;
}

/*
 * Not the last ones: most of what comes is written to these, and would wait. Each once: a sink that
 * catches up opens a day again as fast as it is summed up.
 */
static int close_days(struct run *r, uint64_t now, struct errmsg *err)
{
	uint64_t days = 0;
	uint64_t day = 0;
	int rc;

	for (;; days++) {
		rc = number(r, &day, err,
			    "SELECT COALESCE(MIN(TO_DAYS(submit_day)), 0) FROM usage_open WHERE "
			    "TO_DAYS(submit_day) > %" PRIu64 " AND "
			    "submit_day < DATE(FROM_UNIXTIME(%" PRIu64 "))",
			    day, now > OPEN_SECONDS ? now - OPEN_SECONDS : 0);
		if (rc < 0 || !day || r->options->dry_run)
			break;
		rc = close_day(r, day, err);
		if (rc < 0)
			break;
	}
	if (rc == 0 && day)
		report(r, "days would be summed up");
	else if (days)
		report(r, "summed up %" PRIu64 " days", days);
	return rc;
}

/* --- all of them ------------------------------------------------------------------------- */

static int consider(struct run *r, const struct db_partition *p, struct errmsg *err)
{
	char from[64];
	uint64_t recent = 0;
	uint64_t any = 0;
	uint64_t jobs = 0;
	int rc;

	if (db_partition_begin(p->month + 1) > r->limit)
		return 0;
	(void)snprintf(from, sizeof(from), "PARTITION (%s)", p->name);
	rc = count_recent(r, from, &recent, err);
	if (rc == 0)
		rc = number(r, &any, err, "SELECT EXISTS (SELECT 1 FROM job %s)", from);
	if (rc < 0)
		return rc;
	if (recent) {
		report(r, "%s: stays, %" PRIu64 " of its jobs ended later", p->name, recent);
		return 0;
	}
	if (r->options->dry_run) {
		rc = number(r, &jobs, err, "SELECT COUNT(*) FROM job %s", from);
		if (rc == 0)
			report(r, "%s: would sum up %" PRIu64 " jobs and drop", p->name, jobs);
		return rc;
	}
	if (!any)
		return drop(r, p->name, err);
	rc = query(r, err, "INSERT INTO archived (partition_of, state) VALUES ('%s', 'leaving')",
		   p->name);
	if (rc < 0)
		return rc;
	report(r, "%s: begins", p->name);
	return leave(r, mysql_insert_id(r->m), p->name, err);
}

static int add_months(struct run *r, uint64_t now, struct errmsg *err)
{
	static const char *const tables[] = { "job", "step" };
	size_t added = 0;
	size_t i;
	int rc = 0;

	for (i = 0; rc == 0 && i < ARRAY_SIZE(tables); i++) {
		int tries = LOCK_TRIES;

		do
			rc = db_partition_ensure(r->m, tables[i], now, r->options->dry_run, &added,
						 err);
		while (rc < 0 && mysql_errno(r->m) == ER_LOCK_WAIT_TIMEOUT && --tries);
		if (rc == 0 && added)
			report(r, "%s: %s %zu partitions", tables[i],
			       r->options->dry_run ? "would get" : "got", added);
	}
	return rc;
}

static int maintain(struct run *r, uint64_t now, struct errmsg *err)
{
	_cleanup_free_ struct db_partition *p = NULL;
	uint64_t retention = r->options->retention_ns / NSEC_PER_SEC;
	size_t n = 0;
	size_t i;
	int rc = add_months(r, now, err);

	r->limit = now > retention ? now - retention : 0;
	if (rc == 0)
		rc = finish(r, err);
	if (rc == 0 && retention)
		rc = db_partition_list(r->m, "job", &p, &n, err);
	for (i = 0; rc == 0 && i < n; i++)
		rc = consider(r, &p[i], err);
	return rc < 0 ? rc : close_days(r, now, err);
}

/* Two at once would undo each other's steps; a migration alters the same tables. */
static int lock_schema(struct run *r, struct errmsg *err)
{
	uint64_t got = 0;
	int rc = number(r, &got, err, "SELECT GET_LOCK(CONCAT('ceems migrate ', DATABASE()), 10)");

	if (rc == 0 && !got)
		rc = errmsg_set(err, -EBUSY, "another maintenance or migration is at work");
	if (rc == 0)
		rc = query(r, err, "SET SESSION lock_wait_timeout = " LOCK_SECONDS
				   ", innodb_lock_wait_timeout = " LOCK_SECONDS);
	return rc;
}

int db_maintain_run(const struct settings *s, const struct db_maintain_options *options,
		    struct errmsg *err)
{
	struct run r = { .options = options };
	uint64_t version = 0;
	int rc = mariadb_client_open(options->defaults_file ? options->defaults_file :
							      s->mariadb_defaults_file,
				     s->mariadb_database, STATEMENT_TIMEOUT_NS, 0, 0, &r.m, err);

	if (rc == 0)
		rc = mariadb_client_schema(r.m, &version, err);
	if (rc == 0 && version < MARIADB_SCHEMA)
		rc = errmsg_set(err, -ENOENT, "the schema is too old: ceems db migrate");
	/* what a later version added to job and step may not go the way that we know */
	if (rc == 0 && version > MARIADB_SCHEMA)
		rc = errmsg_set(err, -EPROTO, "database %s has schema %" PRIu64 " of a later version, this "
				"one knows %d: it moves and deletes nothing; run that version's ceems",
				s->mariadb_database, version, MARIADB_SCHEMA);
	if (rc == 0)
		rc = lock_schema(&r, err);
	if (rc == 0)
		rc = maintain(&r, options->now ? options->now : clock_wall_ns() / NSEC_PER_SEC,
			      err);
	mariadb_client_close(r.m);
	return rc;
}
