/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Jobs of three years in a private mariadbd: summed up and dropped month by month, killed after each
 * step; what usage_all says stays the same all the time.
 */
#define _GNU_SOURCE
#include "mariadb_rig.h"
#include "src/libsink/mariadb/db_maintain.h"
#include "src/libsink/mariadb/db_partition.h"
#include "src/libutil/logger.h"
#include "src/libutil/util.h"

#define DAY (86400 * SECOND)

static char lines[16384];
static unsigned int nlines;
static unsigned int die_at; /* at this line; 0: never */

static void keep_line(void *ctx, const char *line)
{
	(void)ctx;
	strncat(lines, line, sizeof(lines) - strlen(lines) - 2);
	strcat(lines, "\n");
	if (++nlines == die_at)
		(void)raise(SIGKILL);
}

static int maintain(uint64_t retention_ns, bool dry_run)
{
	struct db_options o = { .retention_ns = retention_ns, .dry_run = dry_run, .report = keep_line };
	int rc;

	lines[0] = '\0';
	nlines = 0;
	rig.err.text[0] = '\0';
	rc = db_maintain_run(&rig.settings, &o, &rig.err);
	if (rc < 0)
		diag("%s", rig.err.text);
	return rc;
}

/* N jobs, one each 3 days, of users whose names differ little, the newest FROM days ago. */
static void fill(unsigned int first, unsigned int n, unsigned int from)
{
	char sql[2048];

	snprintf(sql, sizeof(sql),
		 "SET time_zone = '+00:00';"
		 "INSERT INTO ceems.job (record_key, submit_time, cluster, jobid, restart_count, user_id, "
		 "group_id, username, account, partition_name, state, start_time, end_time, elapsed_s, "
		 "total_cpus, total_nodes, energy_final, energy_j, co2e_g, cpu_time_s, pue, market_co2e_g, "
		 "embodied_g, fresh_factor_j, static_factor_j, record) SELECT CONCAT('c/', seq), @t := "
		 "UTC_TIMESTAMP() - INTERVAL (%u + 3 * (seq - %u)) DAY, 'c', seq, 0, 1000, 1000, ELT(1 + "
		 "seq %% 4, 'bob', 'Bob', 'bob ', NULL), ELT(1 + seq %% 2, 'a''b', 'ä'), 'part', "
		 "'COMPLETED', @t, @t + INTERVAL 1 DAY, 86400, 4, 1, 1, IF(seq %% 5, seq, NULL), seq / 7, "
		 "IF(seq %% 3, seq, NULL), 1.5, seq / 3, seq, IF(seq %% 2, seq, NULL), 1, '{}' FROM "
		 "ceems.seq WHERE seq >= %u AND seq < %u;"
		 "INSERT IGNORE INTO ceems.usage_open SELECT DATE(submit_time) FROM ceems.job WHERE "
		 "jobid >= %u AND jobid < %u;"
		 "INSERT INTO ceems.step (record_key, step_id, submit_time, energy_j) SELECT "
		 "record_key, 0, submit_time, energy_j FROM ceems.job WHERE jobid >= %u AND jobid < %u",
		 from, first, first, first + n, first, first + n, first, first + n);
	ok(rig_query(sql), "%u jobs", n);
}

/* All that must never change. */
static uint64_t checksum(void)
{
	return rig_number("SELECT CRC32(CONCAT_WS('|', SUM(jobs), SUM(jobs_measured), SUM(energy_j), "
			  "SUM(co2e_g), SUM(cpu_s), SUM(cpu_used_s), SUM(cpu_used_of_s), "
			  "SUM(cpu_used_jobs), SUM(jobs * CRC32(CONCAT_WS('/', day, cluster, HEX("
			  "username), account, partition_name, state))))) FROM ceems.usage_all");
}

static uint64_t by_month(void)
{
	return rig_number("SELECT BIT_XOR(CRC32(CONCAT_WS('|', cluster, HEX(username), month, jobs, "
			  "jobs_measured, ROUND(cpu_hours, 3), ROUND(energy_kwh, 6), ROUND(co2e_kg, 6), "
			  "ROUND(cpu_efficiency, 6)))) FROM ceems.user_month") ^
	       rig_number("SELECT BIT_XOR(CRC32(CONCAT_WS('|', HEX(username), account, month, "
			  "ROUND(co2e_kg, 6), ROUND(market_co2e_kg, 6), ROUND(embodied_kg, 6), "
			  "ROUND(mean_g_per_kwh, 6), ROUND(fresh_share, 6), ROUND(static_share, 6)))) "
			  "FROM ceems.emissions_month");
}

