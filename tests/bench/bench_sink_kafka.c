/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_sink_kafka - records per second from the spool into Kafka: librdkafka's mock broker, which is
 * a thread of this process.
 */
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include "bench_sink.h"
#include "scratch.h"

#define RECORDS 20000

int main(void)
{
	struct bench_cost cost;
	rd_kafka_mock_cluster_t *mock;
	char reason[256];
	char text[512];
	struct bench b;
	rd_kafka_t *rk;
	int shape;

	if (bench_begin(&b) < 0)
		return 1;
	rk = rd_kafka_new(RD_KAFKA_PRODUCER, rd_kafka_conf_new(), reason, sizeof(reason));
	mock = rk ? rd_kafka_mock_cluster_new(rk, 1) : NULL;
	if (!mock) {
		row("sink kafka", "librdkafka has no mock cluster");
		return 0;
	}
	snprintf(text, sizeof(text), "bootstrap.servers=%s\n",
		 rd_kafka_mock_cluster_bootstraps(mock));
	snprintf(b.settings.kafka_conf, PATH_MAX, "%s", scratch_path(b.dir, "kafka.properties"));
	snprintf(b.settings.kafka_topic, sizeof(b.settings.kafka_topic), "ceems.jobs");
	scratch_write(b.settings.kafka_conf, text, strlen(text));
	for (shape = 0; shape < SHAPE_N; shape++) {
		char what[64];

		snprintf(what, sizeof(what), "sink kafka, mock, %s", shape_name[shape]);
		if (bench_fill(&b, (enum shape)shape, RECORDS, 1000, 500, NULL) < 0 ||
		    bench_drain(&b, &sink_kafka, &cost) < 0)
			row(what, "%s", b.err.text);
		else
			row(what, "%s, +%llu kB of memory", cost_text(&cost, text, sizeof(text)),
			    (unsigned long long)cost.rss_kb);
	}
	rd_kafka_mock_cluster_destroy(mock);
	rd_kafka_destroy(rk);
	bench_end(&b);
	return 0;
}
