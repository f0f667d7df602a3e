/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sink mariadb against a private mariadbd on a socket in a scratch folder. If none is installed,
 * only what needs no server is tested.
 */
#define _GNU_SOURCE
#include <errno.h>

#include <mysql.h>

#include "kept_lines.h"
#include "page_end.h"
#include "private_mariadbd.h"
#include "scratch.h"
#include "src/libsink/mariadb/mariadb_client.h"
#include "src/libsink/mariadb/mysql_upsert.h"
#include "src/libsink/mariadb/migrate.h"
#include "src/libsink/sink.h"
#include "src/libsink/sqlrow.h"
#include "src/libutil/clock.h"
#include "src/libutil/logger.h"
#include "src/libutil/util.h"
#include "tap.h"

#define SECOND NSEC_PER_SEC

static char dir[] = SCRATCH_TEMPLATE;
static char sql_dir[PATH_MAX - 64];
static struct errmsg err;
static struct settings settings;
static struct private_mariadbd server = { .max_packet = "--max-allowed-packet=1M" };

/* --- without a server -------------------------------------------------------------------- */

static void test_columns(void)
{
	size_t len;
	char path[PATH_MAX];
	char want[80];
	char *sql;
	const char *part[2];
	int missing = 0;
	int t;
	size_t i;

	snprintf(path, sizeof(path), "%s/0001-schema.sql", sql_dir);
	sql = scratch_read(path, &len);
	if (!ok(sql != NULL, "%s", path))
		return;
	part[SQLROW_JOB] = strstr(sql, "CREATE TABLE IF NOT EXISTS job (");
	part[SQLROW_STEP] = strstr(sql, "CREATE TABLE IF NOT EXISTS step (");
	ok(part[0] && part[1] && part[0] < part[1], "two tables");
	ok(sqlrow_ncols(SQLROW_JOB) < SQLROW_COLUMNS_MAX && sqlrow_ncols(SQLROW_STEP) < SQLROW_COLUMNS_MAX,
	   "none was left out");
	for (t = 0; t < 2; t++)
		for (i = 0; i < sqlrow_ncols((enum sqlrow_table)t); i++) {
			const char *at;

			const char *name = sqlrow_column((enum sqlrow_table)t, i);

			snprintf(want, sizeof(want), "\n\t%s ", name);
			at = strstr(part[t], want);
			if (!at || (t == SQLROW_JOB && at > part[SQLROW_STEP])) {
				diag("no column %s", name);
				missing++;
			}
		}
	is_int(missing, 0, "every column that is written is in sql/");
	free(sql);
}

/* Returns the statement for steps FIRST and later of ROWS, of which *RET_N fit into MAX bytes. NULL: none. */
static char *upsert_of(const struct sqlrow *rows, size_t first, uint64_t max, size_t *ret_n)
{
	char *sql = NULL;
	size_t len = 0;

	*ret_n = 0;
	if (mysql_upsert(SQLROW_STEP, rows, first, max, &sql, &len, ret_n, &err) < 0)
		return NULL;
	is_u64(strlen(sql), len, "its length");
	return sql;
}

static void test_upsert(void)
{
	struct sqlrow rows = { 0 };
	struct record *r = record_create();
	size_t first_row;
	size_t n;
	char *sql;

	r->steps = calloc(2, sizeof(*r->steps));
	r->nsteps = 2;
	r->steps[0].name = strdup("it's \\ \"\n\xc3\xa4'");
	values_init(&r->steps[0].values);
	values_init(&r->steps[1].values);
	values_set(&r->steps[1].values, METRIC_CYCLES, UINT64_MAX - 1);
	r->steps[1].step_id = 1;
	r->steps[1].exit_code = INT32_MIN;
	is_int(sqlrow_add_steps(&rows, "k", 1, r), 0, "two steps");
	rows.nrows = 1;
	sql = upsert_of(&rows, 0, 1000000, &n);
	ok(sql && strstr(sql, " ON DUPLICATE KEY UPDATE step_name=VALUES(step_name),") &&
		   !strstr(sql, "step_id=") && strstr(sql, ",cycles=NULL") &&
		   strstr(sql, ",ntasks=VALUES(ntasks),"),
	   "what all rows lack is no column, but NULL in a row that is there");
	ok(sql && strstr(sql, "('k',0,0,'1970-01-01 00:00:00','it''s \\\\ \"\n\xc3\xa4''',"),
	   "quotes and backslashes are doubled");
	free(sql);
	rows.nrows = 2;
	sql = upsert_of(&rows, 0, 1000000, &n);
	ok(sql && n == 2 && strstr(sql, ",cycles=VALUES(cycles)") && strstr(sql, "),('k',1,0,") &&
		   strstr(sql, "18446744073709551614") && strstr(sql, ",-2147483648,"),
	   "what one of them has is");
	first_row = sql ? (size_t)(strstr(sql, "),(") + 2 - sql) : 0;
	free(sql);
	sql = upsert_of(&rows, 0, first_row, &n);
	ok(sql && n == 1 && strstr(sql, ") ON DUPLICATE KEY UPDATE ") && !strstr(sql, "),("),
	   "one row when two do not fit");
	free(sql);
	ok(!upsert_of(&rows, 0, 10, &n) && strstr(err.text, "max_allowed_packet"), "not one: %s", err.text);
	sqlrow_fini(&rows);
	record_destroy(r);
}

