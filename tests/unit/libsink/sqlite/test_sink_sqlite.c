/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sink sqlite on a file in a scratch folder, read as users read it: rows, views,
 * upgrades, and files in the way.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <sqlite3.h>

#include "kept_lines.h"
#include "page_end.h"
#include "scratch.h"
#include "src/librecord/derived.h"
#include "src/libsink/db_options.h"
#include "src/libsink/sink.h"
#include "src/libsink/sqlrow.h"
#include "src/libutil/clock.h"
#include "tap.h"

#define SECOND NSEC_PER_SEC

static char dir[] = SCRATCH_TEMPLATE;
static struct errmsg err;
static struct settings settings;
/* As a reader of the file has it. */
static sqlite3 *reader(int flags)
{
	char sql[PATH_MAX + 32];
	sqlite3 *db = NULL;

	snprintf(sql, sizeof(sql), "ATTACH 'file:%s?mode=%s' AS ceems", settings.sqlite_file,
		 flags == SQLITE_OPEN_READONLY ? "ro" : "rw");
	if (sqlite3_open_v2(":memory:", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI, NULL) != SQLITE_OK ||
	    sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		diag("%s", sqlite3_errmsg(db));
	return db;
}

static uint64_t number(const char *sql)
{
	sqlite3 *db = reader(SQLITE_OPEN_READONLY);
	sqlite3_stmt *stmt = NULL;
	uint64_t n = UINT64_MAX;

	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW)
		n = (uint64_t)sqlite3_column_int64(stmt, 0);
	else
		diag("%s", sqlite3_errmsg(db));
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return n;
}

static void change(const char *sql)
{
	sqlite3 *db = reader(SQLITE_OPEN_READWRITE);

	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		diag("%s", sqlite3_errmsg(db));
	sqlite3_close(db);
}

#include "made_records.h"

static int send_made(struct sink *k, uint64_t timeout_ns)
{
	err.text[0] = '\0';
	return sink_sqlite.deliver(k, made.item, made.n, made.r, timeout_ns, &err);
}

static struct sink *open_sink(void)
{
	struct sink *k = NULL;

	is_int(sink_sqlite.open(&settings, &k, &err), 0, "open");
	return k;
}

static void test_columns(void)
{
	char sql[256];
	int missing = 0;
	size_t i;
	int t;

	for (t = 0; t < 2; t++)
		for (i = 0; i < sqlrow_ncols((enum sqlrow_table)t); i++) {
			snprintf(sql, sizeof(sql),
				 "SELECT COUNT(*) FROM pragma_table_info('%s', 'ceems') WHERE name = '%s'",
				 t == SQLROW_JOB ? "job" : "step", sqlrow_column((enum sqlrow_table)t, i));
			missing += number(sql) != 1;
		}
	is_int(missing, 0, "every column that is written is there");
}

static void test_rows(void)
{
	static char big[70000];
	struct sink *k = open_sink();
	struct stat st;

	make(1, 3, "plain");
	make(2, 0, "'; DROP TABLE job; -- \" \\ \n\t\x01 \xff\xfe \xf0\x9f\x94\xa5 %s");
	memset(big, 'q', sizeof(big) - 1);
	make(3, 1, big);
	ok(send_made(k, 20 * SECOND) == 0, "three jobs: %s", err.text);
	is_u64(count(SINK_ACKED), 3, "acked");
	ok(stat(settings.sqlite_file, &st) == 0 && (st.st_mode & 0777) == 0640, "a file of mode 0640");
	test_columns();
	is_u64(number("SELECT COUNT(*) FROM ceems.job"), 3, "three rows");
	is_u64(number("SELECT COUNT(*) FROM ceems.step"), 4, "and their steps");
	is_u64(number("SELECT energy_j FROM ceems.job WHERE jobid = 1"), 7201, "Slurm's joules");
	is_u64(number("SELECT co2e_g = 0.123456789 FROM ceems.job WHERE jobid = 1"), 1, "exact grams");
	is_u64(number("SELECT energy_j = 2 AND user_cpu_s = 1.234567 AND cycles IS NULL AND step_name = "
		      "'it''s' FROM ceems.step WHERE step_id = 2"),
	       1, "a step");
	is_u64(number("SELECT COUNT(*) FROM ceems.job WHERE cycles IS NULL AND sluid IS NULL"), 3,
	       "unknown is NULL");
	is_u64(number("SELECT strftime('%s', end_time) FROM ceems.job WHERE jobid = 1"), 1700003610,
	       "times are UTC");
	is_u64(number("SELECT COUNT(*) FROM ceems.job WHERE json_extract(record, '$.key') = record_key"), 3,
	       "the whole record is there");
	is_u64(number("SELECT COUNT(*) FROM ceems.job WHERE jobid = 2 AND job_name LIKE '%DROP TABLE%%s'"), 1,
	       "hostile text is text");
	is_u64(number("SELECT length(job_name) FROM ceems.job WHERE jobid = 3"), sizeof(big) - 1,
	       "long text");
	is_u64(number("SELECT COUNT(*) > 200 FROM ceems.emission_factor"), 1, "emission factors");
	is_u64(number("SELECT energy_kwh BETWEEN 0.0020002 AND 0.0020003 AND mean_power_w BETWEEN 2.0002 "
		      "AND 2.0003 FROM ceems.job_summary WHERE jobid = 1"),
	       1, "quotients are not cut to whole numbers");
	test_emissions();
	test_walk(sink_sqlite.db, &settings, "none");
	change("UPDATE ceems.job SET cpu_time_s = NULL, steps_cpu_s = 0.000123");
	test_walk(sink_sqlite.db, &settings, "123");
	change("UPDATE ceems.step SET user_cpu_s = 1.5, system_cpu_s = 0.25; UPDATE ceems.job SET "
	       "steps_cpu_s = NULL");
	test_walk(sink_sqlite.db, &settings, "1750000");
	is_int(send_made(k, 20 * SECOND), 0, "as it was");
	sink_sqlite.close(k);
	is_u64(number("SELECT COUNT(*) FROM ceems.job"), 3, "a reader needs no recorder");
}

