/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_top.c - ceems top: shows what running jobs use now.
 */
#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "src/cmd/cmd.h"
#include "src/cmd/job/job_ask.h"
#include "src/cmd/top/top_draw.h"
#include "src/cmd/top/top_screen.h"
#include "src/cmd/top/top_source.h"
#include "src/libutil/clock.h"
#include "src/libutil/parse.h"

#define INTERVAL_NS (5 * NSEC_PER_SEC)
#define INTERVAL_MIN_NS NSEC_PER_SEC
#define WINDOW_NS (15 * NSEC_PER_SEC) /* rates are means over this time, which has three readings every 5 s */
#define WIDTH_NO_TERMINAL 120

struct top_request {
	bool all_users, once, json, node;
	const char *user, *node_name, *conf;
	uint32_t job_id; /* job whose nodes to show; 0: show jobs */
	uint64_t interval_ns, frames;
	struct top_view view;
};

/* --- without a screen -------------------------------------------------------------------------- */

static int print_frame(const struct top_request *o, const struct top_frame *f)
{
	struct top_view view = o->view;
	struct top_lines lines;
	char *json;
	size_t i;

	if (o->json) {
		json = top_frame_json(f);
		if (!json)
			return cmd_error("out of memory");
		puts(json);
		free(json);
		return CMD_OK;
	}
	view.width = cmd_columns(STDOUT_FILENO, WIDTH_NO_TERMINAL);
	view.height = 0;
	if (top_draw(f, &view, &lines) < 0)
		return cmd_error("out of memory");
	for (i = 0; i < lines.n; i++)
		puts(lines.line[i].text);
	top_lines_free(&lines);
	return CMD_OK;
}

static int read_frame(struct top_source *s, uint32_t job_id, struct top_frame *f)
{
	struct errmsg err = { 0 };

	top_frame_free(f);
	return s->ops->read(s, job_id, f, &err) < 0 ? cmd_error("%s", err.text) : CMD_OK;
}

/* Prints frames as text, without a screen. Rates need two readings before the first frame. */
static int run_batch(const struct top_request *o, struct top_source *s)
{
	const struct timespec wait = { (time_t)(o->interval_ns / NSEC_PER_SEC),
				       (long)(o->interval_ns % NSEC_PER_SEC) };
	uint64_t frames = o->frames ? o->frames : 1;
	struct top_frame f = { 0 };
	int rc = read_frame(s, o->job_id, &f);
	uint64_t i;

	for (i = 0; rc == CMD_OK && i < frames; i++) {
		(void)nanosleep(&wait, NULL);
		rc = read_frame(s, o->job_id, &f);
		if (rc == CMD_OK && i && !o->json)
			putchar('\n');
		if (rc == CMD_OK)
			rc = print_frame(o, &f);
		(void)fflush(stdout);
	}
	top_frame_free(&f);
	return rc;
}

/* --- one run ----------------------------------------------------------------------------------- */

static int run_screen(const struct top_request *o, struct top_source *s, bool *ret_busy)
{
	struct errmsg err = { 0 };
	int sig = 0;

	if (top_screen_run(s, &o->view, o->interval_ns, o->frames, &sig, ret_busy, &err) < 0)
		return cmd_error("top: %s", err.text);
	if (sig) {
		/* end by the same signal, so that the shell sees the reason */
		(void)signal(sig, SIG_DFL);
		(void)raise(sig);
	}
	return CMD_OK;
}

/* Sets whose jobs to show: those of all users (-a), of one user (-u), or one's own. */
static int set_user(const struct top_request *o, struct top_jobs_options *jobs)
{
	const struct passwd *pw = o->user ? getpwnam(o->user) : getpwuid(geteuid());
	uint64_t uid = geteuid();

	if (o->user && !pw && (parse_u64(o->user, &uid) < 0 || uid > UINT32_MAX))
		return cmd_usage_error(&cmd_top, "no user '%s'", o->user);
	jobs->uid = pw ? pw->pw_uid : (uint32_t)uid;
	jobs->user = pw ? pw->pw_name : o->user ? o->user : "this user";
	return CMD_OK;
}

static int open_source(const struct top_request *o, const struct settings *s, struct top_source **ret)
{
	uint64_t window = WINDOW_NS > 2 * s->sample_interval_ns ? WINDOW_NS : 2 * s->sample_interval_ns;
	struct top_jobs_options jobs = { .all_users = o->all_users,
					 .whole = o->once ? 2 : 1, /* a rate needs two readings */
					 .window_ns = window,
					 .prometheus = s->prometheus_url };
	struct errmsg err = { 0 };
	int rc = CMD_OK;

	if (o->node)
		return top_node_open(s, o->node_name, window, ret, &err) < 0 ? cmd_error("%s", err.text) :
									       CMD_OK;
	rc = set_user(o, &jobs);
	if (rc == CMD_OK)
		rc = job_ask_check_conf();
	if (rc == CMD_OK && top_jobs_open(&jobs, ret, &err) < 0)
		rc = cmd_error("%s", err.text);
	return rc;
}

