/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_sinks - records per second into the spool and from it into each sink. Kafka is librdkafka's
 * mock cluster in this process, MariaDB a private server on this machine: figures of our side, and
 * of a server that has nothing else to do. CEEMS_BENCH_DIR is where (default /var/tmp: on a disk).
 */
#define _GNU_SOURCE
#include "ceems_config.h"

#include <inttypes.h>

#ifdef HAVE_KAFKA
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#endif

#include "scratch.h"
#include "src/libjob/record.h"
#include "src/libsink/deliver.h"
#include "src/libsink/spool.h"
#include "src/libutil/clock.h"
#include "src/libutil/logger.h"
#ifdef HAVE_MARIADB
#include "private_mariadbd.h"
#include "src/libsink/migrate.h"
#endif

#define RECORDS 20000
#define STEPS 3
#define TIMEOUT_NS (10 * NSEC_PER_SEC)

static char dir[PATH_MAX];
static char spool_path[PATH_MAX];
static struct errmsg err;
static struct settings settings;
static size_t record_bytes;

static void row(const char *what, const char *figure)
{
	printf("%-44s %s\n", what, figure);
	fflush(stdout);
}

static void row_rate(const char *what, uint64_t n, uint64_t ns, const char *more)
{
	char text[128];

	snprintf(text, sizeof(text), "%.0f records/s%s", (double)n * 1e9 / (double)ns, more);
	row(what, text);
}

/* A job with STEPS steps of which everything is known. */
static int make_record(uint32_t job_id, char *key, char **ret_json, size_t *ret_len)
{
	struct record *r = record_create();
	unsigned int m;
	size_t s;
	int rc;

	r->cluster = strdup("bench");
	r->job_id = job_id;
	r->submit = 1700000000 + job_id;
	r->start = r->submit + 10;
	r->end = r->start + 3600;
	r->state = strdup("COMPLETED");
	r->job_name = strdup("a job of the benchmark");
	r->user_name = strdup("alice");
	r->account = strdup("physics");
	r->partition = strdup("standard");
	r->work_dir = strdup("/home/alice/work/of/the/benchmark");
	r->nodes = strdup("node[0001-0004]");
	r->tres_alloc = strdup("billing=64,cpu=64,energy=7200,mem=256G,node=4");
	r->total_cpus = 64;
	r->total_nodes = 4;
	r->energy.total_j = (struct maybe_u64){ 7200 + job_id, true };
	metric_foreach(m)
		figures_set(&r->figures, (enum metric)m, UINT64_C(123456789) * (m + 1) + job_id);
	r->steps_known = true;
	r->steps = calloc(STEPS, sizeof(*r->steps));
	r->nsteps = STEPS;
	for (s = 0; s < STEPS; s++) {
		r->steps[s].step_id = (uint32_t)s;
		snprintf(r->steps[s].name, sizeof(r->steps[s].name), "solver");
		r->steps[s].figures = r->figures;
	}
	rc = record_key(r, key, RECORD_KEY_MAX);
	if (rc == 0)
		rc = record_to_json(r, ret_json, ret_len, &err);
	record_destroy(r);
	return rc;
}

/* Fills the spool, a sync every BATCH; SAY: as a row of the table. */
static int bench_spool(unsigned int batch, bool say)
{
	char key[RECORD_KEY_MAX];
	uint64_t ns = 0;
	char what[64];
	struct spool *s = NULL;
	uint32_t i;

	if (spool_open(spool_path, UINT64_C(4) << 30, &s, &err) < 0)
		return -1;
	for (i = 0; i < RECORDS / (batch > 1 ? 1 : 20); i++) {
		char *json = NULL;
		size_t len;
		uint64_t t;

		if (make_record(i + 1, key, &json, &len) < 0)
			return -1;
		record_bytes = len;
		t = clock_mono_ns();
		if (spool_append(s, SPOOL_RECORD, key, json, len, &err) < 0 ||
		    (i % batch == batch - 1 && spool_sync(s, &err) < 0))
			return -1;
		ns += clock_mono_ns() - t;
		free(json);
	}
	snprintf(what, sizeof(what), "spool, %u per sync", batch);
	if (say)
		row_rate(what, i, ns, "");
	spool_close(s);
	return 0;
}

