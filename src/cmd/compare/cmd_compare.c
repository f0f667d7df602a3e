/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_compare.c - ceems compare: shows two jobs or steps side by side, from slurmdbd.
 */
#include <errno.h>

#include "src/cmd/cmd.h"
#include "src/cmd/job/job_ask.h"
#include "src/cmd/compare/job_compare.h"
#include "src/cmd/job/job_step.h"
#include "src/libutil/clock.h"

struct compare_request {
	struct job_ids ids;  /* the two ids */
	const char *text[2]; /* the ids as the user typed them */
	const char *cluster;
	enum cells_format output;
	bool no_header;
};

/*
 * Finds the one job that ID names; a step becomes a record of its own. TEXT is ID as the user typed it. *RET
 * borrows from A.
 */
static int find_one(const struct job_answer *a, const struct job_id *id, const char *text, struct record *ret)
{
	const struct record *job = NULL;
	struct record_step *step;
	size_t n = 0;
	size_t i;

	for (i = 0; i < a->jobs.n; i++)
		if (job_id_is_of(id, a->jobs.job[i].record)) {
			job = a->jobs.job[i].record;
			n++;
		}
	if (!job)
		return CMD_FAILED; /* job_ask_missing() has printed it */
	if (n > 1)
		return cmd_error("'%s' is %zu jobs: name one of them, as 12_3, 12+1, or with --cluster", text,
				 n);
	if (!id->has_step) {
		*ret = *job;
		return CMD_OK;
	}
	step = job_step_find(job, id->step_id);
	if (!step)
		return cmd_error("there is no step %s", text);
	job_step_record(job, step, ret);
	return CMD_OK;
}

static int compare(const struct compare_request *o, const struct job_answer *a)
{
	struct record r[2];
	const struct job_compare c = { .id = { o->text[0], o->text[1] },
				       .r = { &r[0], &r[1] },
				       .now = clock_wall_ns() / NSEC_PER_SEC };
	int rc = job_ask_missing(&o->ids, a);
	size_t i;

	for (i = 0; rc == CMD_OK && i < 2; i++)
		rc = find_one(a, &o->ids.id[i], o->text[i], &r[i]);
	if (rc != CMD_OK)
		return rc;
	if (job_compare_print(&c, o->output, !o->no_header, stdout) < 0)
		return cmd_error("out of memory");
	if (*a->not_live && o->output == CELLS_TABLE)
		cmd_print("running steps: %s", a->not_live);
	return CMD_OK;
}

static int compare_run(const struct compare_request *o)
{
	static struct job_site site;
	const struct job_question q = { .ids = &o->ids, .cluster = o->cluster };
	struct job_answer a = { .site = &site };
	int rc = job_ask_check_conf();

	if (rc != CMD_OK)
		return rc;
	job_site_load(&site);
	rc = job_ask(&q, &a);
	if (rc == CMD_OK)
		rc = compare(o, &a);
	job_answer_free(&a);
	job_site_fini(&site);
	return rc;
}

static int add_id(struct compare_request *o, size_t i, const char *text)
{
	struct errmsg err = { 0 };

	o->text[i] = text;
	if (job_ids_add(&o->ids, text, &err) == 0 && o->ids.n == i + 1)
		return CMD_OK;
	if (*err.text)
		return cmd_usage_error(&cmd_compare, "%s", err.text);
	return cmd_usage_error(&cmd_compare, "'%s' is several jobs", text);
}

enum { OPT_CSV = 256, OPT_JSON };

static const struct cmd_option compare_options[] = {
	{ NULL, 0, NULL, "Which jobs" },
	{ "cluster", 'M', "NAME", "of this cluster" },
	{ "clusters", 'M', "NAME", NULL }, /* sacct's name */
	{ NULL, 0, NULL, "Output" },
	{ "csv", OPT_CSV, NULL, "separated by commas, every line" },
	{ "json", OPT_JSON, NULL, "one JSON array" },
	{ "noheader", 'n', NULL, "no header" },
	{ "parsable2", 'P', NULL, "separated by |" },
	{ 0 },
};

static int cmd_compare_run(const struct cmd_info *self, int argc, char **argv)
{
	struct compare_request o = { 0 };
	int rc, c;

	while ((c = cmd_getopt(argc, argv, compare_options, 0)) >= 0) {
		if (c == 'M')
			o.cluster = optarg;
		else if (c == OPT_CSV)
			o.output = CELLS_CSV;
		else if (c == OPT_JSON)
			o.output = CELLS_JSON;
		else if (c == 'P')
			o.output = CELLS_PARSABLE;
		else if (c == 'n')
			o.no_header = true;
		else
			return cmd_usage(self, c == 'h' ? CMD_OK : CMD_USAGE);
	}
	if (argc - optind != 2)
		return cmd_usage(self, CMD_USAGE);
	rc = add_id(&o, 0, argv[optind]);
	if (rc == CMD_OK)
		rc = add_id(&o, 1, argv[optind + 1]);
	if (rc == CMD_OK)
		rc = compare_run(&o);
	job_ids_fini(&o.ids);
	return rc;
}

const struct cmd_info cmd_compare = {
	"compare",
	"[OPTION...] JOBID[.STEP] JOBID[.STEP]",
	cmd_compare_run,
	compare_options,
	"ceems compare 1234 1235",
};
