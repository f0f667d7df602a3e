/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_job.c - ceems job: shows what jobs and their steps used, from slurmdbd.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "src/cmd/cmd.h"
#include "src/cmd/job/job_ask.h"
#include "src/cmd/job/job_list.h"
#include "src/cmd/job/job_show.h"
#include "src/cmd/job/job_step.h"
#include "src/libcore/metric_text.h"
#include "src/libledger/ledger.h"
#include "src/librecord/advice.h"
#include "src/librecord/screen_text.h"
#include "src/libutil/clock.h"
#include "src/libutil/parse.h"

struct job_options {
	struct job_ids ids;
	const char *cluster;
	uint64_t wait_ns;
	bool json, is_long, duplicates, explain;
};

/* --- showing them ------------------------------------------------------------------------------ */

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

static uint64_t wall_s(void)
{
	return clock_wall_ns() / NSEC_PER_SEC;
}

/* Returns true if stdout is a terminal with colours, and NO_COLOR is not set (no-color.org). */
static bool has_colour(void)
{
	const char *no = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && (!no || !*no) && term && strcmp(term, "dumb") != 0;
}

static int print_step(const struct job_options *o, const struct job_answer *a, const struct record *r,
		      uint32_t step_id)
{
	struct record_step *step = job_step_find(r, step_id);
	struct record as_job;
	const struct record *part = &as_job;
	struct job_screen s = job_show_make(a, &part, 1, wall_s());
	char number[16], id[JOB_STEP_ID_MAX];

	if (!step)
		return cmd_error("job %u has no step %s", r->job_id,
				 ledger_step_name(step_id, number, sizeof(number)));
	if (o->is_long) {
		job_list_step(r, step);
		return CMD_OK;
	}
	job_step_record(r, step, &as_job);
	s.step = job_step_id(r->job_id, step_id, id);
	s.colour = has_colour();
	return job_screen_print(stdout, &s) < 0 ? cmd_error("out of memory") : CMD_OK;
}

/* Returns true if the user asks for job R itself, not only for steps of it. */
static bool is_wanted(const struct job_options *o, const struct record *r)
{
	size_t i;

	for (i = 0; i < o->ids.n; i++)
		if (!o->ids.id[i].has_step && job_id_is_of(&o->ids.id[i], r))
			return true;
	return false;
}

static int print_steps(const struct job_options *o, const struct job_answer *a, const struct record *r)
{
	int rc = CMD_OK;
	size_t i;

	for (i = 0; i < o->ids.n; i++)
		if (o->ids.id[i].has_step && job_id_is_of(&o->ids.id[i], r) &&
		    print_step(o, a, r, o->ids.id[i].step_id) != CMD_OK)
			rc = CMD_FAILED;
	return rc;
}

/* Says why R has no advice. */
static void print_no_advice(const struct record *r, const struct advice_site *site, uint64_t now)
{
	struct advice_facts f;
	char text[METRIC_TEXT_MAX];

	advice_facts_of(r, site->chain, now, &f);
	if (r->state && !strcmp(r->state, "RUNNING"))
		cmd_print("  no advice: the job still runs");
	else if (f.known[FACT_ELAPSED] && f.value[FACT_ELAPSED] < site->min_elapsed_s)
		cmd_print("  no advice: the job ran for less than %s",
			  screen_seconds((uint64_t)site->min_elapsed_s, text));
	else
		cmd_print("  no advice: no rule finds anything to change");
}

/* Prints the values that triggered each advice, and the reason for its rule. */
static void print_reasons(const struct record *r, const struct advice_site *site, uint64_t now,
			  const struct advice *a, size_t n)
{
	char text[ADVICE_TEXT_MAX * 2];
	size_t i;

	if (!n)
		print_no_advice(r, site, now);
	for (i = 0; i < n; i++) {
		cmd_print("  %s: %s", a[i].rule->name,
			  advice_explain(&a[i], r, site, now, text, sizeof(text)));
		cmd_print("    %s", a[i].rule->why);
		if (*advice_saving_text(&a[i], /* with_co2e= */ true, text, sizeof(text)))
			cmd_print("    %s", text);
		if (*a[i].link)
			cmd_print("    %s", a[i].link);
	}
}

static int print_screen(const struct job_options *o, const struct job_answer *a,
			const struct record *const *part, size_t n)
{
	struct advice advice[JOB_SCREEN_ADVICE];
	const uint64_t now = wall_s();

	if (job_show(a, part, n, now, has_colour(), stdout) < 0)
		return cmd_error("out of memory");
	if (o->explain && n == 1)
		print_reasons(part[0], &a->site->advice, now, advice,
			      advice_find(part[0], &a->site->advice, now, advice, JOB_SCREEN_ADVICE));
	return CMD_OK;
}

/* Prints PART[n]: one job, or the parts of one array or het job. */
static int print_group(const struct job_options *o, const struct job_answer *a,
		       const struct record *const *part, size_t n)
{
	int rc = CMD_OK;
	size_t i;

	for (i = 0; i < n && rc == CMD_OK; i++) {
		if (o->json)
			rc = print_json(part[i]);
		else if (o->is_long)
			job_list_print(part[i]);
		if (o->is_long && !o->json && n > 1)
			putchar('\n');
	}
	/* after the parts, print their sum */
	if (rc == CMD_OK && !o->json && (!o->is_long || n > 1))
		rc = print_screen(o, a, part, n);
	return rc;
}