static uint64_t partitions(const char *table)
{
	char sql[256];

	snprintf(sql, sizeof(sql),
		 "SELECT COUNT(*) FROM information_schema.PARTITIONS WHERE "
		 "TABLE_SCHEMA = 'ceems' AND TABLE_NAME = '%s' AND PARTITION_NAME IS NOT NULL",
		 table);
	return rig_number(sql);
}

static void test_partitions(void)
{
	const uint64_t all = DB_PARTITION_BACK + 1 + DB_PARTITION_AHEAD + 1;

	is_u64(partitions("job"), all, "a partition for each month, and one for what comes later");
	is_u64(partitions("step"), all, "of step, too");
	is_u64(rig_number("SELECT COUNT(*) FROM information_schema.PARTITIONS WHERE TABLE_SCHEMA = 'ceems' "
			  "AND PARTITION_DESCRIPTION = QUOTE(DATE(CONCAT(SUBSTR(PARTITION_NAME, 2), '01')) "
			  "+ INTERVAL 1 MONTH) AND SUBSTR(PARTITION_NAME, 2) BETWEEN "
			  "EXTRACT(YEAR_MONTH FROM UTC_TIMESTAMP() - INTERVAL 13 MONTH) AND "
			  "EXTRACT(YEAR_MONTH FROM UTC_TIMESTAMP() + INTERVAL 3 MONTH)"),
	       2 * (all - 1), "each has its own month");
	is_int(maintain(0, false), 0, "nothing to do");
	is_str(lines, "", "says nothing");
	/* as it is when nobody looked for two months */
	rig_query("SET @n = (SELECT GROUP_CONCAT(PARTITION_NAME) FROM information_schema.PARTITIONS "
		  "WHERE TABLE_SCHEMA = 'ceems' AND TABLE_NAME = 'job' AND "
		  "PARTITION_ORDINAL_POSITION IN (16, 17)); SET @s = CONCAT('ALTER TABLE ceems.job DROP "
		  "PARTITION ', @n); PREPARE s FROM @s; EXECUTE s");
	fill(1, 1, 0);
	is_int(maintain(0, true), 0, "dry run, two months missing");
	is_str(lines, "job: would get 2 partitions\n", "says what would be made");
	is_int(maintain(0, false), 0, "the run");
	is_str(lines, "job: got 2 partitions\n", "makes them");
	is_u64(partitions("job"), all, "all months are there again");
}

static void test_kills(void)
{
	uint64_t want;
	uint64_t months;
	unsigned int kills = 0;
	bool all_same = true;
	int status = -1;

	fill(2, 400, 0);
	want = checksum();
	months = by_month();
	is_u64(rig_number("SELECT COUNT(*) FROM ceems.job"), 401, "jobs of three years");
	is_int(maintain(365 * DAY, true), 0, "dry run");
	ok(strstr(lines, "would sum up") != NULL, "%s", lines);
	is_u64(checksum(), want, "changes nothing");
	/* every run dies one line later than the one before; so each step is the last of some run */
	for (die_at = 1; die_at < 40; die_at++) {
		pid_t pid = fork();

		if (!pid) {
			nlines = 0;
			_exit(maintain(365 * DAY, false) < 0);
		}
		waitpid(pid, &status, 0);
		if (checksum() != want || by_month() != months) {
			diag("differs after line %u", die_at);
			all_same = false;
		}
		if (WIFEXITED(status))
			break;
		kills++;
	}
	die_at = 0;
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "done at last");
	ok(kills >= 3, "killed %u times", kills);
	ok(all_same, "no job was lost or counted twice at any time");
}

