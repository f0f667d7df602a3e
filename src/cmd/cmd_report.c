/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_report.c - ceems report: a month, a week or a job for people who were not there, from slurmdbd.
 */
#include <errno.h>
#include <string.h>

#include "src/cmd/cmd.h"
#include "src/cmd/report.h"
#include "src/libutil/clock.h"

FILE *report_open(const struct report_options *o)
{
	FILE *out = o->out ? fopen(o->out, "we") : stdout;

	if (!out)
		(void)cmd_error("%s: %s", o->out, strerror(errno));
	return out;
}

int report_close(const struct report_options *o, FILE *out, int rc)
{
	bool is_lost = ferror(out) != 0;

	if (out != stdout && fclose(out) != 0)
		is_lost = true;
	if (rc < 0)
		return cmd_error("out of memory");
	return is_lost && o->out ? cmd_error("cannot write %s: %s", o->out, strerror(errno)) : CMD_OK;
}

/* --- arguments --------------------------------------------------------------------------------- */

enum { OPT_BY = 256, OPT_CSV, OPT_DIR, OPT_HTML, OPT_JSON, OPT_MONTH, OPT_SITE, OPT_TEXT, OPT_WEEK };

/* "2026-W48" may be an argument of its own behind --week. */
static int set_period(struct report_options *o, enum period_kind kind, int argc, char **argv)
{
	const char *text = optarg;

	if (o->has_period)
		return cmd_usage_error(&cmd_report, "one month or week at a time");
	if (!text && optind < argc && argv[optind][0] != '-' && strcmp(argv[optind], "job") != 0)
		text = argv[optind++];
	if (period_parse(kind, text ? text : "last", o->now, &o->period) < 0)
		return cmd_usage_error(&cmd_report, "'%s' is no %s: write " PERIOD_FORMS, text,
				   kind == PERIOD_WEEK ? "week" : "month");
	o->has_period = true;
	return CMD_OK;
}

static int set_by(struct report_options *o, const char *text)
{
	if (jobs_group_find(text, &o->by) &&
	    (o->by == JOBS_BY_USER || o->by == JOBS_BY_ACCOUNT || o->by == JOBS_BY_PARTITION))
		return CMD_OK;
	return cmd_usage_error(&cmd_report, "--by %s: user, account or partition", text);
}

static int set_option(const struct cmd_info *self, struct report_options *o, int c, int argc, char **argv)
{
	switch (c) {
	case 'o':
		o->out = optarg;
		return CMD_OK;
	case OPT_BY:
		return set_by(o, optarg);
	case OPT_MONTH:
		return set_period(o, PERIOD_MONTH, argc, argv);
	case OPT_WEEK:
		return set_period(o, PERIOD_WEEK, argc, argv);
	case OPT_DIR:
		o->trace_dir = optarg;
		return CMD_OK;
	case OPT_SITE:
		o->site = optarg;
		return CMD_OK;
	case OPT_TEXT:
	case OPT_JSON:
	case OPT_CSV:
	case OPT_HTML:
		o->form = c == OPT_JSON ? REPORT_JSON :
			  c == OPT_CSV	? REPORT_CSV :
			  c == OPT_HTML ? REPORT_HTML :
					  REPORT_TEXT;
		return CMD_OK;
	default:
		return jobs_choice_set(self, &o->choice, c);
	}
}

/* Unless it is said, the file's name says it. */
static enum report_form form_of(const char *path)
{
	static const struct {
		const char *suffix;
		enum report_form form;
	} forms[] = { { ".html", REPORT_HTML }, { ".htm", REPORT_HTML }, { ".json", REPORT_JSON }, { ".csv", REPORT_CSV } };
	size_t i;

	for (i = 0; path && i < ARRAY_SIZE(forms); i++) {
		size_t len = strlen(forms[i].suffix);

		if (strlen(path) > len && !strcmp(path + strlen(path) - len, forms[i].suffix))
			return forms[i].form;
	}
	return REPORT_TEXT;
}

