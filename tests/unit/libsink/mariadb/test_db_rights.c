/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sql/grants.sql.example as it is shipped, in a private mariadbd: each right that somebody needs is
 * there, and each other is refused. Users of the role ceems_user try to see others' jobs.
 */
#define _GNU_SOURCE
#include "mariadb_rig.h"
#include "src/librecord/record.h"
#include "src/libsink/mariadb/db_maintain.h"
#include "src/libsink/sink.h"
#include "src/libutil/logger.h"
#include "src/libutil/util.h"

/* FROM for each TO, in TEXT; malloc'ed. */
static char *replaced(const char *text, const char *from, const char *to)
{
	char *out = calloc(1, strlen(text) * 2 + 1);
	const char *at;

	while ((at = strstr(text, from))) {
		strncat(out, text, (size_t)(at - text));
		strcat(out, to);
		text = at + strlen(from);
	}
	return strcat(out, text);
}

static bool grants(void)
{
	char path[PATH_MAX];
	size_t len;
	char *text;
	char *sql;
	bool good;

	snprintf(path, sizeof(path), "%s/sql/grants.sql.example", getenv("top_srcdir"));
	text = scratch_read(path, &len);
	if (!text)
		return false;
	/* all come by the socket here */
	sql = replaced(text, "slurmctld.example.org", "localhost");
	good = rig_query(sql);
	free(sql);
	free(text);
	return good;
}

/* Runs SQL as USER in database ceems: 0, or the server's number of the error. */
static unsigned int as(const char *user, const char *password, const char *sql)
{
	char path[PATH_MAX];
	unsigned int code = 0;
	MYSQL *m = NULL;

	rig_defaults_file("user.cnf", user, password, path, sizeof(path));
	if (mariadb_client_open(path, NULL, 60 * SECOND, 0, CLIENT_MULTI_STATEMENTS, &m, &rig.err) < 0) {
		diag("%s", rig.err.text);
		return 1;
	}
	rig.err.text[0] = '\0';
	if (mariadb_client_query(m, sql, &rig.err) < 0)
		code = mysql_errno(m) ? mysql_errno(m) : 1;
	mariadb_client_close(m);
	return code;
}

/* The number that SQL has for USER; UINT64_MAX: an error. */
static uint64_t number_as(const char *user, const char *password, const char *sql)
{
	uint64_t n = UINT64_MAX;
	char path[PATH_MAX];
	MYSQL *m;

	rig_defaults_file("user.cnf", user, password, path, sizeof(path));
	m = rig_connect(path, NULL, 0);
	if (m && mariadb_client_number(m, sql, &n, &rig.err) < 0)
		diag("%s: %s", user, rig.err.text);
	mariadb_client_close(m);
	return n;
}

static void test_writer(void)
{
	static const char *const refused[] = {
		"DELETE FROM ceems.job",
		"DELETE FROM ceems.step",
		"TRUNCATE ceems.job",
		"DROP TABLE ceems.step",
		"ALTER TABLE ceems.job ADD COLUMN x INT",
		"ALTER TABLE ceems.job DROP PARTITION pmax",
		"CREATE TABLE ceems.x (a INT)",
		"SELECT * FROM ceems.usage_day",
		"UPDATE ceems.usage_day SET jobs = 0",
		"INSERT INTO ceems.schema_version (version) VALUES (9)",
		"LOCK TABLES ceems.job WRITE",
		"SELECT * FROM mysql.user",
		"SELECT * FROM ceems.job INTO OUTFILE '/tmp/ceems-x'",
		"GRANT SELECT ON ceems.job TO ceems_reader",
		"CREATE USER x",
		"LOAD DATA INFILE '/etc/passwd' INTO TABLE ceems.job",
	};
	struct settings s = rig.settings;
	enum sink_result r[1];
	struct sink_item item = { .kind = STORE_RECORD, .key = "c/1,1700000000,0/0" };
	struct record *rec = record_create();
	struct sink *k = NULL;
	char *json = NULL;
	size_t i;

	rec->cluster = strdup("c");
	rec->job_id = 1;
	rec->submit = 1700000000;
	rec->user_name = strdup("alice");
	rec->steps_known = true;
	rec->steps = calloc(1, sizeof(*rec->steps));
	rec->nsteps = 1;
	values_init(&rec->steps[0].values);
	require(record_to_json(rec, &json, &item.json_len, &rig.err) == 0);
	item.json = json;
	item.key_len = strlen(item.key);
	rig_defaults_file("writer.cnf", "ceems_writer", "CHANGE-ME-1", s.mariadb_defaults_file,
			  sizeof(s.mariadb_defaults_file));
	is_int(sink_mariadb.open(&s, &k, &rig.err), 0, "the sink as ceems_writer");
	is_int(sink_mariadb.deliver(k, &item, 1, r, 60 * SECOND, &rig.err), 0, "stores a job");
	is_int(r[0], SINK_ACKED, "acked");
	is_int(sink_mariadb.deliver(k, &item, 1, r, 60 * SECOND, &rig.err), 0, "stores it again");
	sink_mariadb.close(k);
	record_destroy(rec);
	free(json);
	for (i = 0; i < ARRAY_SIZE(refused); i++)
		ok(as("ceems_writer", "CHANGE-ME-1", refused[i]) > 1, "writer: %s: %s", refused[i],
		   rig.err.text);
}

