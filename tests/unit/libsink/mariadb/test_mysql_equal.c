/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The same 5,000 random jobs, with repeats and corrections, go into a private MariaDB and a private MySQL,
 * each of which is killed between and inside batches. Then each column of each table and view has the same
 * values, before and after maintenance. Needs CEEMS_MYSQL (private_mariadbd.h). CEEMS_EQUAL_JOBS and
 * CEEMS_EQUAL_SEED change the number and the jobs.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include <mysql.h>

#include "private_mariadbd.h"
#include "rnd.h"
#include "scratch.h"
#include "src/librecord/record.h"
#include "src/libsink/mariadb/db_maintain.h"
#include "src/libsink/mariadb/mariadb_client.h"
#include "src/libsink/mariadb/migrate.h"
#include "src/libsink/sink.h"
#include "src/libutil/clock.h"
#include "src/libutil/logger.h"
#include "src/libutil/util.h"
#include "tap.h"

#define SECOND NSEC_PER_SEC
#define LIMIT_NS (300 * SECOND) /* for what has to come sooner or later */
#define BATCH 250
#define SUBMIT UINT64_C(1700000000)

static struct errmsg err;
static const char *mysql_folder;

enum { MARIADB, MYSQL_SERVER, SERVER_N };
static struct side {
	char dir[sizeof(SCRATCH_TEMPLATE)];
	struct private_mariadbd server;
	struct settings settings;
	struct sink *sink;
	unsigned int kills;
} side[SERVER_N];

/* private_mariadbd.h looks at CEEMS_MYSQL whenever it starts a program. */
static void side_choose(const struct side *s)
{
	if (s == &side[MARIADB])
		unsetenv("CEEMS_MYSQL");
	else
		setenv("CEEMS_MYSQL", mysql_folder, 1);
}

static bool side_up(struct side *s)
{
	side_choose(s);
	return mariadbd_start(&s->server);
}

static const char *side_begin(struct side *s, const char *sql_dir)
{
	struct db_options o = { .sql_dir = sql_dir };
	const char *why;
	char text[256];

	snprintf(s->dir, sizeof(s->dir), "%s", SCRATCH_TEMPLATE);
	if (!mkdtemp(s->dir))
		return "no scratch folder";
	side_choose(s);
	why = mariadbd_install(&s->server, s->dir);
	if (why || !side_up(s))
		return why ? why : "the server does not start";
	snprintf(s->settings.mariadb_defaults_file, sizeof(s->settings.mariadb_defaults_file), "%s/my.cnf",
		 s->dir);
	snprintf(s->settings.emission_factor_file, sizeof(s->settings.emission_factor_file),
		 "%s/src/libemission/data/emission-factors.csv", getenv("top_srcdir"));
	snprintf(s->settings.mariadb_database, sizeof(s->settings.mariadb_database), "ceems");
	snprintf(text, sizeof(text), "[client]\nsocket=%s\nuser=root\n", s->server.socket);
	scratch_write(s->settings.mariadb_defaults_file, text, strlen(text));
	if (migrate_run(&s->settings, &o, &err) < 0 || sink_mariadb.open(&s->settings, &s->sink, &err) < 0)
		return err.text;
	return NULL;
}

static void side_end(struct side *s)
{
	sink_mariadb.close(s->sink);
	mariadbd_stop(&s->server, SIGKILL);
	scratch_clear(s->dir);
	(void)rmdir(s->dir);
}

/* --- records ----------------------------------------------------------------------------- */

static struct batch {
	char *json[BATCH];
	char key[BATCH][RECORD_KEY_MAX];
	struct sink_item item[BATCH];
	size_t n;
} batch;

/* clang-format off */
static const char *const texts[] = {
	"plain", "it's", "\\", "\"", "'; DROP TABLE job; -- ", "\xf0\x9f\x94\xa5", "ends ", "Bob", "bob",
	"\xff\xfe", "\n\r\t\x1a%s", "\xc3\xa4", "a/b,c=1", "NULL",
};
/* clang-format on */

static char *random_text(void)
{
	return rnd(5) ? strdup(texts[rnd(ARRAY_SIZE(texts))]) : NULL;
}