static int run_report(struct report_options *o, const char *ids)
{
	int rc;

	if (!ids != (o->has_period || o->site != NULL))
		return cmd_usage_error(&cmd_report, "say --month, --week, --site DIR or job ID");
	if (o->has_period && o->site)
		return cmd_usage_error(&cmd_report, "--site makes its own months and weeks");
	if (ids)
		return report_job(o, ids);
	if (o->site)
		return report_site(o);
	rc = jobs_choice_self(&cmd_report, &o->choice);
	return rc == CMD_OK ? report_period(o) : rc;
}

static const struct cmd_option report_list[] = {
	{ NULL, 0, NULL, "Which report" },
	{ "month", OPT_MONTH, "[=YYYY-MM]", "a month (the last one)" },
	{ "week", OPT_WEEK, "[=YYYY-Www]", "a week (the last one)" },
	{ "site", OPT_SITE, "DIR", "pages for a web server, into this folder" },
	{ "by", OPT_BY, "user|account|partition", "sums of these (account)" },
	{ "dir", OPT_DIR, "DIR", "of a job: its traces are in this folder" },
	{ NULL, 0, NULL, "Which jobs" },
	{ "accounts", 'A', "ACCOUNT,...", "of these accounts" },
	{ "allusers", 'a', NULL, "of all users (your own)" },
	{ "cluster", 'M', "CLUSTER", "of this cluster" },
	{ "clusters", 'M', "CLUSTER", NULL }, /* sacct's name */
	{ "partition", 'r', "PARTITION,...", "of these partitions" },
	{ "user", 'u', "USER,...", "of these users" },
	{ NULL, 0, NULL, "Output" },
	{ "csv", OPT_CSV, NULL, "one table, separated by commas" },
	{ "html", OPT_HTML, NULL, "a page in one file" },
	{ "json", OPT_JSON, NULL, "one JSON object" },
	{ "output", 'o', "FILE", "into this file; its suffix says the form" },
	{ "text", OPT_TEXT, NULL, "text (default)" },
	{ 0 },
};

static int parse_args(const struct cmd_info *self, int argc, char **argv, struct report_options *o, const char **ret_ids,
		      bool *ret_done)
{
	bool has_form = false;
	int rc = CMD_OK;
	int c;

	*ret_done = true;
	while (rc == CMD_OK && (c = cmd_getopt(argc, argv, report_list, 0)) >= 0) {
		if (c == 'h')
			return cmd_usage(self, CMD_OK);
		has_form |= c == OPT_TEXT || c == OPT_JSON || c == OPT_CSV || c == OPT_HTML;
		rc = set_option(self, o, c, argc, argv);
	}
	if (rc != CMD_OK)
		return rc;
	if (!has_form)
		o->form = form_of(o->out);
	if (optind + 2 == argc && !strcmp(argv[optind], "job"))
		*ret_ids = argv[optind + 1];
	else if (optind < argc)
		return cmd_usage_error(&cmd_report, "'%s': say --month, --week, --site DIR or job ID", argv[optind]);
	*ret_done = false;
	return CMD_OK;
}

static int cmd_report_run(const struct cmd_info *self, int argc, char **argv)
{
	struct report_options o = { .by = JOBS_BY_ACCOUNT, .now = clock_wall_ns() / NSEC_PER_SEC };
	const char *ids = NULL;
	bool is_done;
	int rc = parse_args(self, argc, argv, &o, &ids, &is_done);

	if (!is_done)
		rc = run_report(&o, ids);
	jobs_choice_fini(&o.choice);
	return rc;
}

const struct cmd_info cmd_report = {
	"report",
	"--month|--week|--site DIR|job JOBID [OPTION...]",
	"Report energy, emissions and waste of a month, a week or a job.",
	cmd_report_run,
	report_list,
	"ceems report --month 2026-11 -a -o november.html",
	CMD_FOR_USERS,
};
