/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_sink_kafka - records per second from the store into Kafka: librdkafka's mock broker, which is a
 * thread of this process, and an Apache Kafka broker on this machine, with and without compression.
 * Beside each value, what librdkafka alone does with the same messages and properties from memory.
 */
#define _GNU_SOURCE
#include <string.h>

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include "bench_sink.h"
#include "private_broker.h"
#include "scratch.h"
#include "src/libsink/kafka/kafka_conf.h"
#include "src/libutil/clock.h"

#define ROUNDS 3
#define DISTINCT 1000
#define TOPIC "ceems.jobs"

/* Some 200 MB each. */
static const uint64_t records[SHAPE_N] = { 60000, 20000, 20000 };

static void on_report(rd_kafka_t *rk, const rd_kafka_message_t *m, void *arg)
{
	uint64_t *acked = arg;

	(void)rk;
	*acked += !m->err;
}

/* The client as sink_kafka.c makes it. */
static rd_kafka_t *client(struct bench *b, uint64_t *acked)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	char reason[256];

	if (kafka_conf_producer(b->settings.kafka_conf, conf, &b->err) < 0) {
		rd_kafka_conf_destroy(conf);
		return NULL;
	}
	rd_kafka_conf_set_opaque(conf, acked);
	rd_kafka_conf_set_dr_msg_cb(conf, on_report);
	return rd_kafka_new(RD_KAFKA_PRODUCER, conf, reason, sizeof(reason));
}

static void produce_all(rd_kafka_t *rk, const struct bench_record *made, uint64_t n, struct bench_cost *c,
			const uint64_t *acked)
{
	uint64_t before = *acked;
	uint64_t cpu = bench_cpu_ns();
	uint64_t t = clock_mono_ns();
	uint64_t i;

	for (i = 0; i < n; i++) {
		const struct bench_record *m = &made[i % DISTINCT];

		while (rd_kafka_producev(rk, RD_KAFKA_V_TOPIC(TOPIC),
					 RD_KAFKA_V_KEY((void *)(uintptr_t)m->key, strlen(m->key)),
					 RD_KAFKA_V_VALUE(m->json, m->len),
					 RD_KAFKA_V_HEADER("schema", "ceems.job.v1", 12),
					 RD_KAFKA_V_HEADER("cluster", "bench", 5),
					 RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END))
			(void)rd_kafka_poll(rk, 100); /* its queue is full */
		c->bytes += m->len;
		if (i % 64 == 0)
			(void)rd_kafka_poll(rk, 0);
	}
	while (*acked - before < n && clock_mono_ns() < t + 60 * NSEC_PER_SEC)
		(void)rd_kafka_poll(rk, 100);
	c->n = *acked - before;
	c->ns = clock_mono_ns() - t;
	c->cpu_ns = bench_cpu_ns() - cpu;
}

static void best(struct bench_cost *best, const struct bench_cost *c)
{
	if (c->n && (!best->n || c->ns * best->n < best->ns * c->n))
		*best = *c;
}

static int bench_shape(struct bench *b, enum shape shape, const char *broker)
{
	struct bench_record *made = NULL;
	struct bench_cost ours = { 0 };
	struct bench_cost bare = { 0 };
	uint64_t acked = 0;
	char what[64];
	char text[128];
	rd_kafka_t *rk;
	int round;
	int rc;

	rc = bench_make(b, shape, DISTINCT, &made);
	rk = rc == 0 ? client(b, &acked) : NULL;
	if (rk) { /* connects */
		struct bench_cost first = { 0 };

		produce_all(rk, made, DISTINCT, &first, &acked);
	}
	for (round = 0; rk && rc == 0 && round < ROUNDS; round++) {
		struct bench_cost c = { 0 };

		produce_all(rk, made, bench_n(records[shape]), &c, &acked);
		best(&bare, &c);
		rc = bench_fill(b, shape, bench_n(records[shape]), DISTINCT, 500, NULL);
		if (rc == 0)
			rc = bench_drain(b, &sink_kafka, &c);
		best(&ours, &c);
	}
	if (rk)
		rd_kafka_destroy(rk);
	bench_unmake(made, DISTINCT);
	snprintf(what, sizeof(what), "kafka, %s, %s", broker, shape_name[shape]);
	if (!rk || rc < 0) {
		row(what, "failed: %s", b->err.text);
		return -1;
	}
	row(what, "%s, +%llu kB of memory", cost_text(&ours, text, sizeof(text)),
	    (unsigned long long)ours.rss_kb);
	row("  librdkafka alone", "%s: ours is %.0f %% of it", cost_text(&bare, text, sizeof(text)),
	    100.0 * (double)ours.n / (double)ours.ns * (double)bare.ns / (double)bare.n);
	return 0;
}

static void bench_broker(struct bench *b, const char *servers, const char *more, const char *name)
{
	char text[1024];
	int shape;

	snprintf(text, sizeof(text), "bootstrap.servers=%s\n%s\n", servers, more);
	snprintf(b->settings.kafka_conf, sizeof(b->settings.kafka_conf), "%s",
		 scratch_path(b->dir, "kafka.properties"));
	snprintf(b->settings.kafka_topic, sizeof(b->settings.kafka_topic), TOPIC);
	scratch_write(b->settings.kafka_conf, text, strlen(text));
	for (shape = 0; shape < SHAPE_N; shape++)
		if (bench_shape(b, (enum shape)shape, name) < 0)
			break;
}

static void bench_mock(struct bench *b)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	rd_kafka_mock_cluster_t *mock;
	char reason[256];
	rd_kafka_t *rk;

	(void)rd_kafka_conf_set(conf, "log_level", "0", NULL, 0);
	rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, reason, sizeof(reason));
	mock = rk ? rd_kafka_mock_cluster_new(rk, 1) : NULL;
	if (mock) {
		bench_broker(b, rd_kafka_mock_cluster_bootstraps(mock), "compression.type=none", "mock");
		bench_broker(b, rd_kafka_mock_cluster_bootstraps(mock), "compression.type=lz4", "mock, lz4");
		rd_kafka_mock_cluster_destroy(mock);
	} else {
		row("kafka, mock", "skipped: librdkafka has no mock cluster");
	}
	if (rk)
		rd_kafka_destroy(rk);
}

static void bench_real(struct bench *b)
{
	struct private_broker broker = { 0 };
	char servers[64];
	const char *why;

	why = broker_prepare(&broker, BROKER_SCRIPT, b->dir);
	if (!why && !(broker_start(&broker) && broker_add_topic(&broker, TOPIC, 1, NULL, NULL))) {
		row("kafka, broker", "failed: the broker does not start");
	} else if (why) {
		row("kafka, broker", "skipped: %s", why);
	} else {
		snprintf(servers, sizeof(servers), "127.0.0.1:%u", broker.port[BROKER_PLAIN]);
		bench_broker(b, servers, "compression.type=none", "broker");
		bench_broker(b, servers, "compression.type=lz4", "broker, lz4");
	}
	broker_stop(&broker, SIGKILL);
}

int main(void)
{
	struct bench b;

	if (bench_begin(&b) < 0)
		return 1;
	bench_mock(&b);
	bench_real(&b);
	bench_end(&b);
	return 0;
}