static void test_reader(void)
{
	static const char *const views[] = { "job",
					     "step",
					     "job_summary",
					     "step_summary",
					     "usage_all",
					     "user_month",
					     "account_month",
					     "partition_day",
					     "emissions_month",
					     "efficiency",
					     "emission_factor",
					     "archived",
					     "usage_day" };
	static const char *const refused[] = {
		"UPDATE ceems.job SET energy_j = 0",
		"DELETE FROM ceems.job",
		"INSERT INTO ceems.archived (partition_of, state) VALUES ('x', 'gone')",
		"DROP VIEW ceems.my_jobs",
		"CREATE VIEW ceems.x AS SELECT 1",
	};
	char sql[128];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(views); i++) {
		snprintf(sql, sizeof(sql), "SELECT * FROM ceems.%s", views[i]);
		is_int((int)as("ceems_reader", "CHANGE-ME-2", sql), 0, sql);
	}
	for (i = 0; i < ARRAY_SIZE(refused); i++)
		ok(as("ceems_reader", "CHANGE-ME-2", refused[i]) > 1, "reader: %s: %s", refused[i],
		   rig.err.text);
}

static void test_admins(void)
{
	struct db_options m = { .sql_dir = rig.sql_dir };
	struct db_options o = { .retention_ns = 365 * 86400 * SECOND };
	static char admin[PATH_MAX];
	static char maintainer[PATH_MAX];

	rig_defaults_file("admin.cnf", "ceems_admin", "CHANGE-ME-3", admin, sizeof(admin));
	rig_defaults_file("maintainer.cnf", "ceems_maintainer", "CHANGE-ME-4", maintainer,
			  sizeof(maintainer));
	m.defaults_file = admin;
	rig_query("DROP DATABASE ceems");
	if (!is_int(migrate_run(&rig.settings, &m, &rig.err), 0, "the admin makes it anew"))
		diag("%s", rig.err.text);
	rig_query("INSERT INTO ceems.usage_open VALUES ('2001-01-01'); "
		  "INSERT INTO ceems.job (record_key, submit_time, cluster, jobid, restart_count, "
		  "user_id, group_id, energy_final, record, end_time, username) SELECT 'old', "
		  "'2001-01-01', 'c', 7, 0, 1, 1, 1, '{}', '2001-01-02', 'alice'");
	o.defaults_file = maintainer;
	if (!is_int(db_maintain_run(&rig.settings, &o, &rig.err), 0, "the maintainer maintains"))
		diag("%s", rig.err.text);
	is_u64(rig_number("SELECT SUM(jobs) FROM ceems.usage_day"), 1, "and summed up the old job");
	ok(as("ceems_maintainer", "CHANGE-ME-4", "SELECT * FROM mysql.user") > 1,
	   "the maintainer may not read mysql.user");
	ok(as("ceems_admin", "CHANGE-ME-3", "SELECT * FROM mysql.user") > 1, "nor may the admin");
}

/* --- users ------------------------------------------------------------------------------- */

