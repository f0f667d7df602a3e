/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every text that a record can bring into MariaDB, with what users can put there: read back byte by byte as
 * the escape of utf8.h has it. And what not every job has: a script, tasks of an array, parts of a het
 * step, steps in parts of their own. And the views' sums, by hand.
 */
#define _GNU_SOURCE
#include "mariadb_rig.h"
#include "src/librecord/record.h"
#include "src/libsink/sink.h"
#include "src/libutil/logger.h"
#include "src/libutil/utf8.h"
#include "src/libutil/util.h"

static MYSQL *db;
static struct sink *sink;

/* The one value of SQL; malloc'ed, NULL: none, or NULL. */
static char *text_of(const char *sql, size_t *ret_len)
{
	MYSQL_RES *res = NULL;
	MYSQL_ROW row;
	char *text = NULL;

	if (mysql_query(db, sql) || !(res = mysql_store_result(db)))
		diag("%s: %s", sql, mysql_error(db));
	row = res ? mysql_fetch_row(res) : NULL;
	if (row && row[0]) {
		*ret_len = mysql_fetch_lengths(res)[0];
		text = malloc(*ret_len + 1);
		memcpy(text, row[0], *ret_len + 1);
	}
	mysql_free_result(res);
	return text;
}

/* COLUMN of TABLE's one row says WANT. */
static bool says(const char *table, const char *column, const char *want)
{
	_cleanup_free_ char *escaped = NULL;
	_cleanup_free_ char *got = NULL;
	size_t want_len = strlen(want);
	size_t len = 0;
	char sql[256];

	require(utf8_escape(want, want_len, &escaped, &want_len) == 0);
	snprintf(sql, sizeof(sql), "SELECT %s FROM %s", column, table);
	got = text_of(sql, &len);
	return got && len == want_len && !memcmp(got, escaped ? escaped : want, len);
}

static enum sink_result send_json(enum store_kind kind, const char *key, const char *json)
{
	struct sink_item item = { kind, key, strlen(key), json, strlen(json), 0, NULL, false };
	enum sink_result r = SINK_RETRY;

	rig.err.text[0] = '\0';
	(void)sink_mariadb.deliver(sink, &item, 1, &r, 60 * SECOND, &rig.err);
	if (r != SINK_ACKED)
		diag("%s", item.why ? item.why : rig.err.text);
	free(item.why);
	return r;
}

static enum sink_result send_record(const struct record *r)
{
	_cleanup_free_ char *json = NULL;
	char key[RECORD_KEY_MAX];

	if (record_to_json(r, &json, NULL, &rig.err) < 0 || record_key(r, key, sizeof(key)) < 0)
		return SINK_RETRY;
	return send_json(STORE_RECORD, key, json);
}

static struct record *job(uint32_t id)
{
	struct record *r = record_create();

	r->cluster = strdup("c1");
	r->job_id = id;
	r->submit = 1700000000;
	return r;
}

/* --- texts ------------------------------------------------------------------------------- */

#define TEXT(column, member)                                  \
	{                                                     \
		column, offsetof(struct record, member), 1024 \
	}
#define NAME(column, member)                                 \
	{                                                    \
		column, offsetof(struct record, member), 256 \
	}
static const struct {
	const char *column;
	size_t at;  /* of a char * */
	size_t max; /* bytes: Slurm's limit, or that of a user's name (LOGIN_NAME_MAX) */
} texts[] = {
	TEXT("job_name", job_name),
	NAME("username", user_name),
	NAME("groupname", group_name),
	TEXT("account", account),
	TEXT("partition_name", partition),
	TEXT("qos", qos),
	TEXT("wckey", wckey),
	TEXT("reservation", reservation),
	TEXT("nodes", nodes),
	TEXT("submit_host", submit_host),
	TEXT("work_dir", work_dir),
	TEXT("comment", comment),
	TEXT("script", script),
	TEXT("tres_req", tres_req),
	TEXT("tres_alloc", tres_alloc),
	TEXT("array_tasks", array_tasks),
};

static char long_text[1025], long_bytes[1025], all_bytes[256], big_script[65536];