/* Killed after each of the steps that drop a partition. */
static void test_kill_each(void)
{
	static const char *const last[] = { "the sums are kept", "dropped of step", "dropped" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(last); i++) {
		/* one month's partition more goes when less is kept */
		uint64_t keep = (330 - 31 * i) * DAY;
		uint64_t want = checksum();
		int status = 0;
		pid_t pid = fork();

		if (!pid) {
			die_at = (unsigned int)i + 1;
			_exit(maintain(keep, false) < 0);
		}
		waitpid(pid, &status, 0);
		ok(WIFSIGNALED(status) && checksum() == want, "killed after '%s'", last[i]);
		is_int(maintain(keep, false), 0, "the next one goes on");
		ok(strstr(lines, "goes on where it stopped") != NULL, "and says so");
		ok(checksum() == want && !rig_number("SELECT COUNT(*) FROM ceems.archived WHERE state "
						     "<> 'gone'"),
		   "all is counted once");
		is_u64(partitions("job"), partitions("step"), "step has the same partitions");
	}
	die_at = 0;
	is_u64(rig_number("SELECT COUNT(*) FROM ceems.step LEFT JOIN ceems.job USING (record_key, "
			  "submit_time) WHERE job.record_key IS NULL"),
	       0, "no steps without job");
}

/* A correction to a month of which the sums were kept, but not the partition dropped, when it was killed. */
static void test_correction_between(void)
{
	static const char energy[] = "SELECT SUM(energy_j) FROM ceems.usage_all";
	uint64_t keep = (330 - 31 * 3) * DAY;
	uint64_t jobs = rig_number("SELECT SUM(jobs) FROM ceems.usage_all");
	uint64_t was = rig_number(energy);
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		die_at = 1;
		_exit(maintain(keep, false) < 0);
	}
	waitpid(pid, &status, 0);
	ok(WIFSIGNALED(status) && rig_number("SELECT COUNT(*) FROM ceems.usage_day JOIN ceems.archived ON "
					     "archived.id = archived_id WHERE archived.state = 'leaving'"),
	   "killed with the sums kept");
	rig_query("SET @job = (SELECT MAX(jobid) FROM ceems.job); "
		  "INSERT IGNORE INTO ceems.usage_open SELECT DATE(submit_time) FROM ceems.job WHERE "
		  "jobid = @job; UPDATE ceems.job SET energy_j = COALESCE(energy_j, 0) + 5000000, "
		  "co2e_g = 1 WHERE jobid = @job");
	is_int(maintain(keep, false), 0, "the next run");
	is_u64(rig_number(energy), was + 5000000, "has the correction");
	is_u64(rig_number("SELECT SUM(jobs) FROM ceems.usage_all"), jobs, "and each job once");
	ok(strstr(lines, ": dropped\n") != NULL, "and the month is gone");
}

static void test_late(void)
{
	uint64_t jobs = rig_number("SELECT SUM(jobs) FROM ceems.usage_all");

	fill(1000, 1, 600);
	is_u64(rig_number("SELECT SUM(jobs) FROM ceems.usage_all"), jobs + 1,
	       "a job that comes after its month was dropped is counted");
	is_int(maintain(365 * DAY, false), 0, "maintenance");
	is_u64(rig_number("SELECT SUM(jobs) FROM ceems.usage_all"), jobs + 1, "it still counts");
	is_u64(rig_number("SELECT COUNT(*) FROM ceems.job WHERE jobid = 1000"), 1,
	       "it stays in the lowest partition");
	/* submitted long ago, ended now: its month stays */
	rig_query("UPDATE ceems.job SET end_time = UTC_TIMESTAMP() WHERE jobid = 1000");
	is_int(maintain(31 * DAY, false), 0, "a job that waited or ran for long");
	is_u64(rig_number("SELECT COUNT(*) FROM ceems.job WHERE jobid = 1000"), 1, "is kept");
	ok(strstr(lines, ": stays, 1 of its jobs ended later") != NULL, "%s", lines);
}