static void add_user(const char *account)
{
	char sql[512];

	snprintf(sql, sizeof(sql),
		 "CREATE USER %s IDENTIFIED BY 'pw'; GRANT ceems_user TO %s; "
		 "SET DEFAULT ROLE ceems_user %s %s",
		 account, account, mariadbd_is_mysql() ? "TO" : "FOR", account);
	rig_query(sql);
}

static void test_own(void)
{
	static const char *const names[] = { "alice", "bob", "Bob", "bob ",	"bob@x",
					     "o'b",   "%",   "b_b", "\xc3\xa4", "A" };
	char sql[1024];
	char quoted[64];
	size_t i;

	rig_query("DELETE FROM ceems.job; DELETE FROM ceems.step");
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		mysql_escape_string(quoted, names[i], strlen(names[i]));
		snprintf(sql, sizeof(sql),
			 "SET NAMES utf8mb4; INSERT INTO ceems.job (record_key, submit_time, cluster, "
			 "jobid, restart_count, user_id, group_id, energy_final, record, username) VALUES "
			 "('k%zu', '2026-01-01', 'c', %zu, 0, 1, 1, 1, '{}', '%s'); INSERT INTO ceems.step "
			 "(record_key, step_id, submit_time) VALUES ('k%zu', 0, '2026-01-01')",
			 i, i + 1, quoted, i);
		rig_query(sql);
	}
	rig_query("INSERT INTO ceems.job (record_key, submit_time, cluster, jobid, restart_count, "
		  "user_id, group_id, energy_final, record, username) VALUES "
		  "('kn', '2026-01-01', 'c', 100, 0, 1, 1, 1, '{}', NULL)");
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strcmp(names[i], "bob "))
			continue; /* no name for an account */
		mysql_escape_string(quoted, names[i], strlen(names[i]));
		snprintf(sql, sizeof(sql), "'%s'@'localhost'", quoted);
		add_user(sql);
		is_u64(number_as(names[i], "pw", "SELECT GROUP_CONCAT(jobid) FROM ceems.my_jobs"), i + 1,
		       names[i]);
		is_u64(number_as(names[i], "pw", "SELECT COUNT(*) FROM ceems.my_steps"), 1, "and one step");
	}
}

/*
 * What is mallory's own runs with his rights, but his callers' names. In MariaDB it lacks his role. In
 * MySQL it has his default roles, so views.sql says who must not get the role there.
 */
static void test_others_code(void)
{
	if (mariadbd_is_mysql()) {
		is_int((int)as("mallory", "pw",
			       "CREATE SQL SECURITY DEFINER VIEW own.v AS SELECT * FROM ceems.my_jobs"),
		       0, "mallory makes a view of his own");
		is_u64(number_as("mallory", "pw", "SELECT COUNT(*) FROM own.v"), 0,
		       "which shows him nothing");
		is_u64(number_as("alice", "pw", "SELECT COUNT(*) FROM own.v"), 1,
		       "in MySQL it shows alice her own jobs, as views.sql says");
		return;
	}
	is_int((int)as("mallory", "pw",
		       "CREATE FUNCTION own.f() RETURNS INT SQL SECURITY DEFINER READS SQL DATA RETURN "
		       "(SELECT COUNT(*) FROM ceems.my_jobs);"
		       "CREATE FUNCTION own.g() RETURNS INT SQL SECURITY INVOKER READS SQL DATA RETURN "
		       "(SELECT COUNT(*) FROM ceems.my_jobs);"
		       "CREATE TABLE own.loot (a INT);"
		       "CREATE TRIGGER own.t BEFORE INSERT ON own.loot FOR EACH ROW SET NEW.a = "
		       "(SELECT COUNT(*) FROM ceems.my_jobs);"
		       "CREATE PROCEDURE own.p() SQL SECURITY DEFINER SELECT * FROM ceems.my_jobs"),
	       0, "mallory makes functions of his own");
	is_u64(number_as("mallory", "pw", "SELECT own.g()"), 0, "his function shows him nothing");
	ok(as("alice", "pw", "SELECT own.f()") > 1, "nor does it run for alice: %s", rig.err.text);
	ok(as("alice", "pw", "CALL own.p()") > 1, "nor does his procedure: %s", rig.err.text);
	ok(as("alice", "pw", "INSERT INTO own.loot VALUES (1)") > 1, "nor does his trigger: %s",
	   rig.err.text);
	(void)as("mallory", "pw", "CREATE SQL SECURITY DEFINER VIEW own.v AS SELECT * FROM ceems.my_jobs");
	ok(as("alice", "pw", "SELECT * FROM own.v") > 1, "nor does his view: %s", rig.err.text);
}

