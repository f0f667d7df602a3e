/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_textfile - ceems.prom of a node with 1 to 256 jobs: the CPU time to make the text and to write it,
 * its size, and how many series Prometheus gets; with usual values and with all that can be requested.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <stdlib.h>
#include <unistd.h>

#include "src/libnode/textfile.h"
#include "usual_values.h"

#define RUNS 20 /* of which the fastest counts */

static struct ledger_page page;

/* Returns the CPU time of this thread, which other load on the machine does not change. */
static double now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void fill_node(void)
{
	page.t_wall_ns = UINT64_C(1700000000000000000);
	page.domain_source[DOMAIN_CPU] = SOURCE_RAPL;
	page.domain_source[DOMAIN_DRAM] = SOURCE_RAPL;
	page.domain_source[DOMAIN_GPU] = SOURCE_N;
	page.domain_source[DOMAIN_OTHER] = SOURCE_N;
	page.nparts = 4;
	for (unsigned int i = 0; i < page.nparts; i++)
		page.part[i] = (struct ledger_part){ .domain = i % 2 ? DOMAIN_DRAM : DOMAIN_CPU,
						     .unit = i / 2,
						     .source = SOURCE_RAPL,
						     .idle = LEDGER_IDLE_STATED,
						     .energy_uj = UINT64_C(1234567891234),
						     .power_mw = 123456,
						     .idle_mw = 56789 };
	page.factor_known = 1;
	page.pue_milli = 1200;
}

static void fill_job(struct ledger_job_account *j, uint32_t id, bool all)
{
	unsigned int m;

	j->job_id = id;
	j->cpus = 4;
	j->mem_mb = 4000;
	j->open_slots = 1;
	j->closed.total_uj[DOMAIN_CPU] = UINT64_C(1234567891234);
	j->closed.total_uj[DOMAIN_DRAM] = UINT64_C(123456789123);
	j->closed.source_uj[SOURCE_RAPL] = UINT64_C(1358024680357);
	values_init(&j->values);
	metric_foreach(m)
		if (all || is_usual((enum metric)m))
			values_set(&j->values, (enum metric)m, UINT64_C(1234567891) * (m + 1));
}

static unsigned int count_series(const char *text)
{
	unsigned int n = 0;
	const char *line;

	for (line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
		n += *line != '#';
	return n;
}

static int bench(const char *dir, unsigned int jobs, bool all)
{
	const struct textfile_input in = { 0 };
	double made = 1e12, written = 1e12, begin;
	char path[PATH_MAX];
	char *text = NULL;
	struct errmsg err = { 0 };
	size_t len = 0;
	int i;

	page.njobs = jobs;
	for (unsigned int j = 0; j < jobs; j++)
		fill_job(&page.job[j], 1000000 + j, all);
	(void)snprintf(path, sizeof(path), "%s/ceems.prom", dir);
	for (i = 0; i < RUNS; i++) {
		free(text);
		begin = now_us();
		if (textfile_format("node0001", &page, &in, &text, &len, &err) < 0)
			return -1;
		made = now_us() - begin < made ? now_us() - begin : made;
		begin = now_us();
		FILE *f = fopen(path, "w");
		if (!f || fwrite(text, 1, len, f) != len || fclose(f))
			return -1;
		written = now_us() - begin < written ? now_us() - begin : written;
	}
	printf("%5u %-8s %10.0f %10.0f %10zu %8u\n", jobs, all ? "all" : "usual", made, written, len,
	       count_series(text));
	free(text);
	(void)unlink(path);
	return 0;
}

int main(void)
{
	static const unsigned int jobs[] = { 0, 1, 16, 64, 256 };
	char dir[] = "/tmp/ceems-textfile-XXXXXX";
	int rc = 0;

	if (!mkdtemp(dir))
		return 1;
	fill_node();
	printf("%5s %-8s %10s %10s %10s %8s\n", "jobs", "values", "made us", "written us", "bytes", "series");
	for (size_t i = 0; i < ARRAY_SIZE(jobs) && rc == 0; i++) {
		rc = bench(dir, jobs[i], /* all= */ false);
		if (rc == 0 && jobs[i])
			rc = bench(dir, jobs[i], /* all= */ true);
	}
	(void)rmdir(dir);
	return rc ? 1 : 0;
}