static void test_without_steps(void)
{
	static const struct {
		const char *json;
		const char *head;
	} table[] = {
		{ "", "" },
		{ "{}", "{" },
		{ "{\"a\":1,\"steps\":null}", "{\"a\":1,\"steps\":null" },
		{ "{\"a\":1,\"steps\":[]}", "{\"a\":1" },
		{ "{\"a\":1,\"steps\":[{\"b\":[\"]}\\\"\"]}]}", "{\"a\":1" },
		{ "{\"a\":\",\\\"steps\\\":[\",\"steps\":[1]}", "{\"a\":\",\\\"steps\\\":[\"" },
		/* not the last, nested, cut: left alone */
		{ "{\"a\":1,\"steps\":[1],\"b\":2}", "{\"a\":1,\"steps\":[1],\"b\":2" },
		{ "{\"a\":{\"x\":1,\"steps\":[1]}}", "{\"a\":{\"x\":1,\"steps\":[1]}" },
		{ "{\"a\":1,\"steps\":[1}", "{\"a\":1,\"steps\":[1" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(table); i++) {
		char head[128];

		snprintf(head, sizeof(head), "%.*s",
			 (int)sqlrow_json_without_steps(table[i].json, strlen(table[i].json)), table[i].json);
		is_str(head, table[i].head, "without steps");
	}
}

static void test_config(void)
{
	struct sink *k = NULL;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/my.cnf", dir);
	is_int(sink_mariadb.open(&settings, &k, &err), -EINVAL, "no defaults file set");
	is_str(err.text, "MariadbDefaultsFile is not set", "says so");
	snprintf(settings.mariadb_defaults_file, sizeof(settings.mariadb_defaults_file), "%s", path);
	is_int(sink_mariadb.open(&settings, &k, &err), -ENOENT, "no such file");
	ok(strstr(err.text, path) != NULL, "%s", err.text);
	scratch_write(path, "[client]\nuser=x\n password = hunter2\n", 37);
	chmod(path, 0644);
	is_int(sink_mariadb.open(&settings, &k, &err), -EACCES, "everybody may read a password");
	ok(strstr(err.text, "chmod") && !strstr(err.text, "hunter2"), "%s", err.text);
	chmod(path, 0640);
	is_int(sink_mariadb.open(&settings, &k, &err), -EACCES, "the group may read a password");
	chmod(path, 0600);
	settings.mariadb_database[0] = '\0';
	is_int(sink_mariadb.open(&settings, &k, &err), -EINVAL, "no database");
	snprintf(settings.mariadb_database, sizeof(settings.mariadb_database), "ceems");
	is_int(sink_mariadb.open(page_end_copy(&settings, sizeof(settings)), &k, &err), 0,
	       "nothing more is needed to open");
	sink_mariadb.close(k);
	sink_mariadb.close(NULL);
}

static void test_migrate_files(void)
{
	static const struct {
		const char *names[3];
		int rc;
		const char *err;
	} table[] = {
		{ { NULL }, -ENOENT, "/0001-*.sql: not one such file" },
		{ { "1-x.sql" }, -ENOENT, "not one such file" },
		{ { "0001-a.sql", "0001-b.sql" }, -ENOENT, "not one such file" },
		{ { "0001-a.sql" }, -ENOENT, "/0002-*.sql: not one such file" },
		{ { "0001-a.sql", "0002-a.sql" }, -ENOENT, "/0003-*.sql: not one such file" },
		{ { "0001-a.sql", "0002-a.sql", "0003-a.sql" }, -ENOENT, "/views.sql: not one such file" },
	};
	struct db_options o = { .sql_dir = "/nonexistent" };
	char folder[PATH_MAX];
	size_t i;
	size_t j;

	is_int(migrate_run(&settings, &o, &err), -ENOENT, "no folder");
	snprintf(folder, sizeof(folder), "%s/sql", dir);
	o.sql_dir = folder;
	mkdir(folder, 0700);
	for (i = 0; i < ARRAY_SIZE(table); i++) {
		for (j = 0; j < 3 && table[i].names[j]; j++)
			scratch_write(scratch_path(folder, table[i].names[j]), "", 0);
		is_int(migrate_run(&settings, &o, &err), table[i].rc, "folder refused");
		ok(strstr(err.text, table[i].err) != NULL, "%s", err.text);
		scratch_clear(folder);
	}
}

/* --- a server ---------------------------------------------------------------------------- */

static MYSQL *admin(void)
{
	MYSQL *m = NULL;

	if (mariadb_client_open(settings.mariadb_defaults_file, NULL, 20 * SECOND, 0, 0, &m, &err) < 0)
		diag("%s", err.text);
	return m;
}

static uint64_t number(const char *sql)
{
	MYSQL *m = admin();
	uint64_t n = UINT64_MAX;

	if (m && mariadb_client_number(m, sql, &n, &err) < 0)
		diag("%s", err.text);
	mariadb_client_close(m);
	return n;
}

static void admin_query(const char *sql)
{
	MYSQL *m = admin();

	if (m && mariadb_client_query(m, sql, &err) < 0)
		diag("%s: %s", sql, err.text);
	mariadb_client_close(m);
}

#include "made_records.h"

static int send_made(struct sink *k, uint64_t timeout_ns)
{
	size_t i;

	for (i = 0; i < made.n; i++)
		made.r[i] = SINK_RETRY;
	err.text[0] = '\0';
	return sink_mariadb.deliver(k, made.item, made.n, made.r, timeout_ns, &err);
}

/* --- with the server --------------------------------------------------------------------- */

static void test_migrate(void)
{
	struct db_options o = { .sql_dir = sql_dir, .report = keep_line, .dry_run = true };
	char folder[PATH_MAX];
	struct sink *k = NULL;

	/* the writer before there are tables */
	admin_query("CREATE DATABASE ceems");
	sink_mariadb.open(&settings, &k, &err);
	make(1, 1, "x");
	is_int(send_made(k, 20 * SECOND), -EAGAIN, "no tables yet");
	ok(strstr(err.text, "run `ceems db migrate`") != NULL, "%s", err.text);
	is_u64(count(SINK_RETRY), 1, "the record waits");
	admin_query("DROP DATABASE ceems");
	is_int(send_made(k, 20 * SECOND), -EAGAIN, "no database");
	ok(strstr(err.text, "Unknown database") != NULL, "%s", err.text);
	sink_mariadb.close(k);
	make_free();

	is_int(migrate_run(&settings, &o, &err), 0, "dry run");
	is_str(lines,
	       "would create database ceems\nwould apply schema 1\nwould apply schema 2\n"
	       "would apply schema 3\n",
	       "says what would be done");
	is_u64(number("SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name='ceems'"), 0,
	       "and does nothing");
	lines[0] = '\0';
	o.dry_run = false;
	is_int(migrate_run(&settings, &o, &err), 0, "migrate");
	if (err.text[0])
		diag("%s", err.text);
	ok(!strncmp(lines,
		    "creating database ceems\napplying schema 1\napplying schema 2\napplying schema 3\n"
		    "made 17 partitions of job\nmade 17 partitions of step\n",
		    113) &&
		   strstr(lines, " emission factors from "),
	   "says what it does: %s", lines);
	is_u64(number("SELECT COUNT(*) FROM ceems.schema_version"), 3, "which is recorded");
	is_u64(number("SELECT COUNT(*) > 200 AND SUM(region = 'FR' AND kind = 'static' AND g_per_kwh > 0 "
		      "AND year > 2000) = 1 AND SUM(kind = 'default' AND g_per_kwh = 475) = 1 FROM "
		      "ceems.emission_factor"),
	       1, "factors of all countries and the world");
	admin_query("UPDATE ceems.emission_factor SET g_per_kwh = 1 WHERE region = 'FR'");
	lines[0] = '\0';
	is_int(migrate_run(&settings, &o, &err), 0, "with another factor");
	ok(strstr(lines, "\n1 emission factors from ") != NULL, "which is put right");
	lines[0] = '\0';
	is_int(migrate_run(&settings, &o, &err), 0, "again");
	is_str(lines, "database ceems has schema 3\n", "nothing to do");
	admin_query("DELETE FROM ceems.schema_version");
	is_int(migrate_run(&settings, &o, &err), 0, "safe to apply twice");

	/* a version that fails half way, and is repeated */
	admin_query("DELETE FROM ceems.schema_version");
	snprintf(folder, sizeof(folder), "%s/sql", dir);
	o.sql_dir = folder;
	scratch_write(scratch_path(folder, "0002-x.sql"), "SELECT 1;", 9);
	scratch_write(scratch_path(folder, "0003-x.sql"), "SELECT 1;", 9);
	scratch_write(scratch_path(folder, "views.sql"), "", 0);
	scratch_write(scratch_path(folder, "0001-x.sql"),
		      "CREATE TABLE IF NOT EXISTS ceems.x (a INT);\n-- c;\nNONSENSE; SELECT 1;", 69);
	is_int(migrate_run(&settings, &o, &err), -EIO, "an error in the middle");
	ok(strstr(err.text, "schema 1: ") && strstr(err.text, "NONSENSE"), "%s", err.text);
	is_u64(number("SELECT COUNT(*) FROM ceems.schema_version"), 0, "is not recorded");
	scratch_write(scratch_path(folder, "0001-x.sql"), "DROP TABLE IF EXISTS x;\n", 24);
	scratch_write(scratch_path(folder, "views.sql"), "CREATE VIEW y AS NONSENSE;", 26);
	is_int(migrate_run(&settings, &o, &err), -EIO, "an error in the views");
	ok(strstr(err.text, "schema 3: ") && strstr(err.text, "NONSENSE"), "%s", err.text);
	is_u64(number("SELECT MAX(version) FROM ceems.schema_version"), 2, "the last version waits for them");
	scratch_write(scratch_path(folder, "views.sql"),
		      "CREATE OR REPLACE VIEW y AS SELECT 1;\nDROP VIEW y;", 50);
	is_int(migrate_run(&settings, &o, &err), 0, "put right");
	scratch_clear(folder);
	o.sql_dir = sql_dir;

	/* as it is after a downgrade */
	admin_query("INSERT INTO ceems.schema_version (version) VALUES (99)");
	lines[0] = '\0';
	is_int(migrate_run(&settings, &o, &err), -EPROTO, "a later version");
	ok(strstr(err.text, "ceems has schema 99 of a later version, this one knows 3") != NULL, "%s",
	   err.text);
	is_str(lines, "", "is left alone");
	admin_query("DELETE FROM ceems.schema_version WHERE version = 99");
}

/* Lists the columns of the tables and views, in their order. */
static uint64_t columns(void)
{
	return number(
		"SELECT SUM(CRC32(CONCAT_WS('|', TABLE_NAME, ORDINAL_POSITION, COLUMN_NAME, COLUMN_TYPE, "
		"IS_NULLABLE, COLUMN_COMMENT))) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = "
		"'ceems'");
}

/* Takes away what version 3 of the schema added to a table. */
#define DROP_SCHEMA_3                                               \
	"DROP COLUMN source_intelgpu_j, DROP COLUMN energy_doubt, " \
	"DROP COLUMN idle_unknown_j, DROP COLUMN lost_events, DROP COLUMN late_nodes"

/* An installation with schema 1, which has jobs of ceems export, is brought up to date under the sink. */
static void test_upgrade(void)
{
	struct db_options o = { .sql_dir = sql_dir };
	uint64_t as_new = columns();
	struct sink *k = NULL;

	sink_mariadb.open(&settings, &k, &err);
	make_origins();
	ok(send_made(k, 20 * SECOND) == 0, "jobs of both kinds: %s", err.text);
	test_origins();
	sink_mariadb.close(k);
	admin_query("ALTER TABLE ceems.job DROP COLUMN origin, " DROP_SCHEMA_3);
	admin_query("ALTER TABLE ceems.step " DROP_SCHEMA_3);
	admin_query("ALTER TABLE ceems.usage_day DROP COLUMN jobs_history, DROP COLUMN history_j");
	admin_query("DELETE FROM ceems.schema_version WHERE version > 1");
	admin_query("DELETE FROM ceems.usage_open");
	admin_query("INSERT INTO ceems.usage_day (archived_id, submit_day, day, cluster, account, jobs, "
		    "jobs_measured, cpu_used_jobs, energy_j) VALUES (0, '2023-11-14', '2023-11-14', 'c1', "
		    "'physics', 3, 3, 3, 21606), (0, '2023-11-13', '2023-11-13', 'c1', 'chemistry', 5, 5, 5, "
		    "50), (9, '2023-10-13', '2023-10-13', 'c1', 'biology', 7, 7, 7, 70)");
	make_free();
	make(4, 1, "later");
	sink_mariadb.open(&settings, &k, &err);
	is_int(send_made(k, 20 * SECOND), -EAGAIN, "an older schema");
	is_str(err.text, "database ceems has schema 1, 3 is needed; run `ceems db migrate`",
	       "says what to do");
	is_u64(count(SINK_RETRY), 1, "the record waits");
	ok(migrate_run(&settings, &o, &err) == 0, "migrate: %s", err.text);
	is_u64(columns(), as_new, "the schema is that of a new database");
	test_origins();
	is_u64(number("SELECT jobs_history = 0 AND jobs = 5 FROM ceems.account_month WHERE account = "
		      "'chemistry'"),
	       1, "days without such jobs have none");
	is_u64(number("SELECT jobs_history IS NULL AND jobs = 7 FROM ceems.account_month WHERE account = "
		      "'biology'"),
	       1, "of jobs that were dropped it is not known");
	is_int(send_made(k, 20 * SECOND), 0, "the record is delivered");
	is_u64(number("SELECT jobs FROM ceems.account_month WHERE account = 'physics'"), 4, "and counts");
	sink_mariadb.close(k);
	make_free();
	admin_query("DELETE FROM ceems.job");
	admin_query("DELETE FROM ceems.step");
	admin_query("DELETE FROM ceems.usage_day");
}

/* The views' ratios are the record's: to the six digits that it has. */
static void test_ratios(void)
{
	char sql[512];
	unsigned int d;
	uint64_t known = 0;

	for (d = 0; d < DERIVED_N; d++) {
		const char *name = derived_table[d].name;

		snprintf(sql, sizeof(sql),
			 "SELECT %s <=> JSON_VALUE(record, '$.derived.%s') OR "
			 "ABS(%s / JSON_VALUE(record, '$.derived.%s') - 1) < 1e-5 "
			 "FROM ceems.job_summary JOIN ceems.job USING (record_key) "
			 "WHERE job.jobid = 1",
			 name, name, name, name);
		is_u64(number(sql), 1, name);
		snprintf(sql, sizeof(sql), "SELECT %s IS NOT NULL FROM ceems.job_summary WHERE jobid = 1",
			 name);
		known += number(sql);
	}
	is_u64(known, DERIVED_N - 2, "all are known but what needs cycles");
	is_u64(number("SELECT joules_per_instruction > 1e-9 FROM ceems.job_summary WHERE jobid = 1"), 1,
	       "and not cut to 0");
}

static void test_rows(void)
{
	static char big[70000];
	struct sink *k = NULL;
	uint64_t before;
	uint32_t i;

	sink_mariadb.open(&settings, &k, &err);
	make(1, 3, "plain");
	make(2, 0, "'; DROP TABLE job; -- \" \\ \n\t\x01 \xff\xfe \xf0\x9f\x94\xa5 %s");
	memset(big, 'q', sizeof(big) - 1);
	make(3, 1, big);
	is_int(send_made(k, 20 * SECOND), 0, "three jobs");
	if (err.text[0])
		diag("%s", err.text);
	is_u64(count(SINK_ACKED), 3, "acked");
	is_u64(number("SELECT COUNT(*) FROM ceems.job"), 3, "three rows");
	is_u64(number("SELECT COUNT(*) FROM ceems.step"), 4, "and their steps");
	is_u64(number("SELECT energy_j FROM ceems.job WHERE jobid = 1"), 7201, "Slurm's joules");
	is_u64(number("SELECT cpu_energy_j FROM ceems.job WHERE jobid = 1"), 3, "whole joules");
	is_u64(number("SELECT co2e_g = 0.123456789 FROM ceems.job WHERE jobid = 1"), 1, "exact grams");
	is_u64(number("SELECT energy_j = 2 AND user_cpu_s = 1.234567 AND cycles IS NULL AND "
		      "step_name = 'it''s' FROM ceems.step WHERE step_id = 2"),
	       1, "a step");
	is_u64(number("SELECT COUNT(*) FROM ceems.job WHERE cycles IS NULL AND sluid IS NULL"), 3,
	       "unknown is NULL");
	is_u64(number("SELECT UNIX_TIMESTAMP(end_time) FROM ceems.job WHERE jobid = 1"), 1700003610,
	       "times are UTC");
	is_u64(number("SELECT COUNT(*) FROM ceems.job WHERE JSON_VALID(record) AND "
		      "JSON_VALUE(record, '$.key') = record_key"),
	       3, "the whole record is there");
	is_u64(number("SELECT job_name = JSON_VALUE(record, '$.job_name') AND job_name LIKE "
		      "'%DROP TABLE%%s' FROM ceems.job WHERE jobid = 2"),
	       1, "hostile text is text");
	is_u64(number("SELECT LENGTH(job_name) FROM ceems.job WHERE jobid = 3"), sizeof(big) - 1,
	       "long text too");
	is_u64(number("SELECT energy_kwh > 0 AND ABS(energy_kwh * 3600000 - energy_j) < 0.01 AND "
		      "mean_power_w > 2 FROM ceems.job_summary WHERE "
		      "jobid = 1"),
	       1, "job_summary");
	is_u64(number("SELECT cpu_efficiency IS NULL AND ABS(energy_imbalance) < 1e-9 AND "
		      "energy_max_node = 'n2' AND cpu_time_imbalance IS NULL AND cpu_time_max_node IS "
		      "NULL FROM ceems.step_summary WHERE step_id = 2"),
	       1, "step_summary");
	test_ratios();
	test_emissions();
	is_u64(number("SELECT jobs = 3 AND cpu_hours = 12 FROM ceems.user_month WHERE "
		      "username = 'alice' AND month = '2023-11'"),
	       1, "user_month");
	is_u64(number("SELECT jobs FROM ceems.account_month WHERE account = 'physics'"), 3, "account_month");
	admin_query("UPDATE ceems.job SET cpu_time_s = NULL, steps_cpu_s = 0.000123");
	test_walk(sink_mariadb.db, &settings, "123");
	admin_query("UPDATE ceems.step SET user_cpu_s = 1.5, system_cpu_s = 0.25");
	admin_query("UPDATE ceems.job SET steps_cpu_s = NULL");
	test_walk(sink_mariadb.db, &settings, "1750000");
	is_int(send_made(k, 20 * SECOND), 0, "as it was");
	before = number("SELECT BIT_XOR(CRC32(CONCAT_WS('|', record_key, energy_j, stored_at, "
			"job_name))) FROM ceems.job");
	is_int(send_made(k, 20 * SECOND), 0, "the same again");
	is_u64(number("SELECT BIT_XOR(CRC32(CONCAT_WS('|', record_key, energy_j, stored_at, "
		      "job_name))) FROM ceems.job"),
	       before, "changes nothing");
	is_u64(number("SELECT COUNT(*) FROM ceems.step"), 4, "nor the steps");
	make_free();

	/* a row that comes again is replaced entirely: also by what is not known any more */
	make(2000, 1, "x");
	is_int(send_made(k, 20 * SECOND), 0, "a job");
	make_free();
	make(2000, 1, NULL);
	is_int(send_made(k, 20 * SECOND), 0, "and its correction");
	is_u64(number("SELECT job_name IS NULL FROM ceems.job WHERE jobid = 2000"), 1,
	       "which has no name any more");
	make_free();
	admin_query("DELETE FROM ceems.job WHERE jobid = 2000");
	admin_query("DELETE FROM ceems.step WHERE record_key LIKE '%/2000,%'");

	/*
	 * a text that is no record, a key that the server refuses, a record too large
	 * for it; between good ones
	 */
	make(10, 1, "good");
	made.json[1] = strdup("{\"schema\":");
	made.item[1] = (struct sink_item){ STORE_RECORD, "bad", 3, made.json[1], 10, 1, NULL, false };
	made.n++;
	make(11, 0, "key with \xc3\xa4");
	made.item[2].key = "c\xc3\xa4/1/0";
	made.item[2].key_len = 7;
	static char huge[1200000];
	memset(huge, 'h', sizeof(huge) - 1);
	make(12, 0, huge);
	make(13, 2, "good");
	is_int(send_made(k, 20 * SECOND), 0, "some are at fault");
	ok(made.r[0] == SINK_ACKED && made.r[1] == SINK_REFUSED && made.r[2] == SINK_REFUSED &&
		   made.r[3] == SINK_REFUSED && made.r[4] == SINK_ACKED,
	   "only those are refused");
	ok(strstr(sink_why(&made.item[1]), "end of file"), "one is no record: %s", sink_why(&made.item[1]));
	ok(strstr(sink_why(&made.item[2]), "record_key"), "one has a bad key: %s", sink_why(&made.item[2]));
	ok(strstr(sink_why(&made.item[3]), "max_allowed_packet"), "one is too large: %s",
	   sink_why(&made.item[3]));
	is_u64(number("SELECT COUNT(*) FROM ceems.job WHERE jobid IN (10, 13)"), 2, "the others are there");
	make_free();
	for (i = 0; i < 500; i++)
		make(1000 + i, 3, "x");
	is_int(send_made(k, 20 * SECOND), 0, "a full batch");
	is_u64(count(SINK_ACKED), 500, "acked");
	is_u64(number("SELECT COUNT(*) FROM ceems.job WHERE jobid >= 1000"), 500, "rows");
	is_u64(number("SELECT COUNT(*) FROM ceems.step JOIN ceems.job USING (record_key) WHERE jobid >= "
		      "1000"),
	       1500, "steps");
	make_free();
	sink_mariadb.close(k);
}

static void test_trouble(void)
{
	struct sink *k = NULL;
	uint64_t t;
	int status;
	size_t i;

	sink_mariadb.open(&settings, &k, &err);
	make(5000, 1, "x");
	is_int(send_made(k, 20 * SECOND), 0, "connected");
	/* what wait_timeout does */
	MYSQL *m = admin();
	uint64_t id = 0;
	char sql[64];
	require(mariadb_client_number(m,
				      "SELECT MIN(id) FROM information_schema.processlist WHERE "
				      "db = 'ceems'",
				      &id, &err) == 0);
	snprintf(sql, sizeof(sql), "KILL %" PRIu64, id);
	mariadb_client_query(m, sql, NULL);
	mariadb_client_close(m);
	is_int(send_made(k, 20 * SECOND), 0, "a connection the server closed is made again");
	is_u64(count(SINK_ACKED), 1, "acked");

	/* somebody alters the table: an error of the admin's, records wait */
	admin_query("ALTER TABLE ceems.step RENAME TO ceems.gone");
	is_int(send_made(k, 20 * SECOND), -EAGAIN, "a table is missing");
	is_u64(count(SINK_RETRY), 1, "the record waits");
	ok(strstr(err.text, "step") != NULL, "%s", err.text);
	is_u64(number("SELECT COUNT(*) FROM ceems.job WHERE jobid = 5000"), 1, "(as it was)");
	admin_query("ALTER TABLE ceems.gone RENAME TO ceems.step");
	is_int(send_made(k, 20 * SECOND), 0, "put right");

	/* somebody locks the rows for long */
	m = admin();
	mariadb_client_query(m, "LOCK TABLES ceems.job WRITE", &err);
	sink_mariadb.close(k);
	k = NULL;
	sink_mariadb.open(&settings, &k, &err);
	t = clock_mono_ns();
	is_int(send_made(k, SECOND), -EAGAIN, "locked");
	t = clock_mono_ns() - t;
	ok(t < 8 * SECOND, "gives up in time (%" PRIu64 " ms): %s", t / NSEC_PER_MSEC, err.text);
	mariadb_client_close(m);
	is_int(send_made(k, 20 * SECOND), 0, "unlocked");

	/* a slow one: what does not go at once goes in smaller parts */
	make_free();
	for (i = 0; i < 200; i++)
		make(6000 + (uint32_t)i, 0, "x");
	admin_query("CREATE TRIGGER ceems.slow BEFORE INSERT ON ceems.job FOR EACH ROW DO SLEEP(0.01)");
	sink_mariadb.close(k);
	k = NULL;
	sink_mariadb.open(&settings, &k, &err);
	for (i = 0; i < 6 && send_made(k, SECOND) < 0; i++)
		;
	admin_query("DROP TRIGGER ceems.slow");
	ok(number("SELECT COUNT(*) FROM ceems.job WHERE jobid >= 6000") >= 8,
	   "a slow server gets smaller transactions (%zu tries)", i);

	/* so slow that there is time for one record, as if each had the steps of a long job */
	make_free();
	for (i = 0; i < 20; i++)
		make(6500 + (uint32_t)i, 0, "x");
	admin_query("CREATE TRIGGER ceems.slow BEFORE INSERT ON ceems.job FOR EACH ROW DO SLEEP(0.4)");
	sink_mariadb.close(k);
	k = NULL;
	sink_mariadb.open(&settings, &k, &err);
	for (i = 0; i < 20 && number("SELECT COUNT(*) FROM ceems.job WHERE jobid >= 6500") == 0; i++)
		(void)send_made(k, SECOND);
	admin_query("DROP TRIGGER ceems.slow");
	ok(i < 20, "a slower one gets transactions of one record (%zu tries)", i);
	make_free();
	make(5000, 1, "x");
	sink_mariadb.close(k);
	k = NULL;
	sink_mariadb.open(&settings, &k, &err);
	is_int(send_made(k, 3 * SECOND), 0, "as before");

	/* killed and started again */
	mariadbd_stop(&server, SIGKILL);
	is_int(send_made(k, 2 * SECOND), -EAGAIN, "server killed");
	is_u64(count(SINK_RETRY), 1, "the record waits");
	diag("%s", err.text);
	is_int(send_made(k, 2 * SECOND), -EAGAIN, "still");
	ok(mariadbd_start(&server), "server started again");
	/* a loaded machine may need more than one try */
	for (i = 0; i < 10 && send_made(k, 3 * SECOND) < 0; i++)
		;
	ok(i < 10, "delivered");
	is_u64(count(SINK_ACKED), 1, "acked");

	/* stopped: it listens, but never answers */
	kill(server.pid, SIGSTOP);
	/* until the last of its threads has */
	(void)waitpid(server.pid, &status, WUNTRACED);
	t = clock_mono_ns();
	is_int(send_made(k, SECOND), -EAGAIN, "server hangs");
	t = clock_mono_ns() - t;
	ok(t < 15 * SECOND, "gives up (%" PRIu64 " ms)", t / NSEC_PER_MSEC);
	t = clock_mono_ns();
	is_int(send_made(k, SECOND), -EAGAIN, "and does not answer the first word");
	sink_mariadb.close(k);
	t = clock_mono_ns() - t;
	ok(t < 5 * SECOND, "gives up in time (%" PRIu64 " ms): %s", t / NSEC_PER_MSEC, err.text);
	kill(server.pid, SIGCONT);
	make_free();
}

int main(void)
{
	const char *top = getenv("top_srcdir");
	const char *why;
	char text[PATH_MAX + 64];
	struct sigaction before;
	struct sigaction after;
	int n;

	if (!mkdtemp(dir))
		return 99;
	snprintf(sql_dir, sizeof(sql_dir), "%s/sql", getenv("top_builddir"));
	snprintf(settings.emission_factor_file, sizeof(settings.emission_factor_file),
		 "%s/src/libemission/data/emission-factors.csv", top ? top : ".");
	logger_set_sink(NULL);
	test_columns();
	test_upsert();
	test_without_steps();
	test_config();
	test_migrate_files();
	why = mariadbd_install(&server, dir);
	if (!why && !mariadbd_start(&server))
		why = "mariadbd does not start here";
	if (!why) {
		n = snprintf(text, sizeof(text), "[client]\nsocket=%s\nuser=root\n", server.socket);
		scratch_write(settings.mariadb_defaults_file, text, (size_t)n);
		sigaction(SIGPIPE, NULL, &before);
		mariadb_client_close(admin());
		sigaction(SIGPIPE, NULL, &after);
		ok(before.sa_handler == after.sa_handler, "the host's SIGPIPE is left alone");
		test_migrate();
		test_upgrade();
		test_rows();
		test_trouble();
	} else {
		skip(1, why);
	}
	mariadbd_stop(&server, SIGKILL);
	scratch_clear(dir);
	is_int(rmdir(dir), 0, "nothing left behind");
	return done_testing();
}
