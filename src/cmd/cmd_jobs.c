/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_jobs.c - ceems jobs: a line per job, or per group of jobs, from slurmdbd.
 */
#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>

#include "src/cmd/cells.h"
#include "src/cmd/cmd.h"
#include "src/cmd/job_ask.h"
#include "src/cmd/jobs_field.h"
#include "src/cmd/jobs_group.h"
#include "src/cmd/when.h"
#include "src/libutil/clock.h"
#include "src/libutil/parse.h"

/*
 * slurmdbd is asked for so much time at once that its answers have some thousand jobs, whatever the cluster. A long time
 * is not asked for before shorter ones had few: many jobs may be in it.
 */
#define SLICE_FIRST_S 3600
#define SLICE_MOST_S 86400
#define SLICE_JOBS 4000
#define SLICE_GROWTH 4 /* at most, from one to the next */

struct text_list {
	const char **text; /* owned; the texts are too */
	size_t n;
};

struct jobs_options {
	struct text_list users, accounts, partitions, names, states;
	bool all_users, no_header;
	const char *cluster, *format, *sort;
	uint64_t now, from, to;
	size_t top;
	enum cells_format output;
	enum jobs_group_by by;
};

struct jobs_list {
	const struct jobs_options *o;
	struct job_site *site;
	struct jobs_columns columns;
	struct jobs_column sort;
	enum jobs_group_sort group_sort;
	struct cell *cell;	 /* owned; one per column, as the next */
	char (*buf)[JOBS_TEXT_MAX];
	struct cells *cells;
	struct jobs_groups groups;
	struct jobs_sum sum;
	bool shows_progress;
};

/* --- jobs -------------------------------------------------------------------------------------- */

static bool is_in(const struct text_list *list, const char *text)
{
	size_t i;

	for (i = 0; i < list->n; i++)
		if (text && !strcmp(list->text[i], text))
			return true;
	return false;
}

/* Jobs that wait, or were cancelled before they might start, are listed if they are asked for, as sacct does. */
static bool is_wanted(const struct jobs_options *o, const struct slurmdb_job *job)
{
	const struct record *r = job->record;

	if (o->states.n)
		return is_in(&o->states, r->state);
	return job->is_half || r->start || (r->end && r->eligible);
}

static int list_job(struct jobs_list *l, const struct record *r)
{
	struct jobs_job j;
	size_t i;

	jobs_job_init(&j, r, l->o->now);
	jobs_sum_add(&l->sum, &j);
	if (l->o->by)
		return jobs_groups_add(&l->groups, &j);
	for (i = 0; i < l->columns.n; i++)
		jobs_cell(&j, &l->columns.column[i], &l->cell[i], l->buf[i]);
	return cells_add(l->cells, jobs_rank(&j, &l->sort), l->cell);
}

static int list_jobs(struct jobs_list *l, struct slurmdb_jobs *jobs, struct errmsg *err)
{
	int rc = 0;
	size_t i;

	for (i = 0; rc == 0 && i < jobs->n; i++) {
		if (!is_wanted(l->o, &jobs->job[i]))
			continue;
		rc = job_site_finish(l->site, &jobs->job[i]);
		if (rc == 0)
			rc = list_job(l, jobs->job[i].record);
	}
	return rc < 0 ? errmsg_set(err, rc, "out of memory") : 0;
}

static void show_progress(const struct jobs_list *l, uint64_t at)
{
	uint64_t all = l->o->to - l->o->from;

	if (l->shows_progress)
		(void)fprintf(stderr, "\r%3" PRIu64 " %%, %" PRIu64 " jobs", all ? 100 * (at - l->o->from) / all : 100,
			      l->sum.jobs);
}

static void end_progress(const struct jobs_list *l)
{
	if (l->shows_progress)
		(void)fputs("\r\033[K", stderr);
}

/* After one of SLICE seconds with N jobs. */
static uint64_t next_slice(uint64_t slice, size_t n)
{
	uint64_t next = n ? slice * SLICE_JOBS / n : UINT64_MAX;

	if (next > SLICE_GROWTH * slice)
		next = SLICE_GROWTH * slice;
	return next > SLICE_MOST_S ? SLICE_MOST_S : next ? next : 1;
}

/* Those that ended, slice by slice. */
static int list_ended(struct jobs_list *l, struct slurmdb_rows *rows, const struct slurmdb_filter *filter,
		      struct errmsg *err)
{
	uint64_t slice = SLICE_FIRST_S;
	uint64_t at = l->o->from;
	int rc = 0;