/* Prints the group of jobs that begins at jobs[FIRST]. *RET_NEXT is the begin of the next group. */
static int print_next(const struct job_options *o, const struct job_answer *a, size_t first, size_t *ret_next)
{
	const struct slurmdb_jobs *jobs = &a->jobs;
	_cleanup_free_ const struct record **part = NULL;
	size_t end = first + 1;
	size_t n = 0;
	size_t i;
	int rc = CMD_OK;

	while (end < jobs->n && job_ask_is_group(jobs->job[first].record, jobs->job[end].record))
		end++;
	*ret_next = end;
	part = calloc(end - first, sizeof(*part));
	if (!part)
		return cmd_error("out of memory");
	for (i = first; i < end; i++)
		if (is_wanted(o, jobs->job[i].record))
			part[n++] = jobs->job[i].record;
	if (n)
		rc = print_group(o, a, part, n);
	for (i = first; i < end; i++)
		if (print_steps(o, a, jobs->job[i].record) != CMD_OK)
			rc = CMD_FAILED;
	return rc;
}

static int show_jobs(const struct job_options *o, struct job_answer *a)
{
	int rc = job_ask_missing(&o->ids, a);
	size_t i;

	for (i = 0; i < a->jobs.n;) {
		if (i && !o->json)
			putchar('\n');
		if (print_next(o, a, i, &i) != CMD_OK)
			rc = CMD_FAILED;
	}
	return rc;
}

static int run(const struct job_options *o)
{
	static struct job_site site;
	struct job_question q = { .ids = &o->ids,
				  .cluster = o->cluster,
				  .duplicates = o->duplicates,
				  .qos = o->json,
				  .wait_ns = o->wait_ns };
	struct job_answer a = { .site = &site };
	int rc;

	job_site_load(&site);
	q.script = o->json && site.settings.record_script;
	rc = job_ask(&q, &a);
	if (rc == CMD_OK)
		rc = show_jobs(o, &a);
	job_answer_free(&a);
	job_site_fini(&site);
	return rc;
}

/* --- arguments --------------------------------------------------------------------------------- */

static int add_ids(struct job_options *o, const char *list)
{
	struct errmsg err = { 0 };
	int rc = job_ids_add(&o->ids, list, &err);

	return rc < 0 ? cmd_usage_error(&cmd_job, "%s", err.text) : CMD_OK;
}

static int check_ids(const struct cmd_info *self, const struct job_options *o)
{
	size_t i;

	if (!o->ids.n)
		return cmd_usage(self, CMD_USAGE);
	for (i = 0; i < o->ids.n; i++)
		if (o->json && o->ids.id[i].has_step)
			return cmd_usage_error(&cmd_job, "--json prints whole jobs: leave out the step");
	return job_ask_check_conf();
}

enum { OPT_JSON = 256, OPT_WAIT };

static const struct cmd_option job_options[] = {
	{ NULL, 0, NULL, "Which jobs" },
	{ "cluster", 'M', "CLUSTER", "of this cluster; all: of every cluster" },
	{ "clusters", 'M', "CLUSTER", NULL }, /* sacct's name */
	{ "duplicates", 'D', NULL, "also earlier runs of a requeued job" },
	{ "jobs", 'j', "JOBID,...", "these jobs, as arguments do" },
	{ "wait", OPT_WAIT, "TIME", "wait until they have ended, this long at most" },
	{ NULL, 0, NULL, "Output" },
	{ "explain", 'e', NULL, "say why each advice is given" },
	{ "json", OPT_JSON, NULL, "print one record per line" },
	{ "long", 'l', NULL, "all values, and a table of steps" },
	{ 0 },
};

static int set_wait(struct job_options *o, const char *text)
{
	if (parse_duration_ns(text, &o->wait_ns) == 0)
		return CMD_OK;
	return cmd_usage_error(&cmd_job, "--wait: '%s' is not a time such as 10s or 2m", text);
}

static int parse_args(const struct cmd_info *self, int argc, char **argv, struct job_options *o)
{
	int rc = CMD_OK;
	int c;

	while (rc == CMD_OK && (c = cmd_getopt(argc, argv, job_options, 0)) >= 0) {
		if (c == 'j')
			rc = add_ids(o, optarg);
		else if (c == OPT_JSON)
			o->json = true;
		else if (c == 'l')
			o->is_long = true;
		else if (c == 'D')
			o->duplicates = true;
		else if (c == 'e')
			o->explain = true;
		else if (c == 'M')
			o->cluster = optarg;
		else if (c == OPT_WAIT)
			rc = set_wait(o, optarg);
		else
			return cmd_usage(self, c == 'h' ? CMD_OK : CMD_USAGE);
	}
	for (; rc == CMD_OK && optind < argc; optind++)
		rc = add_ids(o, argv[optind]);
	return rc;
}

static int cmd_job_run(const struct cmd_info *self, int argc, char **argv)
{
	struct job_options o = { 0 };
	int rc = parse_args(self, argc, argv, &o);

	if (rc == CMD_OK)
		rc = check_ids(self, &o);
	if (rc == CMD_OK)
		rc = run(&o);
	job_ids_fini(&o.ids);
	return rc;
}

const struct cmd_info cmd_job = {
	"job", "[OPTION...] JOBID[.STEP][,...]...", cmd_job_run, job_options, "ceems job --explain 1234",
};