/* The views' ratios are the record's, as in MariaDB. */
static void test_ratios(void)
{
	char sql[512];
	unsigned int d;
	uint64_t known = 0;

	for (d = 0; d < DERIVED_N; d++) {
		const char *name = derived_table[d].name;

		snprintf(sql, sizeof(sql),
			 "SELECT %s IS json_extract(record, '$.derived.%s') OR "
			 "abs(%s / json_extract(record, '$.derived.%s') - 1) < 1e-5 "
			 "FROM ceems.job_summary JOIN ceems.job USING (record_key) WHERE job.jobid = 1",
			 name, name, name, name);
		is_u64(number(sql), 1, name);
		snprintf(sql, sizeof(sql), "SELECT %s IS NOT NULL FROM ceems.job_summary WHERE jobid = 1",
			 name);
		known += number(sql);
	}
	is_u64(known, DERIVED_N - 2, "all are known but what needs cycles");
	is_u64(number("SELECT COUNT(*) FROM ceems.step_summary WHERE energy_imbalance IS NOT NULL"), 4,
	       "imbalances");
	is_u64(number("SELECT COUNT(*) FROM ceems.efficiency"), 0, "no job of the last 30 days");
	is_u64(number("SELECT jobs = 3 AND cpu_hours = 12 FROM ceems.account_month"), 1, "hours by account");
	is_u64(number("SELECT jobs = 3 FROM ceems.partition_day"), 1, "and by partition");
}

/* A correction replaces, a bad record is refused, and the others of the batch are stored. */
static void test_again(void)
{
	struct sink *k = open_sink();

	change("UPDATE ceems.job SET energy_j = 1, cycles = 7, stored_at = '2000-01-01 00:00:00'");
	is_int(send_made(k, 20 * SECOND), 0, "the same records again");
	is_u64(number("SELECT COUNT(*) FROM ceems.job WHERE energy_j > 7200 AND cycles IS NULL AND "
		      "stored_at = '2000-01-01 00:00:00'"),
	       3, "replace the rows, but for when they came");
	made.item[1].json = "{\"schema\":\"nonsense\"}";
	made.item[1].json_len = strlen(made.item[1].json);
	is_int(send_made(k, 20 * SECOND), 0, "one of three is no record");
	ok(made.r[0] == SINK_ACKED && made.r[1] == SINK_REFUSED && made.r[2] == SINK_ACKED,
	   "it alone is refused");
	ok(*sink_why(&made.item[1]), "%s", sink_why(&made.item[1]));
	change("CREATE TRIGGER ceems.no BEFORE INSERT ON job WHEN new.jobid = 3 BEGIN SELECT RAISE(ABORT, "
	       "'not this'); END");
	is_int(send_made(k, 20 * SECOND), 0, "a row that a trigger rejects");
	ok(made.r[0] == SINK_ACKED && made.r[2] == SINK_REFUSED &&
		   strstr(sink_why(&made.item[2]), "not this"),
	   "is refused: %s", sink_why(&made.item[2]));
	change("DROP TRIGGER ceems.no");
	sink_sqlite.close(k);
}

