/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_job.c - ceems job: what jobs and their steps used, from slurmdbd.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "recorder/slurmdb_rows.h"
#include "src/cmd/cmd.h"
#include "src/cmd/job_ids.h"
#include "src/cmd/job_list.h"
#include "src/cmd/job_live.h"
#include "src/cmd/job_screen.h"
#include "src/cmd/job_site.h"
#include "src/libcore/metric_text.h"
#include "src/libledger/ledger.h"
#include "src/librecord/advice.h"
#include "src/libutil/clock.h"

/* Ids that slurmdbd shows nothing of, and that are named one by one. */
#define MISSING_NAMED 5

struct job_options {
	struct job_ids ids;
	const char *cluster;
	bool json, is_long, duplicates, explain;
};

struct job_answer {
	struct job_site *site;
	struct slurmdb_jobs jobs;
	char not_live[JOB_LIVE_WHY_MAX]; /* why nothing is known of running steps, or empty */
};

/* --- asking slurmdbd --------------------------------------------------------------------------- */

static struct slurmdb_want job_want(const struct job_id *id, bool script)
{
	struct slurmdb_want want = { .job_id = id->job_id, .script = script };

	if (id->kind == JOB_ID_TASK) {
		want.array_job_id = id->job_id;
		want.array_task_id = id->part;
	} else if (id->kind == JOB_ID_COMPONENT) {
		want.het_job_id = id->job_id;
		want.het_offset = id->part;
	}
	return want;
}

static int jobs_append(struct slurmdb_jobs *all, struct slurmdb_jobs *more)
{
	struct slurmdb_job *job = realloc(all->job, (all->n + more->n + 1) * sizeof(*job));

	if (!job)
		return -ENOMEM;
	memcpy(job + all->n, more->job, more->n * sizeof(*job));
	all->job = job;
	all->n += more->n;
	free(more->job);
	*more = (struct slurmdb_jobs){ 0 };
	return 0;
}

static int jobs_get(struct slurmdb_rows *rows, const struct job_ids *ids, bool script, struct slurmdb_jobs *ret,
		    struct errmsg *err)
{
	struct slurmdb_want want[SLURMDB_ASK_MAX];
	size_t first = 0;
	int rc = 0;

	while (rc == 0 && first < ids->n) {
		struct slurmdb_jobs some = { 0 };
		size_t n = 0;

		while (n < SLURMDB_ASK_MAX && first < ids->n)
			want[n++] = job_want(&ids->id[first++], script);
		rc = slurmdb_rows_get(rows, want, n, &some, err);
		if (rc == 0 && jobs_append(ret, &some) < 0)
			rc = errmsg_set(err, -ENOMEM, "out of memory");
		slurmdb_jobs_free(&some);
	}
	return rc;
}

/* --- their order ------------------------------------------------------------------------------- */

static uint64_t group_of(const struct record *r)
{
	return r->array_job_id.known ? r->array_job_id.value :
	       r->het_job_id.known   ? r->het_job_id.value :
				       r->job_id;
}

/* Tasks that never ran have no number, and come last. */
static uint64_t part_of(const struct record *r)
{
	if (r->array_job_id.known)
		return r->array_task_id.known ? r->array_task_id.value : UINT64_MAX;
	return r->het_job_offset.known ? r->het_job_offset.value : 0;
}