static void test_tricks(void)
{
	static const char *const refused[] = {
		"SELECT * FROM ceems.job",
		"SELECT * FROM ceems.step",
		"SELECT * FROM ceems.usage_all",
		"SELECT * FROM ceems.job_summary",
		"SELECT * FROM ceems.user_month",
		"SELECT * FROM ceems.efficiency",
		"SELECT * FROM ceems.usage_day",
		"SELECT record FROM ceems.job PARTITION (pmax)",
		"UPDATE ceems.my_jobs SET energy_j = 0",
		"DELETE FROM ceems.my_jobs",
		"INSERT INTO ceems.my_jobs (record_key) VALUES ('x')",
		"SHOW CREATE VIEW ceems.my_jobs",
		"SHOW CREATE TABLE ceems.job",
		"CREATE VIEW ceems.v AS SELECT * FROM ceems.job",
		"CREATE VIEW own.v AS SELECT * FROM ceems.job",
		"CREATE DEFINER = root@localhost SQL SECURITY DEFINER VIEW own.v AS SELECT * FROM "
		"ceems.my_jobs",
		"CREATE DEFINER = root@localhost FUNCTION own.f() RETURNS INT RETURN 1",
		"SET ROLE ceems_reader",
		"SET ROLE mysql",
		"GRANT ceems_user TO mallory@localhost",
		"SELECT * FROM mysql.user",
		"HANDLER ceems.job OPEN",
		"LOCK TABLES ceems.job READ",
		"SET PASSWORD FOR alice@localhost = PASSWORD('x')",
		"CREATE USER x",
		"ALTER TABLE own.t EXCHANGE PARTITION p0 WITH TABLE ceems.job",
		"CREATE TABLE own.c LIKE ceems.job",
		"CREATE TRIGGER ceems.t BEFORE INSERT ON ceems.job "
		"FOR EACH ROW SET @x = 1",
		"EXPLAIN SELECT * FROM ceems.job",
		"CHECK TABLE ceems.job",
	};
	size_t i;

	add_user("mallory@localhost");
	rig_query("CREATE DATABASE own; GRANT ALL ON own.* TO mallory@localhost; GRANT ALL ON own.* TO "
		  "alice@localhost");
	is_u64(number_as("mallory", "pw", "SELECT COUNT(*) FROM ceems.my_jobs"), 0, "mallory has no jobs");
	for (i = 0; i < ARRAY_SIZE(refused); i++)
		ok(as("mallory", "pw", refused[i]) > 1, "user: %.60s: %.60s", refused[i], rig.err.text);
	is_u64(number_as("mallory", "pw",
			 "SELECT COUNT(*) FROM information_schema.TABLES WHERE "
			 "TABLE_SCHEMA = 'ceems' AND TABLE_NAME NOT LIKE 'my_%'"),
	       0, "sees no table");
	is_u64(number_as("mallory", "pw",
			 "SELECT COUNT(*) FROM information_schema.PARTITIONS WHERE "
			 "TABLE_SCHEMA = 'ceems' AND TABLE_NAME NOT LIKE 'my_%'"),
	       0, "nor partition");
	test_others_code();
	is_u64(number_as("alice", "pw", "SELECT COUNT(*) FROM ceems.my_jobs"), 1,
	       "alice herself sees her job");
	/* an account without a name takes any */
	rig_query("CREATE USER ''@'localhost'; RENAME USER bob@localhost TO bob@'10.0.0.1'");
	is_u64(number_as("bob", NULL, "SELECT USER() LIKE 'bob@%' AND CURRENT_USER() = '@localhost'"), 1,
	       "the account without a name takes bob");
	ok(as("bob", NULL, "SELECT COUNT(*) FROM ceems.my_jobs") > 1, "has no role: %s", rig.err.text);
	ok(as("bob", NULL, "SET ROLE ceems_user") > 1, "and gets none: %s", rig.err.text);
	rig_query("DROP USER ''@'localhost'");
	/* one account in place of another */
	rig_query("GRANT PROXY ON alice@localhost TO mallory@localhost");
	is_u64(number_as("mallory", "pw", "SELECT COUNT(*) FROM ceems.my_jobs WHERE username = 'alice'"), 0,
	       "a proxy is not who he stands for");
}

