/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libsink/db_walk.h"

#include <stdio.h>
#include <time.h>

#define TIME_SIZE 32

/* Writes Unix time T as the tables have times: UTC, without a zone. */
static const char *time_of(uint64_t t, char buf[TIME_SIZE])
{
	time_t when = (time_t)t;
	struct tm tm;

	if (!gmtime_r(&when, &tm) || !strftime(buf, TIME_SIZE, "%Y-%m-%d %H:%M:%S", &tm))
		buf[0] = '\0';
	return buf;
}

/*
 * The CPU time is an integer, because SQLite may write a real number with an exponent. SIGNED INTEGER is a
 * type in MariaDB, MySQL and SQLite. If steps_cpu_s is NULL, the steps are summed, as the view job_summary
 * does.
 */
const char *db_walk_jobs(const struct db_walk *w, char buf[DB_WALK_SQL_MAX])
{
	char from[TIME_SIZE], to[TIME_SIZE];

	(void)snprintf(
		buf, DB_WALK_SQL_MAX,
		"SELECT record, CASE WHEN cpu_time_s IS NULL THEN CAST(ROUND(1000000 * COALESCE(steps_cpu_s, "
		"(SELECT SUM(user_cpu_s + system_cpu_s) FROM step WHERE step.record_key = job.record_key "
		"AND step.submit_time = job.submit_time))) AS SIGNED INTEGER) END "
		"FROM job WHERE end_time >= '%s' AND end_time < '%s'",
		time_of(w->from, from), time_of(w->to, to));
	return buf;
}

const char *db_walk_gone(uint64_t from, uint64_t to, char buf[DB_WALK_SQL_MAX])
{
	char first[TIME_SIZE], last[TIME_SIZE];

	(void)snprintf(
		buf, DB_WALK_SQL_MAX,
		"SELECT COALESCE(SUM(jobs), 0) FROM usage_day WHERE archived_id <> 0 AND day >= '%.10s' "
		"AND day <= '%.10s'",
		time_of(from, first), time_of(to ? to - 1 : 0, last));
	return buf;
}