	while (rc == 0 && at < l->o->to) {
		uint64_t next = l->o->to - at > slice ? at + slice : l->o->to;
		struct slurmdb_jobs jobs = { 0 };

		show_progress(l, at);
		rc = slurmdb_rows_ended(rows, filter, at, next - 1, &jobs, err);
		if (rc == 0)
			rc = list_jobs(l, &jobs, err);
		slice = next_slice(slice, jobs.n);
		slurmdb_jobs_free(&jobs);
		at = next;
	}
	return rc;
}

/* And those that had not by the end of the time that is asked for. */
static int list_open(struct jobs_list *l, struct slurmdb_rows *rows, const struct slurmdb_filter *filter,
		     struct errmsg *err)
{
	struct slurmdb_jobs jobs = { 0 };
	int rc;

	show_progress(l, l->o->to);
	rc = slurmdb_rows_open_at(rows, filter, l->o->to, &jobs, err);
	if (rc == 0)
		rc = list_jobs(l, &jobs, err);
	slurmdb_jobs_free(&jobs);
	return rc;
}

/* --- printing ---------------------------------------------------------------------------------- */

static int print_list(struct jobs_list *l)
{
	const struct jobs_options *o = l->o;
	_cleanup_free_ char *sum = NULL;
	int rc;

	if (o->by)
		rc = jobs_groups_print(&l->groups, l->group_sort, o->output, o->top, !o->no_header, stdout);
	else
		rc = cells_print(l->cells, stdout, !o->no_header);
	if (rc == 0 && o->output == CELLS_TABLE && !o->no_header) {
		sum = jobs_sum_text(&l->sum);
		if (sum)
			cmd_print("%s", sum);
		rc = sum ? 0 : -ENOMEM;
	}
	return rc < 0 ? cmd_error("out of memory") : CMD_OK;
}

/* --- one run ----------------------------------------------------------------------------------- */

static int list_init(struct jobs_list *l)
{
	const struct jobs_options *o = l->o;
	const char *sort = o->sort ? o->sort : o->by ? "key" : "end";
	struct errmsg err = { 0 };
	int rc = jobs_columns_parse(o->format ? o->format : JOBS_FORMAT, &l->columns, &err);

	if (rc < 0) {
		(void)cmd_error("jobs: %s", err.text);
		return rc == -EINVAL ? CMD_USAGE : CMD_FAILED;
	}
	if (o->by ? !jobs_group_sort_find(sort, &l->group_sort) :
		    !jobs_column_find(sort, &l->sort) || !jobs_is_sortable(&l->sort)) {
		(void)cmd_error("jobs: cannot sort by '%s'%s", sort,
				o->by ? ": key, jobs, failed, elapsed, cpu, energy, co2e, wasted or failed_energy" :
					": a number or a time of --helpformat");
		return CMD_USAGE;
	}
	l->groups.by = o->by;
	l->shows_progress = isatty(STDERR_FILENO);
	l->cell = calloc(l->columns.n, sizeof(*l->cell));
	l->buf = calloc(l->columns.n, sizeof(*l->buf));
	l->cells = cells_create(l->columns.cells, l->columns.n, o->output, o->top);
	return l->cell && l->buf && l->cells ? CMD_OK : cmd_error("out of memory");
}

static void list_fini(struct jobs_list *l)
{
	cells_destroy(l->cells);
	jobs_groups_free(&l->groups);
	jobs_columns_free(&l->columns);
	free(l->cell);
	free(l->buf);
}

static struct slurmdb_texts texts_of(const struct text_list *list)
{
	return (struct slurmdb_texts){ .text = list->text, .n = list->n };
}

/* Its names are a question to slurmdbd. */
static bool has_qos(const struct jobs_columns *c)
{
	size_t i;

	for (i = 0; i < c->n; i++)
		if (!strcmp(c->cells[i].key, "qos"))
			return true;
	return false;
}

static int list_all(struct jobs_list *l)
{
	const struct jobs_options *o = l->o;
	const struct slurmdb_filter filter = { .uids = texts_of(&o->users),
					       .accounts = texts_of(&o->accounts),
					       .partitions = texts_of(&o->partitions),
					       .names = texts_of(&o->names) };
	struct slurmdb_options options = { .one_connection = true, .no_usage = l->site->no_usage };
	struct slurmdb_rows *rows = NULL;
	struct errmsg err = { 0 };
	int rc;

	options.cluster = job_ask_cluster(l->site, o->cluster);
	options.no_qos = !has_qos(&l->columns);
	rc = slurmdb_rows_create(&options, &rows, &err);
	if (rc == 0)
		rc = list_ended(l, rows, &filter, &err);
	if (rc == 0)
		rc = list_open(l, rows, &filter, &err);
	end_progress(l);
	rc = rc < 0 ? cmd_error("%s", err.text) : l->sum.jobs ? CMD_OK : job_ask_check_cluster(rows, options.cluster);
	slurmdb_rows_destroy(rows);
	return rc;
}