/*
 * A cast that fails shows the text in a warning. If the server evaluates it before the view's own condition,
 * it shows rows of other users. Each statement here reaches the rows by another index.
 */
static void test_leaks(void)
{
	static const char *const where[] = {
		"my_jobs WHERE CAST(script AS SIGNED) = 0",
		"my_jobs WHERE jobid = 700002 AND CAST(script AS SIGNED) = 0",
		"my_jobs WHERE record_key = 'x2' AND CAST(script AS SIGNED) = 0",
		("my_jobs WHERE record_key = 'x2' AND submit_time = '2026-01-01 00:00:02' AND CAST(script "
		 "AS SIGNED) = 0"),
		"my_jobs WHERE end_time = '2026-01-02 00:00:02' AND CAST(script AS SIGNED) = 0",
		"my_jobs WHERE account = 'of-bob' AND CAST(script AS SIGNED) = 0",
		"my_steps WHERE CAST(nodes AS SIGNED) = 0",
		"my_steps WHERE record_key = 'x2' AND CAST(nodes AS SIGNED) = 0",
		"(SELECT CAST(script AS SIGNED) AS n FROM ceems.my_jobs WHERE record_key = 'x2') AS t",
	};
	char path[PATH_MAX];
	char sql[256];
	size_t i;
	MYSQL *m;

	rig_query("CREATE DATABASE numbers");
	rig_make_seq("numbers.seq");
	rig_query("INSERT INTO ceems.job (record_key, submit_time, end_time, cluster, jobid, restart_count, "
		  "user_id, group_id, energy_final, record, username, account, script) SELECT "
		  "CONCAT('x', seq), '2026-01-01' + INTERVAL seq SECOND, '2026-01-02' + INTERVAL seq SECOND, "
		  "'c', 700000 + seq, 0, 1, 1, 1, '{}', IF(seq % 2, 'alice', 'bob'), IF(seq % 2, 'of-alice', "
		  "'of-bob'), IF(seq % 2, '1', 'private') FROM numbers.seq;"
		  "INSERT INTO ceems.step (record_key, step_id, submit_time, nodes) SELECT record_key, 0, "
		  "submit_time, script FROM ceems.job WHERE script IS NOT NULL;"
		  "ANALYZE TABLE ceems.job, ceems.step");
	rig_defaults_file("user.cnf", "alice", "pw", path, sizeof(path));
	m = rig_connect(path, NULL, 0);
	for (i = 0; m && i < ARRAY_SIZE(where); i++) {
		snprintf(sql, sizeof(sql), "SELECT COUNT(*) FROM %s%s", where[i][0] == '(' ? "" : "ceems.",
			 where[i]);
		is_int(mariadb_client_query(m, sql, &rig.err), 0, where[i]);
		is_u64(mysql_warning_count(m), 0, "and no warning shows another user's text");
	}
	mariadb_client_close(m);
	rig_query("DELETE FROM ceems.step WHERE record_key LIKE 'x%'; DELETE FROM ceems.job WHERE "
		  "record_key LIKE 'x%'");
}

static char hints[2048], texts[4096];
static int wrong;	/* how many findings of `ceems check` are errors */
static char found[256]; /* what is good */

static void note_hint(void *ctx, enum sink_health health, enum setting setting, const char *hint,
		      const char *text)
{
	(void)setting;
	size_t used = strlen(hints);

	(void)ctx;
	wrong += health == SINK_WRONG;
	(void)snprintf(texts + strlen(texts), sizeof(texts) - strlen(texts), "%s\n", text);
	if (health == SINK_GOOD)
		snprintf(found, sizeof(found), "%s", text);
	if (hint)
		(void)snprintf(hints + used, sizeof(hints) - used, "%s\n", hint);
}