/* Sums that are kept are those of the jobs; whoever writes to one makes them count anew. */
static void test_days(void)
{
	uint64_t want = checksum();

	is_int(maintain(0, false), 0, "a run that sums up days");
	is_u64(rig_number("SELECT COUNT(*) FROM ceems.usage_open WHERE submit_day < CURRENT_DATE - "
			  "INTERVAL 2 DAY"),
	       0, "none but the last are open");
	ok(checksum() == want, "and all is counted as before");
	is_u64(rig_number("SELECT SUM(jobs) = (SELECT COUNT(*) FROM ceems.job WHERE submit_time < "
			  "CURRENT_DATE - INTERVAL 2 DAY) FROM ceems.usage_day WHERE archived_id = 0"),
	       1, "each job of a closed day is summed up once");
	rig_query("INSERT IGNORE INTO ceems.usage_open SELECT DATE(submit_time) FROM ceems.job WHERE "
		  "jobid = 10; UPDATE ceems.job SET energy_j = 1000000, end_time = end_time + INTERVAL "
		  "1 DAY WHERE jobid = 10");
	is_u64(rig_number("SELECT SUM(energy_j) = (SELECT SUM(energy_j) FROM ceems.job) + (SELECT "
			  "SUM(energy_j) FROM ceems.usage_day WHERE archived_id) FROM ceems.usage_all"),
	       1, "a correction counts at once");
	want = checksum();
	is_int(maintain(0, true), 0, "dry run");
	is_str(lines, "days would be summed up\n", "says so");
	is_int(maintain(0, false), 0, "the run");
	is_str(lines, "summed up 1 days\n", "that day only");
	ok(checksum() == want, "all is counted as before");
	is_int(maintain(0, false), 0, "nothing to do");
	is_str(lines, "", "says nothing");
}

/* A writer has the day: it is waited for, and what it wrote is in the sum. */
static void test_days_locked(void)
{
	MYSQL *m = rig_connect(rig.settings.mariadb_defaults_file, "ceems", 0);
	int status = -1;
	pid_t pid;

	rig_query("INSERT INTO ceems.usage_open SELECT DATE(submit_time) FROM ceems.job WHERE jobid = 10");
	mariadb_client_query(m, "START TRANSACTION", &rig.err);
	mariadb_client_query(m,
			     "INSERT IGNORE INTO usage_open SELECT DATE(submit_time) FROM job WHERE "
			     "jobid = 10",
			     &rig.err);
	mariadb_client_query(m, "UPDATE job SET energy_j = 2000000 WHERE jobid = 10", &rig.err);
	pid = fork();
	if (!pid)
		_exit(maintain(0, false) < 0 || strcmp(lines, "summed up 1 days\n"));
	while (rig_number("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE "
			  "'SELECT submit_day%FOR UPDATE'") != 1 &&
	       !waitpid(pid, &status, WNOHANG))
		nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
	mariadb_client_query(m, "COMMIT", &rig.err);
	mariadb_client_close(m);
	ok(waitpid(pid, &status, 0) == pid && status == 0, "waits for the writer");
	is_u64(rig_number("SELECT SUM(energy_j) FROM ceems.usage_day WHERE archived_id = 0 AND "
			  "submit_day = (SELECT DATE(submit_time) FROM ceems.job WHERE jobid = 10)"),
	       2000000, "and has what it wrote");
}

/* A reader holds the table: maintenance waits for it in many short waits. */
static void test_locked(void)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		MYSQL *m = rig_connect(rig.settings.mariadb_defaults_file, "ceems", 0);

		mariadb_client_query(m, "SELECT SLEEP(5) FROM ceems.job LIMIT 1", NULL);
		_exit(0);
	}
	while (rig_number("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE "
			  "'SELECT SLEEP%'") != 1)
		nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
	rig_query("UPDATE ceems.job SET end_time = submit_time");
	is_int(maintain(31 * DAY, false), 0, "a table in use");
	ok(strstr(lines, ": dropped\n") != NULL, "is waited for, then dropped");
	waitpid(pid, &status, 0);
	die_at = 0;
	MYSQL *m = rig_connect(rig.settings.mariadb_defaults_file, "ceems", 0);
	uint64_t got = 0;

	require(mariadb_client_number(m, "SELECT GET_LOCK('ceems migrate ceems', 1)", &got, NULL) == 0);
	is_int(maintain(31 * DAY, false), -EBUSY, "two at once: one gives up");
	mariadb_client_close(m);
}

/* After a downgrade. */
static void test_later_schema(void)
{
	rig_query("INSERT INTO ceems.schema_version (version) VALUES (99)");
	is_int(maintain(31 * DAY, false), -EPROTO, "a schema of a later version is left alone");
	rig_query("DELETE FROM ceems.schema_version WHERE version = 99");
}

int main(void)
{
	const char *why = rig_start();

	logger_set_sink(NULL);
	if (why) {
		skip(1, why);
	} else if (ok(rig_migrate(), "migrate") && rig_make_seq("ceems.seq")) {
		test_partitions();
		test_kills();
		test_days();
		test_days_locked();
		test_kill_each();
		test_correction_between();
		test_late();
		test_locked();
		test_later_schema();
	}
	rig_stop();
	return done_testing();
}