static bool is_same_cluster(const struct record *a, const struct record *b)
{
	return a->cluster && b->cluster && !strcmp(a->cluster, b->cluster);
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* The parts of an array or het job side by side, and the runs of a job, the last one last. */
static int compare_jobs(const void *x, const void *y)
{
	const struct record *a = ((const struct slurmdb_job *)x)->record;
	const struct record *b = ((const struct slurmdb_job *)y)->record;
	int rc = strcmp(a->cluster ? a->cluster : "", b->cluster ? b->cluster : "");

	rc = rc ? rc : compare_numbers(group_of(a), group_of(b));
	rc = rc ? rc : compare_numbers(part_of(a), part_of(b));
	rc = rc ? rc : compare_numbers(a->job_id, b->job_id);
	rc = rc ? rc : compare_numbers(a->submit, b->submit);
	return rc ? rc : compare_numbers(a->db_index.value, b->db_index.value);
}

static bool is_repeat(const struct record *a, const struct record *b)
{
	return is_same_cluster(a, b) && a->db_index.known && b->db_index.known &&
	       a->db_index.value == b->db_index.value;
}

/* slurmdbd shows no earlier runs without --duplicates; the parts of a resized job are no runs. */
static bool is_superseded(const struct record *r, const struct record *next)
{
	return (!r->state || strcmp(r->state, "RESIZING") != 0) && is_same_cluster(r, next) &&
	       next->job_id == r->job_id && next->submit > r->submit;
}

/* Leaves each job once, and without DUPLICATES only its last run. */
static void jobs_sort(struct slurmdb_jobs *jobs, bool duplicates)
{
	size_t kept = 0;
	size_t i;

	if (!jobs->n)
		return;
	qsort(jobs->job, jobs->n, sizeof(*jobs->job), compare_jobs);
	for (i = 0; i < jobs->n; i++) {
		const struct record *next = i + 1 < jobs->n ? jobs->job[i + 1].record : NULL;
		struct record *r = jobs->job[i].record;

		if (next && (is_repeat(r, next) || (!duplicates && is_superseded(r, next))))
			record_destroy(r);
		else
			jobs->job[kept++] = jobs->job[i];
	}
	jobs->n = kept;
}

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

static int print_step(const struct record *r, uint32_t step_id, bool all)
{
	char name[16];

	if (job_list_step(r, step_id, all))
		return CMD_OK;
	return cmd_error("job %u has no step %s", r->job_id, ledger_step_name(step_id, name, sizeof(name)));
}

/* Whether the job itself is asked for, not only steps of it. */
static bool is_wanted(const struct job_options *o, const struct record *r)
{
	size_t i;

	for (i = 0; i < o->ids.n; i++)
		if (!o->ids.id[i].has_step && job_id_is_of(&o->ids.id[i], r))
			return true;
	return false;
}

static int print_steps(const struct job_options *o, const struct record *r)
{
	int rc = CMD_OK;
	size_t i;

	for (i = 0; i < o->ids.n; i++)
		if (o->ids.id[i].has_step && job_id_is_of(&o->ids.id[i], r) &&
		    print_step(r, o->ids.id[i].step_id, o->is_long) != CMD_OK)
			rc = CMD_FAILED;
	return rc;
}

/* Colour is for people: no-color.org. */
static bool has_colour(void)
{
	const char *no = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && (!no || !*no) && term && strcmp(term, "dumb") != 0;
}

/* By which values a rule of advice spoke, and why it is one. */
static void print_reasons(const struct record *r, const struct advice_site *site, uint64_t now, const struct advice *a,
			  size_t n)
{
	char text[ADVICE_TEXT_MAX * 2];
	size_t i;

	for (i = 0; i < n; i++) {
		cmd_print("  %s: %s", a[i].rule->name, advice_explain(&a[i], r, site, now, text, sizeof(text)));
		cmd_print("    %s", a[i].rule->why);
		if (*advice_saving_text(&a[i], /* with_co2e= */ true, text, sizeof(text)))
			cmd_print("    %s", text);
		if (*a[i].link)
			cmd_print("    %s", a[i].link);
	}
}

static int print_screen(const struct job_options *o, const struct job_answer *a, const struct record *const *part,
			size_t n)
{
	const char *cluster = a->site->cluster;
	struct job_screen_advice line[JOB_SCREEN_ADVICE];
	struct advice advice[JOB_SCREEN_ADVICE];
	char saved[JOB_SCREEN_ADVICE][METRIC_TEXT_MAX];
	struct job_screen s = { .part = part,
				.n = n,
				.now = clock_wall_ns() / NSEC_PER_SEC,
				.cluster = *cluster ? cluster : NULL,
				.not_live = *a->not_live ? a->not_live : NULL,
				.advice = line,
				.colour = has_colour() };
	size_t i;

	if (n == 1)
		s.nadvice = advice_find(part[0], &a->site->advice, s.now, advice, JOB_SCREEN_ADVICE);
	for (i = 0; i < s.nadvice; i++)
		line[i] = (struct job_screen_advice){
			.what = advice[i].what,
			.type = advice[i].type,
			.saved = advice_saving_text(&advice[i], /* with_co2e= */ false, saved[i], sizeof(saved[i])),
		};
	if (job_screen_print(stdout, &s) < 0)
		return cmd_error("out of memory");
	if (o->explain)
		print_reasons(part[0], &a->site->advice, s.now, advice, s.nadvice);
	return CMD_OK;
}

/* N jobs that were asked for: one, or parts of one array or het job. */
static int print_group(const struct job_options *o, const struct job_answer *a, const struct record *const *part,
		       size_t n)
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
	/* the sum of the parts follows them */
	if (rc == CMD_OK && !o->json && (!o->is_long || n > 1))
		rc = print_screen(o, a, part, n);
	return rc;
}

