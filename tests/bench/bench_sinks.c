/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_sinks - records per second into the store and from it into a file. Kafka and MariaDB:
 * bench_sink_kafka.c, bench_sink_mariadb.c.
 */
#include "bench_sink.h"
#include "scratch.h"

#define RECORDS bench_n(20000)

int main(void)
{
	struct bench_cost cost;
	struct bench b;
	char text[128];
	int shape;

	if (bench_begin(&b) < 0)
		return 1;
	if (bench_fill(&b, SHAPE_FULL, RECORDS / 20, 100, 1, &cost) < 0)
		row("store", "failed: %s", b.err.text);
	else
		row("store, 1 record per transaction", "%s", cost_text(&cost, text, sizeof(text)));
	if (bench_fill(&b, SHAPE_FULL, RECORDS, 100, 50, &cost) < 0)
		row("store", "failed: %s", b.err.text);
	else
		row("store, 50 records per transaction", "%s", cost_text(&cost, text, sizeof(text)));
	snprintf(b.settings.record_file, sizeof(b.settings.record_file), "%s",
		 scratch_path(b.dir, "jobs.jsonl"));
	for (shape = 0; shape < SHAPE_N; shape++) {
		char what[64];

		snprintf(what, sizeof(what), "sink file, %s", shape_name[shape]);
		if (bench_fill(&b, (enum shape)shape, RECORDS, 100, 500, NULL) < 0 ||
		    bench_drain(&b, &sink_file, &cost) < 0)
			row(what, "failed: %s", b.err.text);
		else
			row(what, "%s, +%llu kB of memory", cost_text(&cost, text, sizeof(text)),
			    (unsigned long long)cost.rss_kb);
		unlink(b.settings.record_file);
	}
	bench_end(&b);
	return 0;
}