static int top_run(struct top_request *o)
{
	struct top_source *source;
	struct settings s;
	bool is_busy = false;
	/* only root may read the ledger, so --node is no user's command */
	int rc = o->node ? cmd_load_settings(o->conf, &s) : cmd_load_users_settings(o->conf, &s, NULL);

	if (rc == CMD_OK)
		rc = open_source(o, &s, &source);
	if (rc != CMD_OK)
		return rc;
	if (o->interval_ns < s.sample_interval_ns)
		o->interval_ns = s.sample_interval_ns;
	rc = o->once ? run_batch(o, source) : run_screen(o, source, &is_busy);
	/* a thread that still waits for slurmctld ends with the process */
	if (!is_busy)
		source->ops->close(source);
	return rc;
}

/* --- arguments --------------------------------------------------------------------------------- */

static int bad_value(const char *what, const char *text)
{
	return cmd_usage_error(&cmd_top, "'%s' is not %s", text, what);
}

static int set_sort(struct top_request *o, const char *name)
{
	char names[256];

	o->view.sort = top_column_find(name);
	return o->view.sort ? CMD_OK : bad_value(top_column_names(names, sizeof(names)), name);
}

enum { OPT_CONF = 256, OPT_FILTER, OPT_JOB, OPT_JSON, OPT_NODE, OPT_ONCE, OPT_REVERSE, OPT_SORT };

static int set_option(const struct cmd_info *self, struct top_request *o, int c)
{
	uint64_t n;

	switch (c) {
	case 'a':
		o->all_users = true;
		return CMD_OK;
	case 'u':
		o->user = optarg;
		return CMD_OK;
	case 'd':
		return parse_duration_ns(optarg, &o->interval_ns) < 0 || o->interval_ns < INTERVAL_MIN_NS ?
			       bad_value("an interval of 1s or more", optarg) :
			       CMD_OK;
	case 'n':
		return parse_u64(optarg, &o->frames) < 0 || !o->frames ?
			       bad_value("a number of frames", optarg) :
			       CMD_OK;
	case OPT_JOB:
		if (parse_u64(optarg, &n) < 0 || !n || n > UINT32_MAX)
			return bad_value("a job ID", optarg);
		o->job_id = (uint32_t)n;
		o->once = true;
		return CMD_OK;
	case OPT_FILTER:
		(void)snprintf(o->view.filter, sizeof(o->view.filter), "%s", optarg);
		return CMD_OK;
	case OPT_SORT:
		return set_sort(o, optarg);
	case OPT_REVERSE:
		o->view.reverse = true;
		return CMD_OK;
	case OPT_ONCE:
		o->once = true;
		return CMD_OK;
	case OPT_JSON:
		o->json = o->once = true;
		return CMD_OK;
	case OPT_NODE:
		o->node = true;
		o->node_name = optarg;
		return CMD_OK;
	case OPT_CONF:
		o->conf = optarg;
		return CMD_OK;
	default:
		return cmd_usage(self, CMD_USAGE);
	}
}

static const struct cmd_option top_options[] = {
	{ NULL, 0, NULL, "Which jobs" },
	{ "allusers", 'a', NULL, "of all users (your own)" },
	{ "user", 'u', "USER", "of this user" },
	{ "job", OPT_JOB, "ID", "the nodes of this job" },
	{ "node", OPT_NODE, "[=NAME]", "what is on this node; root only" },
	{ "filter", OPT_FILTER, "TEXT", "only rows with this text" },
	{ "conf", OPT_CONF, "FILE", "read this ceems.conf" },
	{ NULL, 0, NULL, "Order" },
	{ "sort", OPT_SORT, "COLUMN", "by this column" },
	{ "reverse", OPT_REVERSE, NULL, "the other way round" },
	{ NULL, 0, NULL, "Output" },
	{ "delay", 'd', "TIME", "time between two readings (5s)" },
	{ "frames", 'n', "N", "end after so many readings" },
	{ "once", OPT_ONCE, NULL, "print once, no screen" },
	{ "json", OPT_JSON, NULL, "print JSON objects, no screen" },
	{ 0 },
};

static int cmd_top_run(const struct cmd_info *self, int argc, char **argv)
{
	struct top_request o = { .interval_ns = INTERVAL_NS };
	int rc = CMD_OK;
	int c;

	while (rc == CMD_OK && (c = cmd_getopt(argc, argv, top_options, 0)) >= 0) {
		if (c == 'h')
			return cmd_usage(self, CMD_OK);
		rc = set_option(self, &o, c);
	}
	if (rc == CMD_OK && optind < argc)
		return cmd_usage(self, CMD_USAGE);
	if (rc == CMD_OK && o.node && (o.all_users || o.user || o.job_id))
		return cmd_usage_error(self, "--node shows all of a node: leave out -a, -u and --job");
	return rc == CMD_OK ? top_run(&o) : rc;
}

const struct cmd_info cmd_top = {
	"top", "[OPTION...]", cmd_top_run, top_options, "ceems top -a --sort power",
};