/* clang-format off */
static const char *const hostile[] = {
	"it's", "\"", "`x`", "\\", "\\'", "'; DROP TABLE job; -- ", "%s%n", "%' OR 1=1 #", "\n\r\t\x1a",
	"\xf0\x9f\x94\xa5 \xf0\x90\x80\x80", "\xff\xfe", "\xc3(", "\xed\xa0\x80", "\xc0\xaf", "a\\xff\xff",
	"\xe2\x80\xae" "gnp", "ends with blank ", "NULL", "\\N", "/* x", "{\"a\":[\"", "\x01\x7f",
	all_bytes, long_text, long_bytes,
};
/* clang-format on */

static bool one_hostile(const char *text)
{
	struct record *r = job(1);
	bool good = true;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(texts); i++)
		*(char **)((char *)r + texts[i].at) = strndup(text, texts[i].max);
	r->steps_known = true;
	r->nsteps = 1;
	r->steps = calloc(1, sizeof(*r->steps));
	r->steps[0].name = strdup(text);
	r->steps[0].nodes = strdup(text);
	values_init(&r->steps[0].values);
	if (send_record(r) != SINK_ACKED)
		good = false;
	for (i = 0; good && i < ARRAY_SIZE(texts); i++)
		if (!says("job", texts[i].column, *(char **)((char *)r + texts[i].at))) {
			diag("differs: %s", texts[i].column);
			good = false;
		}
	good = good && says("step", "step_name", text) && says("step", "nodes", text);
	record_destroy(r);
	return good;
}

static void test_texts(void)
{
	size_t i;

	memset(long_text, 'q', sizeof(long_text) - 1);
	memset(long_bytes, '\xfe', sizeof(long_bytes) - 1);
	for (i = 0; i < 255; i++)
		all_bytes[i] = (char)(i + 1);
	for (i = 0; i < ARRAY_SIZE(hostile); i++)
		ok(one_hostile(hostile[i]), "text %zu: every column has it, byte by byte", i);
	memset(big_script, '\xfd', sizeof(big_script) - 1);
	struct record *r = job(1);
	r->script = strdup(big_script);
	ok(send_record(r) == SINK_ACKED && says("job", "script", big_script), "a script of 64 kB");
	record_destroy(r);
	is_u64(rig_number("SELECT COUNT(*) FROM ceems.job"), 1, "all were one row");
	is_u64(rig_number("SELECT JSON_VALID(record) FROM ceems.job"), 1, "of which the record is JSON");
	rig_query("DELETE FROM ceems.job; DELETE FROM ceems.step");
}

/* --- what not all have ------------------------------------------------------------------- */

static void test_rows(void)
{
	static const char part[] =
		"{\"schema\":\"ceems.steps.v1\",\"key\":\"c1/2,1700000000,0/0#1\","
		"\"job_key\":\"c1/2,1700000000,0/0\",\"part\":1,\"parts\":2,\"cluster\":\"c1\","
		"\"jobid\":2,\"@submit\":\"2023-11-14T22:13:20Z\",\"steps\":[{\"stepid\":7,"
		"\"name\":\"late\"},"
		"{\"stepid\":7,\"het_component\":1,\"name\":\"other half\"}]}";
	struct record *r = job(2);
	size_t i;

	r->array_tasks = strdup("0-9,12");
	r->script = strdup("#!/bin/sh\n");
	r->steps_known = true;
	r->nsteps = 2;
	r->steps = calloc(2, sizeof(*r->steps));
	for (i = 0; i < 2; i++) {
		values_init(&r->steps[i].values);
		r->steps[i].het_component = (struct maybe_u64){ i, true };
	}
	is_int(send_record(r), SINK_ACKED, "a record");
	is_u64(rig_number("SELECT script = '#!/bin/sh\\n' AND array_tasks = '0-9,12' FROM ceems.job"), 1,
	       "script and tasks");
	is_u64(rig_number("SELECT COUNT(*) FROM ceems.step WHERE step_id = 0 AND het_component IN (0, 1)"), 2,
	       "parts of a het step are rows of their own");
	is_int(send_json(STORE_STEPS, "c1/2,1700000000,0/0#1", part), SINK_ACKED, "a part with more steps");
	is_int(send_json(STORE_STEPS, "c1/2,1700000000,0/0#1", part), SINK_ACKED, "twice");
	is_u64(rig_number("SELECT COUNT(*) FROM ceems.step JOIN ceems.job USING (record_key, submit_time)"),
	       4, "they are the job's");
	is_u64(rig_number("SELECT COUNT(*) FROM ceems.step WHERE step_id = 7 AND ((het_component = 0 AND "
			  "step_name = 'late') OR (het_component = 1 AND step_name = 'other half'))"),
	       2, "each with its name");
	record_destroy(r);
	rig_query("DELETE FROM ceems.job; DELETE FROM ceems.step");
}

