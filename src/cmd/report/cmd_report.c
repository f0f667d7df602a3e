/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_report.c - ceems report: a report of a month, a week or a job, from slurmdbd or a database.
 */
#include <signal.h>
#include <string.h>

#include "src/cmd/cmd.h"
#include "src/cmd/job/job_ask.h"
#include "src/cmd/report/report.h"
#include "src/libutil/clock.h"

/* --- arguments --------------------------------------------------------------------------------- */

enum {
	OPT_BY = 256,
	OPT_CSV,
	OPT_DIR,
	OPT_FROM,
	OPT_HTML,
	OPT_JSON,
	OPT_MAIL_TO,
	OPT_MONTH,
	OPT_RANK,
	OPT_SITE,
	OPT_TEXT,
	OPT_WEEK
};

/* Sets the period from the option's argument, or from the next argument, as in "--week 2026-W48". */
static int set_period(struct report_options *o, enum period_kind kind, int argc, char **argv)
{
	const char *text = optarg;

	if (o->has_period)
		return cmd_usage_error(&cmd_report, "one month or week at a time");
	if (!text && optind < argc && argv[optind][0] != '-' && strcmp(argv[optind], "job") != 0)
		text = argv[optind++];
	if (period_parse(kind, text ? text : "last", o->now, &o->period) < 0)
		return cmd_usage_error(&cmd_report, "'%s' is not a %s: write " PERIOD_FORMS, text,
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

/* Sets the database from TEXT, the argument of --from, such as "sqlite" or "mariadb:FILE". */
static int set_from(struct report_options *o, const char *text)
{
	static const char *const names[] = { "mariadb", "mysql", "sqlite" };
	size_t len = strcspn(text, ":");
	const struct sink_ops *sink;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names) && (strlen(names[i]) != len || strncmp(text, names[i], len) != 0);
	     i++)
		;
	if (i == ARRAY_SIZE(names) || (text[len] && !text[len + 1]))
		return cmd_usage_error(&cmd_report,
				       "--from %s: mariadb, mysql or sqlite, or with a file, as sqlite:FILE",
				       text);
	sink = sink_find(names[i]);
	if (!sink || !sink->db)
		return cmd_error("report: this build has no sink %s, and so cannot read its database",
				 names[i]);
	o->database = sink;
	o->database_name = sink->name;
	o->database_file = text[len] ? text + len + 1 : NULL;
	return CMD_OK;
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
	case OPT_FROM:
		return set_from(o, optarg);
	case OPT_MAIL_TO:
		o->mail_to = optarg;
		return CMD_OK;
	case OPT_RANK:
		o->rank = true;
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

/* Returns the form for file PATH by the end of its name. Used if no option sets the form. */
static enum report_form form_of(const char *path)
{
	static const struct {
		const char *suffix;
		enum report_form form;
	} forms[] = { { ".html", REPORT_HTML },
		      { ".htm", REPORT_HTML },
		      { ".json", REPORT_JSON },
		      { ".csv", REPORT_CSV } };
	size_t i;

	for (i = 0; path && i < ARRAY_SIZE(forms); i++) {
		size_t len = strlen(forms[i].suffix);

		if (strlen(path) > len && !strcmp(path + strlen(path) - len, forms[i].suffix))
			return forms[i].form;
	}
	return REPORT_TEXT;
}

/* Refuses options that do not go together, such as a user with --site. */
static int check_options(const struct report_options *o, bool has_form)
{
	const struct jobs_choice *c = &o->choice;

	if (o->has_period && o->site)
		return cmd_usage_error(&cmd_report,
				       "--site writes all months and weeks: leave out --month and "
				       "--week");
	if (o->site && (c->users.n || c->accounts.n || c->partitions.n))
		return cmd_usage_error(&cmd_report,
				       "--site reports the jobs of all users: leave out -u, -A and -r");
	if ((o->mail_to || o->rank) && !o->has_period)
		return cmd_usage_error(&cmd_report, "%s is for a month or week",
				       o->mail_to ? "--mail-to" : "--rank");
	if (o->mail_to && (has_form || o->out))
		return cmd_usage_error(&cmd_report,
				       "a mail has a form of its own: leave out --output and the form");
	if (o->database && !o->has_period && !o->site)
		return cmd_usage_error(&cmd_report, "--from works only with --month, --week or --site");
	if (o->rank && o->mail_to)
		return cmd_usage_error(&cmd_report,
				       "--rank is not for mailed reports; --mail-to with %%u includes "
				       "the ranks");
	if (o->rank && (c->all_users || c->users.n > 1 || c->accounts.n || c->partitions.n))
		return cmd_usage_error(&cmd_report,
				       "--rank compares one user with all: leave out -a, -A, -r and "
				       "further users");
	if (o->has_period && o->period.from > o->now)
		return cmd_error("report: the month or week has not begun");
	return CMD_OK;
}

static int run_report(struct report_options *o, const char *ids, bool has_form)
{
	int rc;

	if (!ids != (o->has_period || o->site != NULL))
		return cmd_usage_error(&cmd_report, "say --month, --week, --site DIR or job ID");
	rc = check_options(o, has_form);
	if (rc != CMD_OK)
		return rc;
	if (ids)
		return report_job(o, ids);
	rc = o->database ? CMD_OK : job_ask_check_conf();
	if (rc != CMD_OK)
		return rc;
	if (o->database)
		/* otherwise OpenSSL ends us when it writes to a server that is gone */
		(void)signal(SIGPIPE, SIG_IGN);
	if (o->site)
		return report_site(o);
	/* a user who may read the database may read the jobs of all users */
	if (o->database && !o->rank)
		o->choice.all_users |= !o->choice.users.n;
	rc = jobs_choice_self(&cmd_report, &o->choice);
	if (rc != CMD_OK)
		return rc;
	return o->mail_to ? report_mail(o) : report_period(o);
}

static const struct cmd_option report_list[] = {
	{ NULL, 0, NULL, "Which report" },
	{ "month", OPT_MONTH, "[=YYYY-MM]", "a month (the last one)" },
	{ "week", OPT_WEEK, "[=YYYY-Www]", "a week (the last one)" },
	{ "site", OPT_SITE, "DIR", "pages for a web server, into this folder" },
	{ "by", OPT_BY, "user|account|partition", "sums of these (account)" },
	{ "dir", OPT_DIR, "DIR", "of a job: its traces and profiles are there" },
	{ "from", OPT_FROM, "mariadb|mysql|sqlite[:FILE]", "jobs of the database of this sink (slurmdbd)" },
	{ "rank", OPT_RANK, NULL, "also where the user stands among all users" },
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
	{ "mail-to", OPT_MAIL_TO, "ADDRESS", "mail it; %u in ADDRESS: to each user" },
	{ "output", 'o', "FILE", "into this file; its suffix says the form" },
	{ "text", OPT_TEXT, NULL, "text (default)" },
	{ 0 },
};

static int parse_args(const struct cmd_info *self, int argc, char **argv, struct report_options *o,
		      const char **ret_ids, bool *ret_has_form, bool *ret_done)
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
		return cmd_usage_error(&cmd_report, "'%s': say --month, --week, --site DIR or job ID",
				       argv[optind]);
	*ret_has_form = has_form;
	*ret_done = false;
	return CMD_OK;
}

static int cmd_report_run(const struct cmd_info *self, int argc, char **argv)
{
	struct report_options o = { .self = self,
				    .by = JOBS_BY_ACCOUNT,
				    .now = clock_wall_ns() / NSEC_PER_SEC };
	const char *ids = NULL;
	bool has_form, is_done;
	int rc = parse_args(self, argc, argv, &o, &ids, &has_form, &is_done);

	if (!is_done)
		rc = run_report(&o, ids, has_form);
	jobs_choice_fini(&o.choice);
	return rc;
}

const struct cmd_info cmd_report = {
	"report",    "--month|--week|--site DIR|job JOBID [OPTION...]",	 cmd_report_run,
	report_list, "ceems report --month 2026-11 -a -o november.html",
};