static bool is_of_group(const struct record *a, const struct record *b)
{
	return (a->array_job_id.known || a->het_job_id.known) && is_same_cluster(a, b) &&
	       a->array_job_id.known == b->array_job_id.known && group_of(a) == group_of(b);
}

/* Those from JOBS[FIRST] on that belong together; *RET_NEXT is behind them. */
static int print_next(const struct job_options *o, const struct job_answer *a, size_t first, size_t *ret_next)
{
	const struct slurmdb_jobs *jobs = &a->jobs;
	_cleanup_free_ const struct record **part = NULL;
	size_t end = first + 1;
	size_t n = 0;
	size_t i;
	int rc = CMD_OK;

	while (end < jobs->n && is_of_group(jobs->job[first].record, jobs->job[end].record))
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
		if (print_steps(o, jobs->job[i].record) != CMD_OK)
			rc = CMD_FAILED;
	return rc;
}

static void id_text(const struct job_id *id, char *buf, size_t size)
{
	static const char *const sign[] = { "", "_", "+" };

	if (id->kind == JOB_ID_WHOLE)
		(void)snprintf(buf, size, "%u", id->job_id);
	else
		(void)snprintf(buf, size, "%u%s%u", id->job_id, sign[id->kind], id->part);
}

/* Says which ids there is nothing of. */
static int report_missing(const struct job_ids *ids, const struct slurmdb_jobs *jobs)
{
	size_t missing = 0;
	char text[32];
	size_t i, k;

	for (i = 0; i < ids->n; i++) {
		for (k = 0; k < jobs->n && !job_id_is_of(&ids->id[i], jobs->job[k].record); k++)
			;
		if (k < jobs->n || missing++ >= MISSING_NAMED)
			continue;
		id_text(&ids->id[i], text, sizeof(text));
		(void)cmd_error("slurmdbd shows no job %s to this user", text);
	}
	if (missing > MISSING_NAMED)
		(void)cmd_error("nor %zu others", missing - MISSING_NAMED);
	return missing ? CMD_FAILED : CMD_OK;
}

/* Running steps tell slurmdbd nothing, and sstat knows those of this cluster only. */
static void ask_running(struct job_answer *a)
{
	_cleanup_free_ struct record **running = calloc(a->jobs.n + 1, sizeof(*running));
	const char *cluster = a->site->cluster;
	size_t n = 0;
	size_t i;

	for (i = 0; running && i < a->jobs.n; i++) {
		struct record *r = a->jobs.job[i].record;

		if (!r->start || r->end)
			continue;
		if (*cluster && r->cluster && strcasecmp(cluster, r->cluster) != 0)
			(void)snprintf(a->not_live, sizeof(a->not_live), "only on the cluster itself");
		else
			running[n++] = r;
	}
	if (n)
		job_live_ask(running, n, a->not_live);
}

static int show_jobs(const struct job_options *o, struct job_answer *a)
{
	int rc = report_missing(&o->ids, &a->jobs);
	size_t i;

	jobs_sort(&a->jobs, o->duplicates);
	ask_running(a);
	for (i = 0; i < a->jobs.n; i++)
		if (job_site_finish(a->site, &a->jobs.job[i]) < 0)
			return cmd_error("out of memory");
	for (i = 0; i < a->jobs.n;) {
		if (i && !o->json)
			putchar('\n');
		if (print_next(o, a, i, &i) != CMD_OK)
			rc = CMD_FAILED;
	}
	return rc;
}