static uint64_t random_value(void)
{
	return rnd(UINT64_C(1) << rnd(50));
}

static struct maybe_u64 random_maybe(uint64_t below)
{
	return (struct maybe_u64){ rnd(below), rnd(4) > 0 };
}

static void random_values(struct values *v, unsigned int part)
{
	unsigned int m;

	metric_foreach(m)
		if (rnd(part) == 0)
			values_set(v, (enum metric)m, random_value());
}

static struct record_step random_step(uint32_t id, const struct record *r)
{
	struct record_step s = { .step_id = id ? id : RECORD_STEP_EXTERN,
				 .name = random_text(),
				 .state = "COMPLETED",
				 .nodes = random_text(),
				 .ntasks = (uint32_t)rnd(9),
				 .nnodes = (uint32_t)rnd(4),
				 .ncpus = (uint32_t)rnd(99),
				 .start = r->start,
				 .end = r->end,
				 .exit_code = (int32_t)rnd(4) - 2,
				 .exit_unknown = rnd(9) == 0,
				 .user_cpu_us = random_maybe(UINT64_C(1) << 40),
				 .system_cpu_us = random_maybe(UINT64_C(1) << 40),
				 .max_rss_bytes = random_maybe(UINT64_C(1) << 40),
				 .energy = { random_maybe(UINT64_C(1) << 40), "n2" } };

	values_init(&s.values);
	random_values(&s.values, 3);
	return s;
}

/* A job has the same key each time, and everything else by chance. */
static struct record *random_job(uint32_t id)
{
	struct record *r = record_create();
	size_t i;

	require(r != NULL);
	r->cluster = strdup("c1");
	r->job_id = id;
	r->submit = SUBMIT + id * UINT64_C(3001);
	r->start = rnd(9) ? r->submit + rnd(100000) : 0;
	r->end = r->start ? r->start + rnd(100000) : 0;
	r->suspended_s = random_maybe(10);
	r->state = strdup(rnd(4) ? "COMPLETED" : "FAILED");
	r->user_name = random_text();
	r->account = random_text();
	r->partition = random_text();
	r->job_name = random_text();
	r->qos = random_text();
	r->work_dir = random_text();
	r->comment = random_text();
	r->script = random_text();
	r->tres_alloc = random_text();
	r->total_cpus = (uint32_t)rnd(512);
	r->total_nodes = (uint32_t)rnd(8);
	r->priority = random_maybe(UINT32_MAX);
	r->time_limit_min = random_maybe(100000);
	r->array_job_id = random_maybe(UINT32_MAX);
	r->exit_code = (int32_t)rnd(256) - 1;
	r->energy.final = rnd(2);
	r->energy.total_j = random_maybe(UINT64_C(1) << 40);
	if (rnd(9) == 0)
		snprintf(r->origin, sizeof(r->origin), "%s", RECORD_HISTORY);
	random_values(&r->values, 1 + (unsigned int)rnd(4));
	r->emissions = (struct record_emissions){ .method = CO2E_PER_TICK,
						  .factor_ug_per_kwh = random_maybe(UINT64_C(1) << 40),
						  .kind = "mixed",
						  .scope = "direct",
						  .region = "FR",
						  .source = "it's",
						  .year = 2024,
						  .pue_milli = 1000 + rnd(900),
						  .market_ug_per_kwh = random_maybe(UINT64_C(1) << 40),
						  .embodied_ng = random_maybe(UINT64_C(1) << 50) };
	r->steps_known = true;
	r->nsteps = rnd(5);
	r->steps = calloc(r->nsteps + 1, sizeof(*r->steps));
	for (i = 0; i < r->nsteps; i++)
		r->steps[i] = random_step((uint32_t)i, r);
	return r;
}

static void batch_add(uint32_t id)
{
	struct record *r = random_job(id);
	size_t i = batch.n++;
	size_t len = 0;

	require(record_key(r, batch.key[i], RECORD_KEY_MAX) == 0);
	require(record_to_json(r, &batch.json[i], &len, &err) == 0);
	batch.item[i] = (struct sink_item){ STORE_RECORD,  batch.key[i], strlen(batch.key[i]),
					    batch.json[i], len,		 i,
					    NULL,	   false };
	record_destroy(r);
}