/* `ceems check` of a user with too few rights: its hint, typed by an administrator, is all that is needed. */
static void test_hints(void)
{
	static const char want[] = "-e \"GRANT SELECT, INSERT, UPDATE ON ceems.* TO 'poor'@'localhost'\"";
	static const char *const before[] = { "CREATE USER poor@localhost IDENTIFIED BY 'p'",
					      "GRANT SELECT ON ceems.* TO poor@localhost" };
	struct settings s = rig.settings;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(before); i++) {
		rig_query(before[i]);
		rig_defaults_file("poor.cnf", "poor", "p", s.mariadb_defaults_file,
				  sizeof(s.mariadb_defaults_file));
		hints[0] = '\0';
		sink_mariadb.check(&s, note_hint, NULL);
		ok(strstr(hints, want) != NULL, "after %s: %s", before[i], hints);
	}
	rig_query("GRANT SELECT, INSERT, UPDATE ON ceems.* TO 'poor'@'localhost'");
	hints[0] = found[0] = '\0';
	sink_mariadb.check(&s, note_hint, NULL);
	ok(strstr(found, mariadbd_is_mysql() ? ", MySQL " : ", MariaDB ") != NULL, "names the server: %s",
	   found);
	ok(!strstr(hints, "GRANT"), "after the GRANT of the hint there is no hint: %s", hints);
}

/* `ceems check` as USER; CODE: what it finds is an error that does not heal by waiting. */
static void check_as(const char *user, const char *password)
{
	struct settings s = rig.settings;

	rig_defaults_file("check.cnf", user, password, s.mariadb_defaults_file,
			  sizeof(s.mariadb_defaults_file));
	hints[0] = texts[0] = '\0';
	wrong = 0;
	sink_mariadb.check(&s, note_hint, NULL);
}

static void finds(const char *part, const char *cure, const char *what)
{
	check_as("ceems_writer", "CHANGE-ME-1");
	is_int(wrong, 1, what);
	ok(strstr(texts, part) != NULL, "it is named: %s", texts);
	ok(strstr(hints, cure) != NULL, "with its cure: %s", hints);
}

/* Faults that do not heal by waiting. */
static void test_faults(void)
{
	check_as("ceems_writer", "CHANGE-ME-1");
	is_int(wrong, 0, "nothing is wrong");
	/* MariaDB's own mariadb-install-db makes such a database, with rights for everybody */
	rig_query("CREATE DATABASE test");
	if (rig_query("GRANT DELETE, DROP ON test.* TO PUBLIC")) {
		check_as("ceems_writer", "CHANGE-ME-1");
		ok(!strstr(texts, "the database user has"), "rights of PUBLIC are not the user's: %s", texts);
		rig_query("REVOKE DELETE, DROP ON test.* FROM PUBLIC");
	} else {
		skip(1, "this server has no PUBLIC");
	}
	rig_query("SET GLOBAL read_only = 1");
	finds("read-only", "SET GLOBAL read_only = 0", "a server that is read-only");
	rig_query("SET GLOBAL read_only = 0");
	rig_query("ALTER TABLE ceems.step CHANGE COLUMN nodes nodes_ VARCHAR(255)");
	finds("Unknown column 'nodes'", "add the column", "a column that is missing");
	rig_query("ALTER TABLE ceems.step CHANGE COLUMN nodes_ nodes VARCHAR(255)");
	if (rig_query("SET GLOBAL require_secure_transport = 1")) {
		/* a socket is secure; rig.server has no network */
		check_as("ceems_writer", "CHANGE-ME-1");
		is_int(wrong, 0, "a socket is secure transport");
		rig_query("SET GLOBAL require_secure_transport = 0");
	}
	check_as("ceems_writer", "CHANGE-ME-1");
	is_int(wrong, 0, "all is mended");
}

int main(void)
{
	const char *why = rig_start();

	logger_set_sink(NULL);
	if (why) {
		skip(1, why);
	} else if (ok(rig_migrate(), "migrate") && ok(grants(), "grants.sql.example")) {
		ok(grants(), "and again");
		test_writer();
		test_reader();
		test_admins();
		ok(grants(), "grants");
		test_own();
		test_leaks();
		test_tricks();
		test_hints();
		test_faults();
	}
	rig_stop();
	return done_testing();
}