static int run_list(const struct jobs_options *o)
{
	static struct job_site site;
	struct jobs_list l = { .o = o, .site = &site };
	int rc = list_init(&l);

	if (rc == CMD_OK)
		rc = job_ask_check_conf();
	if (rc == CMD_OK) {
		job_site_load(&site);
		rc = list_all(&l);
		if (rc == CMD_OK)
			rc = print_list(&l);
		job_site_fini(&site);
	}
	list_fini(&l);
	return rc;
}

/* --- arguments --------------------------------------------------------------------------------- */

static int _printf_(1, 2) usage_error(const char *fmt, ...)
{
	char line[512];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	(void)cmd_error("jobs: %s", line);
	return CMD_USAGE;
}

static void texts_fini(struct text_list *list)
{
	while (list->n)
		free((void *)(uintptr_t)list->text[--list->n]);
	free(list->text);
}

/* MAP makes of an item the text that is kept: malloc'ed; NULL: it said why there is none. */
static int add_texts(struct text_list *list, const char *by_comma, char *(*map)(const char *item))
{
	_cleanup_free_ char *copy = strdup(by_comma);
	char *rest = copy;
	char *item;

	while (copy && (item = strsep(&rest, ","))) {
		const char **more = realloc(list->text, (list->n + 1) * sizeof(*more));

		if (!more)
			return cmd_error("out of memory");
		list->text = more;
		if (!*item)
			return usage_error("'%s': an empty item", by_comma);
		list->text[list->n] = map(item);
		if (!list->text[list->n])
			return CMD_USAGE;
		list->n++;
	}
	return copy ? CMD_OK : cmd_error("out of memory");
}

static char *map_text(const char *item)
{
	return strdup(item);
}

/* slurmdbd has users by number. */
static char *map_user(const char *item)
{
	const struct passwd *pw;
	char text[24];
	uint64_t uid;

	if (parse_u64(item, &uid) < 0) {
		pw = getpwnam(item);
		if (!pw) {
			(void)usage_error("no user '%s'", item);
			return NULL;
		}
		uid = pw->pw_uid;
	}
	(void)snprintf(text, sizeof(text), "%" PRIu64, uid);
	return strdup(text);
}