static void batch_clear(void)
{
	while (batch.n) {
		free(batch.json[--batch.n]);
		free(batch.item[batch.n].why);
	}
}

/* --- delivery, with kills ---------------------------------------------------------------- */

/*
 * Kills the server after some milliseconds; the time decides where in the batch, not whether all is stored
 * at last.
 */
static pid_t killer(const struct side *s, uint64_t ms)
{
	pid_t server = s->server.pid;
	pid_t pid = fork();

	if (pid)
		return pid;
	nanosleep(&(struct timespec){ .tv_nsec = (long)(ms * 1000000) }, NULL);
	kill(server, SIGKILL);
	_exit(0);
}

/* Delivers the batch until all of it is acknowledged; starts the server again if it was killed. */
static bool deliver_all(struct side *s, bool kills, uint64_t ms)
{
	uint64_t deadline_ns = clock_mono_ns() + LIMIT_NS;
	enum sink_result result[BATCH];
	pid_t pid = kills ? killer(s, ms) : 0;
	size_t i;
	int rc;

	do {
		rc = sink_mariadb.deliver(s->sink, batch.item, batch.n, result, 60 * SECOND, &err);
		if (pid) {
			waitpid(pid, NULL, 0);
			mariadbd_stop(&s->server, SIGKILL);
			require(side_up(s));
			s->kills++;
			pid = 0;
			rc = -EAGAIN; /* all of it once more */
		}
		for (i = 0; rc == 0 && i < batch.n; i++)
			if (result[i] != SINK_ACKED) {
				diag("%s: %s", batch.key[i],
				     batch.item[i].why ? batch.item[i].why : err.text);
				return false;
			}
	} while (rc < 0 && clock_mono_ns() < deadline_ns);
	if (rc < 0)
		diag("%s", err.text);
	return rc == 0;
}

static void deliver_jobs(uint32_t jobs)
{
	unsigned int batches = 0;
	uint32_t at = 0;
	bool good = true;
	int i;

	while (good && at < jobs) {
		bool kills = batches++ % 5 == 1;
		uint64_t ms = 1 + rnd(60);

		/* a quarter are corrections of earlier jobs, or the same job twice in a batch */
		while (batch.n < BATCH && at < jobs)
			batch_add(at && rnd(4) == 0 ? 1 + (uint32_t)rnd(at) : ++at);
		for (i = 0; i < SERVER_N; i++)
			good = deliver_all(&side[i], kills, ms) && good;
		if (rnd(5) == 0) /* a repeat */
			for (i = 0; i < SERVER_N; i++)
				good = deliver_all(&side[i], false, 0) && good;
		batch_clear();
	}
	ok(good, "%u jobs are delivered", at);
	ok(side[MARIADB].kills && side[MARIADB].kills == side[MYSQL_SERVER].kills,
	   "each server was killed %u times", side[MARIADB].kills);
}

/* --- comparison -------------------------------------------------------------------------- */

static MYSQL_RES *rows_of(MYSQL *m, const char *sql)
{
	MYSQL_RES *res = NULL;

	if (mysql_query(m, sql) || !(res = mysql_store_result(m)))
		diag("%s: %s", sql, mysql_error(m));
	return res;
}

/* The servers print floating-point numbers, which only ratios are, in different ways. */
static bool same_value(const char *a, const char *b, bool is_float)
{
	double x, y;

	if (!a || !b || !is_float)
		return a == b || (a && b && !strcmp(a, b));
	x = strtod(a, NULL);
	y = strtod(b, NULL);
	return fabs(x - y) <= 1e-12 * fabs(x);
}