/* Whether the cluster that was asked is one, if there is no job. */
static int check_cluster(struct slurmdb_rows *rows, const char *cluster)
{
	struct errmsg err = { 0 };
	int rc = cluster ? slurmdb_rows_has_cluster(rows, cluster, &err) : 1;

	if (rc > 0)
		return CMD_OK;
	return rc < 0 ? cmd_error("%s", err.text) : cmd_error("slurmdbd knows no cluster '%s'", cluster);
}

static int run(const struct job_options *o)
{
	static struct job_site site;
	struct slurmdb_options options = { .whole_het = true, .one_connection = true };
	struct job_answer a = { .site = &site };
	struct slurmdb_rows *rows = NULL;
	struct errmsg err = { 0 };
	int rc;

	job_site_load(&site);
	/* without the cluster's name slurmdbd looks at all of them */
	options.cluster = o->cluster ? o->cluster : *site.cluster ? site.cluster : NULL;
	if (options.cluster && !strcasecmp(options.cluster, "all"))
		options.cluster = NULL;
	options.no_usage = site.no_usage;
	options.no_qos = !o->json;
	rc = slurmdb_rows_create(&options, &rows, &err);
	if (rc == 0)
		rc = jobs_get(rows, &o->ids, o->json && site.settings.record_script, &a.jobs, &err);
	if (rc < 0)
		rc = cmd_error("%s", err.text);
	else
		rc = a.jobs.n ? CMD_OK : check_cluster(rows, options.cluster);
	if (rc == CMD_OK)
		rc = show_jobs(o, &a);
	slurmdb_jobs_free(&a.jobs);
	slurmdb_rows_destroy(rows);
	job_site_fini(&site);
	return rc;
}

/* --- arguments --------------------------------------------------------------------------------- */

static int bad_ids(const char *text)
{
	(void)cmd_error("job: %s", text);
	return CMD_USAGE;
}

static int add_ids(struct job_options *o, const char *list)
{
	struct errmsg err = { 0 };
	int rc = job_ids_add(&o->ids, list, &err);

	return rc < 0 ? bad_ids(err.text) : CMD_OK;
}

static int check_ids(const struct cmd_info *self, const struct job_options *o)
{
	const char *slurm_conf = getenv("SLURM_CONF");
	size_t i;

	if (!o->ids.n)
		return cmd_usage(self, CMD_USAGE);
	for (i = 0; i < o->ids.n; i++)
		if (o->json && o->ids.id[i].has_step)
			return bad_ids("--json prints whole jobs: leave out the step");
	/* libslurm would wait a minute for it */
	if (slurm_conf && access(slurm_conf, R_OK) < 0)
		return cmd_error("SLURM_CONF=%s: %s", slurm_conf, strerror(errno));
	return CMD_OK;
}

static int parse_args(const struct cmd_info *self, int argc, char **argv, struct job_options *o)
{
	static const struct option options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "cluster", required_argument, NULL, 'M' },
		{ "clusters", required_argument, NULL, 'M' }, /* sacct's name */
		{ "duplicates", no_argument, NULL, 'D' },
		{ "explain", no_argument, NULL, 'e' },
		{ "jobs", required_argument, NULL, 'j' },
		{ "json", no_argument, NULL, 'J' },
		{ "long", no_argument, NULL, 'l' },
		{ 0 },
	};
	int rc = CMD_OK;
	int c;

	while (rc == CMD_OK && (c = getopt_long(argc, argv, "DehlM:j:", options, NULL)) >= 0) {
		if (c == 'j')
			rc = add_ids(o, optarg);
		else if (c == 'J')
			o->json = true;
		else if (c == 'l')
			o->is_long = true;
		else if (c == 'D')
			o->duplicates = true;
		else if (c == 'e')
			o->explain = true;
		else if (c == 'M')
			o->cluster = optarg;
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
	"job",
	"[--json] [--long] [--explain] [--duplicates] [--cluster NAME] JOBID[.STEP][,...] ...",
	"Show what jobs and their steps used, from slurmdbd.",
	cmd_job_run,
};