/* sacct's short forms too */
static char *map_state(const char *item)
{
	static const struct {
		const char *code, *name;
	} states[] = {
		{ "BF", "BOOT_FAIL" }, { "CA", "CANCELLED" },	  { "CD", "COMPLETED" }, { "DL", "DEADLINE" },
		{ "F", "FAILED" },     { "NF", "NODE_FAIL" },	  { "PD", "PENDING" },	 { "PR", "PREEMPTED" },
		{ "R", "RUNNING" },    { "RQ", "REQUEUED" },	  { "RS", "RESIZING" },	 { "RV", "REVOKED" },
		{ "S", "SUSPENDED" },  { "OOM", "OUT_OF_MEMORY" }, { "TO", "TIMEOUT" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(states); i++)
		if (!strcasecmp(item, states[i].code) || !strcasecmp(item, states[i].name))
			return strdup(states[i].name);
	(void)usage_error("no state '%s'", item);
	return NULL;
}

static int set_time(uint64_t *ret, uint64_t now, const char *text)
{
	return when_parse(text, now, ret) < 0 ? usage_error("'%s' is no time: write " WHEN_FORMS, text) : CMD_OK;
}

enum { OPT_CSV = 256, OPT_FORMAT, OPT_GROUP, OPT_HELPFORMAT, OPT_JSON, OPT_NAME, OPT_SORT, OPT_TOP };

static int set_option(const struct cmd_info *self, struct jobs_options *o, int c)
{
	uint64_t n;

	switch (c) {
	case 'a':
		o->all_users = true;
		return CMD_OK;
	case 'u':
		return add_texts(&o->users, optarg, map_user);
	case 'A':
		return add_texts(&o->accounts, optarg, map_text);
	case 'r':
		return add_texts(&o->partitions, optarg, map_text);
	case OPT_NAME:
		return add_texts(&o->names, optarg, map_text);
	case 's':
		return add_texts(&o->states, optarg, map_state);
	case 'S':
		return set_time(&o->from, o->now, optarg);
	case 'E':
		return set_time(&o->to, o->now, optarg);
	case 'M':
		o->cluster = optarg;
		return CMD_OK;
	case 'X':
		return CMD_OK; /* steps are never listed */
	case 'n':
		o->no_header = true;
		return CMD_OK;
	case 'P':
		o->output = CELLS_PARSABLE;
		return CMD_OK;
	case OPT_CSV:
		o->output = CELLS_CSV;
		return CMD_OK;
	case OPT_JSON:
		o->output = CELLS_JSON;
		return CMD_OK;
	case 'o':
	case OPT_FORMAT:
		o->format = optarg;
		return CMD_OK;
	case OPT_SORT:
		o->sort = optarg;
		return CMD_OK;
	case OPT_GROUP:
		return jobs_group_find(optarg, &o->by) ?
			       CMD_OK :
			       usage_error("--group-by=%s: user, account, partition, name, day or month", optarg);
	case OPT_TOP:
		if (parse_u64(optarg, &n) < 0 || !n || n > UINT32_MAX)
			return usage_error("--top=%s: how many?", optarg);
		o->top = (size_t)n;
		return CMD_OK;
	default:
		return cmd_usage(self, CMD_USAGE);
	}
}

static int parse_args(const struct cmd_info *self, int argc, char **argv, struct jobs_options *o, bool *ret_done)
{
	static const struct option options[] = {
		{ "accounts", required_argument, NULL, 'A' },
		{ "allusers", no_argument, NULL, 'a' },
		{ "allocations", no_argument, NULL, 'X' },
		{ "cluster", required_argument, NULL, 'M' },
		{ "clusters", required_argument, NULL, 'M' }, /* sacct's name */
		{ "csv", no_argument, NULL, OPT_CSV },
		{ "endtime", required_argument, NULL, 'E' },
		{ "format", required_argument, NULL, OPT_FORMAT },
		{ "group-by", required_argument, NULL, OPT_GROUP },
		{ "help", no_argument, NULL, 'h' },
		{ "helpformat", no_argument, NULL, 'e' },
		{ "json", no_argument, NULL, OPT_JSON },
		{ "name", required_argument, NULL, OPT_NAME },
		{ "noheader", no_argument, NULL, 'n' },
		{ "parsable2", no_argument, NULL, 'P' },
		{ "partition", required_argument, NULL, 'r' },
		{ "sort", required_argument, NULL, OPT_SORT },
		{ "starttime", required_argument, NULL, 'S' },
		{ "state", required_argument, NULL, 's' },
		{ "top", required_argument, NULL, OPT_TOP },
		{ "user", required_argument, NULL, 'u' },
		{ "uid", required_argument, NULL, 'u' },
		{ 0 },
	};
	int rc = CMD_OK;
	int c;

	*ret_done = true;
	while (rc == CMD_OK && (c = getopt_long(argc, argv, "aehnA:E:M:PS:Xo:r:s:u:", options, NULL)) >= 0) {
		if (c == 'h')
			return cmd_usage(self, CMD_OK);
		if (c == 'e') {
			jobs_fields_print(stdout);
			return CMD_OK;
		}
		rc = set_option(self, o, c);
	}
	if (rc == CMD_OK && optind < argc)
		rc = usage_error("'%s': ceems job shows jobs by their ids", argv[optind]);
	if (rc == CMD_OK && o->format && o->by)
		rc = usage_error("--group-by has its own columns: leave out --format");
	if (rc == CMD_OK && o->from > o->to)
		rc = usage_error("the start is after the end");
	*ret_done = rc != CMD_OK;
	return rc;
}

static int add_self(struct jobs_options *o)
{
	char uid[24];

	if (o->all_users || o->users.n)
		return CMD_OK;
	(void)snprintf(uid, sizeof(uid), "%u", (unsigned int)geteuid());
	return add_texts(&o->users, uid, map_text);
}

static int cmd_jobs_run(const struct cmd_info *self, int argc, char **argv)
{
	struct jobs_options o = { .now = clock_wall_ns() / NSEC_PER_SEC };
	bool is_done;
	int rc;

	o.to = o.now;
	(void)when_parse("today", o.now, &o.from);
	rc = parse_args(self, argc, argv, &o, &is_done);
	if (!is_done)
		rc = add_self(&o);
	if (!is_done && rc == CMD_OK)
		rc = run_list(&o);
	texts_fini(&o.users);
	texts_fini(&o.accounts);
	texts_fini(&o.partitions);
	texts_fini(&o.names);
	texts_fini(&o.states);
	return rc;
}

const struct cmd_info cmd_jobs = {
	"jobs",
	"[-a | -u USER,...] [-A ACCOUNT,...] [-r PARTITION,...] [-s STATE,...] [--name NAME,...] [-M CLUSTER]\n"
	"	[-S TIME] [-E TIME] [--sort FIELD] [--top N] [--format FIELD%WIDTH,... | --helpformat]\n"
	"	[--group-by user|account|partition|name|day|month] [-P | --csv | --json] [-n]",
	"List jobs with what they used, from slurmdbd.",
	cmd_jobs_run,
};