/* All columns of TABLE but the times of writing, row by row in the order of columns ORDER. */
static void compare(MYSQL *const m[SERVER_N], const char *table, const char *order)
{
	MYSQL_RES *res[SERVER_N];
	MYSQL_ROW row[SERVER_N];
	size_t differ = 0;
	unsigned int c;
	char sql[512];
	int i;

	snprintf(sql, sizeof(sql), "SELECT * FROM %s ORDER BY %s", table, order);
	for (i = 0; i < SERVER_N; i++)
		res[i] = rows_of(m[i], sql);
	if (res[0] && res[1] && mysql_num_fields(res[0]) == mysql_num_fields(res[1]) &&
	    mysql_num_rows(res[0]) == mysql_num_rows(res[1])) {
		const MYSQL_FIELD *field = mysql_fetch_fields(res[0]);

		while ((row[0] = mysql_fetch_row(res[0])) && (row[1] = mysql_fetch_row(res[1])))
			for (c = 0; c < mysql_num_fields(res[0]); c++) {
				if (!strcmp(field[c].name, "stored_at") ||
				    !strcmp(field[c].name, "updated_at"))
					continue;
				if (same_value(row[0][c], row[1][c], field[c].type == MYSQL_TYPE_DOUBLE))
					continue;
				if (differ++ < 5)
					diag("%s.%s: %.40s, %.40s", table, field[c].name,
					     row[0][c] ? row[0][c] : "NULL", row[1][c] ? row[1][c] : "NULL");
			}
		ok(!differ, "%s: %u columns of %llu rows are equal", table, mysql_num_fields(res[0]),
		   (unsigned long long)mysql_num_rows(res[0]));
	} else {
		ok(false, "%s: the same number of rows and columns: %llu, %llu", table,
		   res[0] ? (unsigned long long)mysql_num_rows(res[0]) : 0,
		   res[1] ? (unsigned long long)mysql_num_rows(res[1]) : 0);
	}
	mysql_free_result(res[0]);
	mysql_free_result(res[1]);
}

static void compare_all(void)
{
	static const char *const tables[][2] = {
		{ "job", "record_key" },
		{ "step", "record_key, step_id, het_component" },
		{ "job_summary", "record_key" },
		{ "step_summary", "record_key, step_id" },
		{ "usage_open", "submit_day" },
		{ "usage_all", "submit_day, day, HEX(username), HEX(account), HEX(partition_name), state" },
		{ "user_month", "HEX(username), month" },
		{ "account_month", "HEX(account), month" },
		{ "partition_day", "HEX(partition_name), day" },
		{ "emissions_month", "HEX(username), HEX(account), month" },
		{ "emission_factor", "kind, region, year" },
	};
	MYSQL *m[SERVER_N] = { NULL };
	size_t i;
	int k;

	for (k = 0; k < SERVER_N; k++)
		require(mariadb_client_open(side[k].settings.mariadb_defaults_file, "ceems", 120 * SECOND, 0,
					    0, &m[k], &err) == 0);
	for (i = 0; i < ARRAY_SIZE(tables); i++)
		compare(m, tables[i][0], tables[i][1]);
	for (k = 0; k < SERVER_N; k++)
		mariadb_client_close(m[k]);
}

static uint64_t setting(const char *name, uint64_t initial)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : initial;
}

int main(void)
{
	struct db_options o = { .retention_ns = 0 };
	char sql_dir[PATH_MAX - 64];
	const char *why = NULL;
	int i;

	mysql_folder = getenv("CEEMS_MYSQL");
	if (!mysql_folder || !*mysql_folder)
		return skip_all("CEEMS_MYSQL is not set (tests/mysql/mysql.t sets it)");
	mysql_folder = strdup(mysql_folder);
	rng = setting("CEEMS_EQUAL_SEED", 41);
	diag("CEEMS_EQUAL_SEED=%" PRIu64, rng);
	logger_set_sink(NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	snprintf(sql_dir, sizeof(sql_dir), "%s/sql", getenv("top_builddir"));
	for (i = 0; i < SERVER_N && !why; i++)
		why = side_begin(&side[i], sql_dir);
	if (why) {
		skip(1, why);
	} else {
		deliver_jobs((uint32_t)setting("CEEMS_EQUAL_JOBS", 5000));
		compare_all();
		for (i = 0; i < SERVER_N; i++)
			if (!ok(db_maintain_run(&side[i].settings, &o, &err) == 0, "maintenance"))
				diag("%s", err.text);
		compare_all();
	}
	for (i = 0; i < SERVER_N; i++)
		side_end(&side[i]);
	return done_testing();
}