static void test_trouble(void)
{
	struct sink *k = open_sink();
	char moved[PATH_MAX], path[PATH_MAX];
	sqlite3 *db = reader(SQLITE_OPEN_READWRITE);

	make_free();
	make(4, 1, "later");
	sqlite3_exec(db, "BEGIN IMMEDIATE; UPDATE ceems.schema_version SET version = 1", NULL, NULL, NULL);
	is_int(send_made(k, SECOND), -EAGAIN, "another program holds the lock");
	ok(strstr(err.text, "holds its lock") != NULL, "%s", err.text);
	is_u64(count(SINK_RETRY), 1, "the record waits");
	sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	sqlite3_close(db);
	is_int(send_made(k, 20 * SECOND), 0, "then it is taken");
	snprintf(moved, sizeof(moved), "%s/old.db", dir);
	is_int(rename(settings.sqlite_file, moved), 0, "the file is moved away");
	is_int(send_made(k, 20 * SECOND), 0, "a new one is made");
	is_u64(number("SELECT COUNT(*) FROM ceems.job"), 1, "which has the record");
	sink_sqlite.close(k);
	snprintf(path, sizeof(path), "%s", settings.sqlite_file);
	scratch_clear(dir);
	scratch_write(path, "this is no database at all, but a text of someone", 49);
	k = open_sink();
	is_int(send_made(k, SECOND), -EAGAIN, "another program's file");
	diag("%s", err.text);
	is_u64(count(SINK_RETRY), 1, "is left alone");
	sink_sqlite.close(k);
	scratch_clear(dir);
	snprintf(settings.sqlite_file, sizeof(settings.sqlite_file), "%s/none/x.db", dir);
	k = open_sink();
	ok(send_made(k, SECOND) == -EAGAIN, "no folder: %s", err.text);
	sink_sqlite.close(k);
	settings.sqlite_file[0] = '\0';
	is_int(sink_sqlite.open(&settings, &k, &err), -EINVAL, "no SqliteFile");
	snprintf(settings.sqlite_file, sizeof(settings.sqlite_file), "%s", path);
	sink_sqlite.close(NULL);
}

static void test_db(void)
{
	struct db_options m = { .report = keep_line, .dry_run = true };
	struct db_options o = { .report = keep_line, .now = 1700000000 + 40 * 86400 };
	uint64_t gone = 0;
	struct sink *k;

	lines[0] = '\0';
	is_int(sink_sqlite.db->migrate(&settings, &m, &err), 0, "dry run");
	ok(strstr(lines, "would apply schema 3") && access(settings.sqlite_file, F_OK) < 0,
	   "changes nothing: %s", lines);
	m.dry_run = false;
	ok(sink_sqlite.db->migrate(&settings, &m, &err) == 0, "migrate: %s", err.text);
	lines[0] = '\0';
	is_int(sink_sqlite.db->migrate(&settings, &m, &err), 0, "again");
	ok(strstr(lines, "has schema 3"), "nothing to do");
	make_free();
	make(1, 2, "a");
	make(2, 1, "b");
	k = open_sink();
	is_int(send_made(k, 20 * SECOND), 0, "two jobs");
	lines[0] = '\0';
	ok(sink_sqlite.db->maintain(&settings, &o, &err) == 0, "maintain: %s", err.text);
	is_str(lines, "summed up 1 days\n", "sums up");
	is_u64(number("SELECT jobs FROM ceems.usage_day WHERE archived_id = 0"), 2, "two jobs");
	is_u64(number("SELECT jobs FROM ceems.user_month"), 2, "which count once");
	is_int(send_made(k, 20 * SECOND), 0, "corrections");
	is_u64(number("SELECT jobs FROM ceems.user_month"), 2, "do not count twice");
	o.retention_ns = 35 * 86400 * SECOND;
	lines[0] = '\0';
	ok(sink_sqlite.db->maintain(&settings, &o, &err) == 0, "with a retention: %s", err.text);
	is_str(lines, "summed up 1 days\narchived 1 days\n", "archives");
	is_u64(number("SELECT (SELECT COUNT(*) FROM ceems.job) + (SELECT COUNT(*) FROM ceems.step)"), 0,
	       "the rows go");
	is_u64(number("SELECT jobs = 2 AND energy_kwh > 0.004 FROM ceems.user_month"), 1, "the sums stay");
	ok(sink_sqlite.db->gone(&settings, 1699920000, 1700006400, &gone, &err) == 0 && gone == 2,
	   "two jobs are gone");
	ok(sink_sqlite.db->gone(&settings, 1700006400, 1800000000, &gone, &err) == 0 && gone == 0,
	   "none of the days after");
	lines[0] = '\0';
	is_int(sink_sqlite.db->status(&settings, NULL, keep_line, NULL, &err), 0, "status");
	ok(strstr(lines, "jobs archived                    2\n"), "%s", lines);
	sink_sqlite.close(k);
	change("PRAGMA ceems.user_version = 9");
	ok(sink_sqlite.db->maintain(&settings, &o, &err) == -EPROTO, "a later schema: %s", err.text);
	k = open_sink();
	is_int(send_made(k, 20 * SECOND), 0, "gets records all the same");
	sink_sqlite.close(k);
}