/* --- sums -------------------------------------------------------------------------------- */

/*
 * Two jobs of alice: 4 CPUs for 1 h and used 1 h of CPU time, 7.2 MJ, of which 3.6 MJ idle; 2 CPUs for 1 h
 * and used 1 h, 3.6 MJ, idle not known. One of bob: 1 CPU for 1 h, nothing known. All in one partition.
 */
static void test_sums(void)
{
	static const struct {
		const char *user;
		uint32_t cpus;
		uint64_t cpu_ns, energy_j, static_j;
	} jobs[] = {
		{ "alice", 4, 3600 * SECOND, 7200000, 3600000 },
		{ "alice", 2, 3600 * SECOND, 3600000, 0 },
		{ "bob", 1, 0, 0, 0 },
	};
	uint64_t now = (uint64_t)time(NULL);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(jobs); i++) {
		struct record *r = job(10 + (uint32_t)i);

		r->submit = now / 86400 * 86400 - 86400;
		r->start = r->submit + 10;
		r->end = r->start + 3600;
		r->user_name = strdup(jobs[i].user);
		r->account = strdup("a");
		r->partition = strdup("p");
		r->total_cpus = jobs[i].cpus;
		r->total_nodes = 1;
		if (jobs[i].cpu_ns)
			values_set(&r->values, METRIC_CPU_TIME, jobs[i].cpu_ns);
		if (jobs[i].static_j)
			values_set(&r->values, METRIC_CPU_ENERGY_STATIC, jobs[i].static_j * 1000000);
		if (jobs[i].energy_j)
			r->energy.total_j = (struct maybe_u64){ jobs[i].energy_j, true };
		if (jobs[i].energy_j)
			values_set(&r->values, METRIC_CO2E, jobs[i].energy_j * 100000);
		is_int(send_record(r), SINK_ACKED, jobs[i].user);
		record_destroy(r);
	}
	is_u64(rig_number(
		       "SELECT jobs = 3 AND jobs_measured = 2 AND cpu_hours = 7 AND node_hours = 3 AND "
		       "energy_kwh = 3 AND co2e_kg = 1.08 AND ABS(cpu_efficiency - 2 / 6) < 1e-4 AND day = "
		       "UTC_DATE() - INTERVAL 1 DAY FROM ceems.partition_day WHERE partition_name = 'p'"),
	       1, "partition_day");
	/* of alice: 6 h held, 2 used; idle 1 kWh of the first, of which 3/4 of the CPUs were not used */
	is_u64(rig_number("SELECT jobs = 2 AND jobs_measured = 2 AND core_hours_allocated = 6 AND "
			  "core_hours_used = 2 AND core_hours_unused = 4 AND ABS(cpu_efficiency - 1 / 3e0) < "
			  "1e-9 AND ABS(idle_kwh - 0.75) < 1e-9 AND jobs_below_10_percent = 0 FROM "
			  "ceems.efficiency WHERE username = 'alice'"),
	       1, "efficiency");
	is_u64(rig_number("SELECT jobs = 1 AND jobs_measured = 0 AND core_hours_allocated IS NULL AND "
			  "core_hours_unused IS NULL AND cpu_efficiency IS NULL AND idle_kwh IS NULL FROM "
			  "ceems.efficiency WHERE username = 'bob'"),
	       1, "unknown is NULL");
	is_u64(rig_number("SELECT jobs = 2 AND cpu_hours = 6 AND energy_kwh = 3 FROM ceems.user_month WHERE "
			  "username = 'alice'"),
	       1, "user_month");
}

int main(void)
{
	const char *why = rig_start();

	logger_set_sink(NULL);
	if (why) {
		skip(1, why);
	} else if (ok(rig_migrate(), "migrate")) {
		db = rig_connect(rig.settings.mariadb_defaults_file, "ceems", 0);
		is_int(sink_mariadb.open(&rig.settings, &sink, &rig.err), 0, "the sink");
		test_texts();
		test_rows();
		test_sums();
		sink_mariadb.close(sink);
		mariadb_client_close(db);
	}
	rig_stop();
	return done_testing();
}
