/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_sink_mariadb - records per second from the spool into a private server on this machine,
 * which has nothing else to do.
 */
#define _GNU_SOURCE
#include "bench_sink.h"
#include "private_mariadbd.h"
#include "scratch.h"
#include "src/libsink/migrate.h"

#define RECORDS 20000

static void bench(struct bench *b)
{
	struct bench_cost cost;
	char text[128];
	int shape;

	for (shape = 0; shape < SHAPE_N; shape++) {
		char what[64];

		snprintf(what, sizeof(what), "sink mariadb, %s", shape_name[shape]);
		if (bench_fill(b, (enum shape)shape, RECORDS, RECORDS, 500, NULL) < 0 ||
		    bench_drain(b, &sink_mariadb, &cost) < 0)
			row(what, "%s", b->err.text);
		else
			row(what, "%s, %llu refused, %llu retries",
			    cost_text(&cost, text, sizeof(text)),
			    (unsigned long long)cost.refused, (unsigned long long)cost.retries);
	}
}

int main(void)
{
	struct private_mariadbd server = { 0 };
	struct migrate_options o = { .sql_dir = SQL_DIR };
	const char *why;
	struct bench b;
	char text[256];

	if (bench_begin(&b) < 0)
		return 1;
	why = mariadbd_install(&server, b.dir);
	if (!why && !mariadbd_start(&server))
		why = "mariadbd does not start here";
	if (!why) {
		snprintf(b.settings.mariadb_defaults_file, PATH_MAX, "%s",
			 scratch_path(b.dir, "my.cnf"));
		snprintf(b.settings.mariadb_database, sizeof(b.settings.mariadb_database),
			 "ceems");
		snprintf(text, sizeof(text), "[client]\nuser=root\nsocket=%s\n", server.socket);
		scratch_write(b.settings.mariadb_defaults_file, text, strlen(text));
		if (migrate_run(&b.settings, &o, &b.err) < 0)
			why = b.err.text;
		else
			bench(&b);
	}
	if (why)
		row("sink mariadb", "%s", why);
	mariadbd_stop(&server, SIGKILL);
	bench_end(&b);
	return 0;
}
