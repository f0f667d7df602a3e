/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_job.c - ceems job: what a job and its steps used, from slurmdbd.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "acct/jobs.h"
#include "src/cmd/cmd.h"
#include "src/libjob/ledger.h"
#include "src/libjob/metric_text.h"
#include "src/libutil/parse.h"

/* "12", "12.0", "12.batch" */
static bool parse_job(const char *text, uint32_t *ret_job, bool *ret_has_step,
		      uint32_t *ret_step)
{
	const char *dot = strchr(text, '.');
	size_t len = dot ? (size_t)(dot - text) : strlen(text);
	uint64_t n;

	if (parse_u64_n(text, len, &n) < 0 || !n || n >= UINT32_MAX)
		return false;
	*ret_job = (uint32_t)n;
	*ret_has_step = dot != NULL;
	return !dot || cmd_step_number(dot + 1, ret_step);
}

static const char *time_text(uint64_t t, char *buf, size_t size)
{
	time_t when = (time_t)t;
	struct tm tm;

	if (!t || !localtime_r(&when, &tm) || !strftime(buf, size, "%FT%T", &tm))
		return "unknown";
	return buf;
}

/* What slurmdbd can know at all, and what is worth a line when it does not. */
static bool is_shown(const struct figures *f, enum metric m)
{
	if (figures_has(f, m) || m == METRIC_ENERGY || m == METRIC_CO2E)
		return true;
	return metric_table[m].tres && strcmp(metric_table[m].group, "energy");
}

static void print_figures(const struct figures *f)
{
	char buf[METRIC_TEXT_MAX];
	unsigned int m;

	metric_foreach(m)
		if (is_shown(f, m))
			printf("  %-22s %s\n", metric_table[m].label,
			       figures_has(f, m) ? metric_text(f, m, buf, sizeof(buf)) : "n/a");
}

static void print_step_row(const struct record_step *s)
{
	char id[16];
	char energy[METRIC_TEXT_MAX];
	char co2e[METRIC_TEXT_MAX];
	char rd[METRIC_TEXT_MAX];
	char wr[METRIC_TEXT_MAX];
	uint64_t cpu_ms = s->user_cpu_us.value / 1000 + s->system_cpu_us.value / 1000;
	static const enum metric column[] = { METRIC_ENERGY, METRIC_CO2E, METRIC_IO_READ_BYTES,
					      METRIC_IO_WRITE_BYTES };
	char *const text[] = { energy, co2e, rd, wr };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(column); i++) {
		if (figures_has(&s->figures, column[i]))
			metric_text(&s->figures, column[i], text[i], METRIC_TEXT_MAX);
		else
			(void)snprintf(text[i], METRIC_TEXT_MAX, "n/a");
	}
	printf("  %-12s %-10.10s %-11.11s %10llu.%03llu s %12s %12s %12s %12s\n",
	       cmd_step_name(s->step_id, id, sizeof(id)), s->name, s->state,
	       (unsigned long long)cpu_ms / 1000, (unsigned long long)cpu_ms % 1000, energy,
	       co2e, rd, wr);
}

static void print_job(const struct record *r)
{
	char start[32];
	char end[32];
	size_t i;

	printf("job %u  %s  %s  user %s  account %s  nodes %s  cluster %s\n", r->job_id,
	       r->job_name ? r->job_name : "-", r->state, r->user_name ? r->user_name : "-",
	       r->account ? r->account : "-", r->nodes ? r->nodes : "-",
	       r->cluster ? r->cluster : "-");
	printf("  %-22s %s to %s\n", "time", time_text(r->start, start, sizeof(start)),
	       time_text(r->end, end, sizeof(end)));
	if (*r->energy.source)
		printf("  %-22s %s%s\n", "energy source", r->energy.source,
		       strstr(r->energy.source, "model") ? " (an estimate)" : "");
	print_figures(&r->figures);
	if (!r->nsteps)
		return;
	printf("  %-12s %-10s %-11s %16s %12s %12s %12s %12s\n", "STEP", "NAME", "STATE",
	       "CPU TIME", "ENERGY", "EMISSIONS", "READ", "WRITTEN");
	for (i = 0; i < r->nsteps; i++)
		print_step_row(&r->steps[i]);
}

static int print_one_step(const struct record *r, uint32_t step_id)
{
	char buf[16];
	size_t i;

	for (i = 0; i < r->nsteps; i++) {
		const struct record_step *s = &r->steps[i];

		if (s->step_id != step_id)
			continue;
		printf("step %u.%s  %s  %s  nodes %s\n", r->job_id,
		       cmd_step_name(step_id, buf, sizeof(buf)), s->name, s->state, s->nodes);
		print_figures(&s->figures);
		return CMD_OK;
	}
	return cmd_error("job %u has no step %s", r->job_id,
			 cmd_step_name(step_id, buf, sizeof(buf)));
}

static int print_json(const struct record *r)
{
	_cleanup_free_ char *json = NULL;
	struct errmsg err = { 0 };
	size_t len;

	if (record_to_json(r, &json, &len, &err) < 0)
		return cmd_error("%s", err.text);
	puts(json);
	return CMD_OK;
}

static int run(const struct cmd_info *self, int argc, char **argv)
{
	static const struct option options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "json", no_argument, NULL, 'j' },
		{ "cluster", required_argument, NULL, 'M' },
		{ 0 },
	};
	struct acct_jobs jobs = { 0 };
	const char *cluster = NULL;
	const char *slurm_conf;
	struct errmsg err = { 0 };
	bool has_step = false;
	bool json = false;
	uint32_t step_id = 0;
	uint32_t job_id;
	int rc = CMD_OK;
	size_t i;
	int c;

	while ((c = getopt_long(argc, argv, "hjM:", options, NULL)) >= 0) {
		if (c == 'j')
			json = true;
		else if (c == 'M')
			cluster = optarg;
		else
			return cmd_usage(self, c == 'h' ? CMD_OK : CMD_USAGE);
	}
	if (optind + 1 != argc)
		return cmd_usage(self, CMD_USAGE);
	if (!parse_job(argv[optind], &job_id, &has_step, &step_id) || (json && has_step)) {
		fprintf(stderr, "ceems job: '%s' is no %s\n", argv[optind],
			json && has_step ? "job (--json prints whole jobs)" : "job or step");
		return CMD_USAGE;
	}
	/* libslurm would wait a minute for it */
	slurm_conf = getenv("SLURM_CONF");
	if (slurm_conf && access(slurm_conf, R_OK) < 0)
		return cmd_error("SLURM_CONF=%s: %s", slurm_conf, strerror(errno));
	if (acct_jobs_get(job_id, cluster, &jobs, &err) < 0)
		return cmd_error("%s", err.text);
	for (i = 0; i < jobs.njobs && rc == CMD_OK; i++) {
		if (json)
			rc = print_json(jobs.job[i]);
		else if (has_step)
			rc = print_one_step(jobs.job[i], step_id);
		else
			print_job(jobs.job[i]);
	}
	acct_jobs_free(&jobs);
	return rc;
}

const struct cmd_info cmd_job = {
	"job",
	"[--json] [--cluster NAME] JOBID[.STEP]",
	"Show what a job and its steps used, from slurmdbd.",
	run,
};