static int bench_sink(const struct sink_ops *ops, const char *what)
{
	struct deliver_stats st = { 0 };
	struct deliver *d = NULL;
	struct spool *s = NULL;
	uint64_t deadline;
	uint64_t n = 0;
	uint64_t t;
	char more[64];
	int got;

	if (spool_open(spool_path, UINT64_C(4) << 30, &s, &err) < 0 ||
	    deliver_create(s, ops, &settings, &d, &err) < 0) {
		row(what, err.text);
		spool_close(s);
		return -1;
	}
	got = deliver_run(d, clock_mono_ns(), TIMEOUT_NS); /* connects */
	t = clock_mono_ns();
	deadline = t + 120 * NSEC_PER_SEC;
	while (n + (uint64_t)got < RECORDS && clock_mono_ns() < deadline) {
		int more_got = deliver_run(d, clock_mono_ns(), TIMEOUT_NS);

		n += (uint64_t)more_got;
		deliver_get_stats(d, &st);
		if (!more_got && !st.is_down)
			break;
	}
	t = clock_mono_ns() - t;
	deliver_get_stats(d, &st);
	snprintf(more, sizeof(more), " (%zu bytes each, %" PRIu64 " refused, %" PRIu64 " retries)",
		 record_bytes, st.refused, st.retries);
	row_rate(what, n, t, more);
	deliver_destroy(d);
	spool_close(s);
	return 0;
}

#ifdef HAVE_KAFKA
static void bench_kafka(void)
{
	char reason[256];
	char text[512];
	rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_PRODUCER, rd_kafka_conf_new(), reason, sizeof(reason));
	rd_kafka_mock_cluster_t *mock = rk ? rd_kafka_mock_cluster_new(rk, 1) : NULL;

	if (!mock) {
		row("sink kafka", "librdkafka has no mock cluster");
		return;
	}
	snprintf(text, sizeof(text), "bootstrap.servers=%s\n",
		 rd_kafka_mock_cluster_bootstraps(mock));
	snprintf(settings.kafka_conf, PATH_MAX, "%s", scratch_path(dir, "kafka.properties"));
	snprintf(settings.kafka_topic, sizeof(settings.kafka_topic), "ceems.jobs");
	scratch_write(settings.kafka_conf, text, strlen(text));
	(void)bench_sink(&sink_kafka, "sink kafka, mock broker");
	rd_kafka_mock_cluster_destroy(mock);
	rd_kafka_destroy(rk);
}
#endif

#ifdef HAVE_MARIADB
static void bench_mariadb(void)
{
	struct private_mariadbd server = { 0 };
	struct migrate_options o = { .sql_dir = SQL_DIR };
	const char *why = mariadbd_install(&server, dir);
	char text[256];

	if (!why && !mariadbd_start(&server))
		why = "mariadbd does not start here";
	if (why) {
		row("sink mariadb", why);
		mariadbd_stop(&server, SIGKILL);
		return;
	}
	snprintf(settings.mariadb_defaults_file, PATH_MAX, "%s", scratch_path(dir, "my.cnf"));
	snprintf(settings.mariadb_database, sizeof(settings.mariadb_database), "ceems");
	snprintf(text, sizeof(text), "[client]\nuser=root\nsocket=%s\n", server.socket);
	scratch_write(settings.mariadb_defaults_file, text, strlen(text));
	if (migrate_run(&settings, &o, &err) < 0)
		row("sink mariadb", err.text);
	else
		(void)bench_sink(&sink_mariadb, "sink mariadb, jobs with 3 steps each");
	mariadbd_stop(&server, SIGKILL);
}
#endif

int main(void)
{
	const char *where = getenv("CEEMS_BENCH_DIR");

	logger_set_sink(logger_sink_stderr);
	snprintf(dir, sizeof(dir), "%.80s/ceems-bench.XXXXXX", where ? where : "/var/tmp");
	if (!mkdtemp(dir)) {
		perror(dir);
		return 1;
	}
	snprintf(spool_path, sizeof(spool_path), "%.200s/spool", dir);
	if (bench_spool(1, true) < 0)
		row("spool", err.text);
	scratch_clear(spool_path);
	if (bench_spool(50, true) < 0)
		row("spool", err.text);
	snprintf(settings.record_file, PATH_MAX, "%s", scratch_path(dir, "jobs.jsonl"));
	/* a sink that is done lets segments go: so each gets a spool of its own */
	(void)bench_sink(&sink_file, "sink file");
#ifdef HAVE_KAFKA
	scratch_clear(spool_path);
	(void)bench_spool(500, false);
	bench_kafka();
#endif
#ifdef HAVE_MARIADB
	scratch_clear(spool_path);
	(void)bench_spool(500, false);
	bench_mariadb();
#endif
	scratch_clear(dir);
	(void)rmdir(dir);
	return 0;
}
