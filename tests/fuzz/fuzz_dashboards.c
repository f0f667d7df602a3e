/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ceems dashboards --check: a site's dashboard, and Prometheus' answer to each of its queries. */
#include <getopt.h>
#include <stdarg.h>

#include "src/cmd/cmd.h"
#include "src/cmd/prometheus.h"
#include "tests/fuzz/fuzz.h"

static const uint8_t *answer;
static size_t answer_size;

/* --- in place of prometheus.c and ceems.c ----------------------------------------------------- */

int prometheus_create(const char *url, const char *ca_file, struct prometheus **ret, struct errmsg *err)
{
	(void)url;
	(void)ca_file;
	(void)err;
	*ret = NULL;
	return 0;
}

void prometheus_destroy(struct prometheus *p)
{
	(void)p;
}

int prometheus_query(struct prometheus *p, const char *promql, json_t **ret, struct errmsg *err)
{
	int rc;

	(void)p;
	assert(promql);
	rc = prometheus_answer((const char *)answer, answer_size, ret, err);
	assert(rc >= 0 || err->text[0]);
	return rc;
}

static void _printf_(1, 0) format(const char *fmt, va_list ap)
{
	char line[2048];

	assert(vsnprintf(line, sizeof(line), fmt, ap) > 0);
}

void cmd_print(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	format(fmt, ap);
	va_end(ap);
}

int cmd_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	format(fmt, ap);
	va_end(ap);
	return CMD_FAILED;
}

/* ---------------------------------------------------------------------------------------------- */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char dir[] = "--dir=................................................................................";
	char check[] = "--check=http://h", set[] = "--set=jobid=1";
	char *argv[] = { check, check, set, dir, NULL };
	struct fuzz_parts p = { data, size };
	const uint8_t *dashboard;
	size_t n;

	assert((size_t)snprintf(dir, sizeof(dir), "--dir=%s", fuzz_dir()) < sizeof(dir));
	dashboard = fuzz_next(&p, &n);
	answer = fuzz_next(&p, &answer_size);
	fuzz_write(fuzz_dir(), "a.json", dashboard, n);
	optind = 0;
	assert(cmd_dashboards.run(&cmd_dashboards, 4, argv) >= 0);
	return 0;
}