/* A file of schema 1, which has jobs of ceems export, is brought up to date by the sink. */
static void test_upgrade(void)
{
	static const char *const views[] = { "step_summary",  "job_summary",	 "usage_of_open",
					     "usage_all",     "user_month",	 "account_month",
					     "partition_day", "emissions_month", "efficiency" };
	struct sink *k;
	char sql[128];
	size_t i;

	make_free();
	scratch_clear(dir);
	make_origins();
	k = open_sink();
	ok(send_made(k, 20 * SECOND) == 0, "jobs of both kinds: %s", err.text);
	sink_sqlite.close(k);
	test_origins();
	if (sqlite3_libversion_number() < 3035000) {
		skip(7, "this SQLite cannot remove a column");
		return;
	}
	for (i = 0; i < ARRAY_SIZE(views); i++) {
		snprintf(sql, sizeof(sql), "DROP VIEW ceems.%s", views[i]);
		change(sql);
	}
	change("ALTER TABLE ceems.job DROP COLUMN origin;"
	       "ALTER TABLE ceems.job DROP COLUMN source_intelgpu_j;"
	       "ALTER TABLE ceems.job DROP COLUMN energy_doubt;"
	       "ALTER TABLE ceems.job DROP COLUMN idle_unknown_j;"
	       "ALTER TABLE ceems.job DROP COLUMN lost_events;"
	       "ALTER TABLE ceems.job DROP COLUMN late_nodes;"
	       "ALTER TABLE ceems.step DROP COLUMN source_intelgpu_j;"
	       "ALTER TABLE ceems.step DROP COLUMN energy_doubt;"
	       "ALTER TABLE ceems.step DROP COLUMN idle_unknown_j;"
	       "ALTER TABLE ceems.step DROP COLUMN lost_events;"
	       "ALTER TABLE ceems.step DROP COLUMN late_nodes;"
	       "ALTER TABLE ceems.usage_day DROP COLUMN jobs_history; ALTER TABLE ceems.usage_day DROP "
	       "COLUMN history_j;"
	       "DELETE FROM ceems.usage_open; UPDATE ceems.schema_version SET version = 1; PRAGMA "
	       "ceems.user_version = 1;"
	       "INSERT INTO ceems.usage_day (archived_id, submit_day, day, cluster, account, jobs, "
	       "jobs_measured, cpu_used_jobs, energy_j) VALUES (0, '2023-11-14', '2023-11-14', 'c1', "
	       "'physics', 3, 3, 3, 21606), (9, '2023-10-13', '2023-10-13', 'c1', 'biology', 7, 7, 7, 70)");
	make_free();
	make(4, 1, "later");
	k = open_sink();
	ok(send_made(k, 20 * SECOND) == 0, "a record for a file of schema 1: %s", err.text);
	sink_sqlite.close(k);
	is_u64(number("PRAGMA ceems.user_version"), 3, "the file has schema 3");
	change("DELETE FROM ceems.job WHERE jobid = 4");
	test_origins();
	is_u64(number("SELECT jobs_history IS NULL AND jobs = 7 FROM ceems.account_month WHERE account = "
		      "'biology'"),
	       1, "of jobs that were dropped it is not known");
}

static void test_speed(void)
{
	struct sink *k = open_sink();
	uint64_t begin;
	uint32_t i;

	make_free();
	for (i = 0; i < 500; i++)
		make(1000 + i, 4, "job");
	begin = clock_mono_ns();
	is_int(send_made(k, 60 * SECOND), 0, "500 jobs of 4 steps");
	diag("%.0f records/s, %.0f bytes each", 500.0 * SECOND / (double)(clock_mono_ns() - begin),
	     (double)number("SELECT page_count * page_size / 500 FROM pragma_page_count('ceems'), "
			    "pragma_page_size('ceems')"));
	is_u64(count(SINK_ACKED), 500, "acked");
	sink_sqlite.close(k);
}

int main(void)
{
	if (!mkdtemp(dir))
		return 99;
	require(settings_load("/nonexistent", &settings, &err) == -ENOENT);
	snprintf(settings.sqlite_file, sizeof(settings.sqlite_file), "%s/jobs.db", dir);
	snprintf(settings.emission_factor_file, sizeof(settings.emission_factor_file),
		 "%s/src/libemission/data/emission-factors.csv",
		 getenv("top_srcdir") ? getenv("top_srcdir") : ".");
	test_rows();
	test_ratios();
	test_again();
	test_trouble();
	test_db();
	test_upgrade();
	test_speed();
	make_free();
	scratch_clear(dir);
	is_int(rmdir(dir), 0, "nothing left behind");
	return done_testing();
}
