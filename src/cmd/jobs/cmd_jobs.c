/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_jobs.c - ceems jobs: prints a line per job, or per group of jobs, from slurmdbd.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>

#include "src/cmd/cells.h"
#include "src/cmd/cmd.h"
#include "src/cmd/jobs/jobs_choice.h"
#include "src/cmd/jobs/jobs_field.h"
#include "src/cmd/jobs/jobs_group.h"
#include "src/cmd/jobs/jobs_walk.h"
#include "src/cmd/when.h"
#include "src/libutil/clock.h"
#include "src/libutil/parse.h"

struct jobs_options {
	struct jobs_choice choice;
	struct text_list states;
	bool no_header;
	const char *format, *sort;
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
	enum jobs_sum_column group_sort;
	/* Both are owned, and have one element per column. */
	struct cell *cell;
	char (*buf)[JOBS_TEXT_MAX];
	struct cells *cells;
	struct jobs_groups groups;
	struct jobs_sum sum;
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

/*
 * Returns true if JOB is listed. As in sacct, jobs that never started are listed only if their
 * state is asked for.
 */
static bool is_wanted(const struct jobs_options *o, const struct slurmdb_job *job)
{
	return o->states.n ? is_in(&o->states, job->record->state) : jobs_walk_is_listed(job);
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

static int list_each(void *arg, struct slurmdb_job *job)
{
	struct jobs_list *l = arg;
	int rc;

	if (!is_wanted(l->o, job))
		return 0;
	rc = job_site_finish(l->site, job);
	return rc < 0 ? rc : list_job(l, job->record);
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

/*
 * Returns true if the default columns include SORT, the column to sort by. NULL is the default sort column.
 */
static bool is_shown(const char *sort)
{
	struct jobs_column column;

	return !sort || !jobs_column_find(sort, &column) || jobs_is_usual(&column);
}

static int list_init(struct jobs_list *l)
{
	const struct jobs_options *o = l->o;
	const char *sort = o->sort ? o->sort : o->by ? "key" : "end";
	const char *more = is_shown(o->sort) ? NULL : o->sort;
	char format[sizeof(JOBS_FORMAT) + 80], names[256];
	struct errmsg err = { 0 };
	int rc;

	/* the default format also gets the column by which the list is sorted */
	(void)snprintf(format, sizeof(format), JOBS_FORMAT "%s%.64s", more ? "," : "", more ? more : "");
	rc = jobs_columns_parse(o->format ? o->format : format, &l->columns, &err);
	if (rc < 0) {
		(void)cmd_error("jobs: %s", err.text);
		return rc == -EINVAL ? CMD_USAGE : CMD_FAILED;
	}
	if (o->by ? !jobs_sum_find(sort, &l->group_sort) :
		    !jobs_column_find(sort, &l->sort) || !jobs_is_sortable(&l->sort)) {
		return cmd_usage_error(&cmd_jobs, "cannot sort by '%s': %s", sort,
				       o->by ? jobs_sum_names(names, sizeof(names)) :
					       "a number or a time of --helpformat");
	}
	l->groups.by = o->by;
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

/* Returns true if the columns include the QOS. Only then slurmdbd is asked for the names of QOS. */
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
	const struct jobs_walk walk = { .site = l->site,
					.filter = jobs_choice_filter(&o->choice),
					.cluster = o->choice.cluster,
					.from = o->from,
					.to = o->to,
					.with_open = true,
					.with_qos = has_qos(&l->columns),
					.shows_progress = isatty(STDERR_FILENO),
					.each = list_each,
					.arg = l };

	return jobs_walk(&walk);
}

static int run_list(const struct jobs_options *o)
{
	static struct job_site site;
	struct jobs_list l = { .o = o, .site = &site };
	int rc = list_init(&l);

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

/* Maps a state, or its short form as in sacct, to the name of the state. */
static int map_state(const char *item, char **ret, struct errmsg *err)
{
	static const struct {
		const char *code, *name;
	} states[] = {
		{ "BF", "BOOT_FAIL" }, { "CA", "CANCELLED" },	   { "CD", "COMPLETED" },
		{ "DL", "DEADLINE" },  { "F", "FAILED" },	   { "NF", "NODE_FAIL" },
		{ "PD", "PENDING" },   { "PR", "PREEMPTED" },	   { "R", "RUNNING" },
		{ "RQ", "REQUEUED" },  { "RS", "RESIZING" },	   { "RV", "REVOKED" },
		{ "S", "SUSPENDED" },  { "OOM", "OUT_OF_MEMORY" }, { "TO", "TIMEOUT" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(states); i++)
		if (!strcasecmp(item, states[i].code) || !strcasecmp(item, states[i].name))
			break;
	if (i == ARRAY_SIZE(states))
		return errmsg_set(err, -EINVAL, "no state '%s'", item);
	*ret = strdup(states[i].name);
	return *ret ? 0 : errmsg_set(err, -ENOMEM, "out of memory");
}

static int set_time(const struct cmd_info *self, uint64_t *ret, uint64_t now, const char *text)
{
	return when_parse(text, now, ret) < 0 ?
		       cmd_usage_error(self, "'%s' is not a time: write " WHEN_FORMS, text) :
		       CMD_OK;
}

enum { OPT_CSV = 256, OPT_GROUP, OPT_JSON, OPT_NAME, OPT_SORT, OPT_TOP };

static int set_option(const struct cmd_info *self, struct jobs_options *o, int c)
{
	uint64_t n;

	switch (c) {
	case OPT_NAME:
		return jobs_choice_texts(self, &o->choice.names, optarg, NULL);
	case 's':
		return jobs_choice_texts(self, &o->states, optarg, map_state);
	case 'S':
		return set_time(self, &o->from, o->now, optarg);
	case 'E':
		return set_time(self, &o->to, o->now, optarg);
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
		o->format = optarg;
		return CMD_OK;
	case OPT_SORT:
		o->sort = optarg;
		return CMD_OK;
	case OPT_GROUP:
		return jobs_group_find(optarg, &o->by) ?
			       CMD_OK :
			       cmd_usage_error(self,
					       "--group-by=%s: not one of user, account, partition, name, "
					       "day, month",
					       optarg);
	case OPT_TOP:
		if (parse_u64(optarg, &n) < 0 || !n || n > UINT32_MAX)
			return cmd_usage_error(self, "--top=%s: not a number above 0", optarg);
		o->top = (size_t)n;
		return CMD_OK;
	default:
		return jobs_choice_set(self, &o->choice, c);
	}
}

static const struct cmd_option jobs_options[] = {
	{ NULL, 0, NULL, "Which jobs" },
	{ "accounts", 'A', "ACCOUNT,...", "of these accounts" },
	{ "allusers", 'a', NULL, "of all users" },
	{ "cluster", 'M', "CLUSTER", "of this cluster; all: of every cluster" },
	{ "clusters", 'M', "CLUSTER", NULL }, /* sacct's name */
	{ "endtime", 'E', "TIME", "submitted before; default: now" },
	{ "name", OPT_NAME, "NAME,...", "with these names" },
	{ "partition", 'r', "PARTITION,...", "of these partitions" },
	{ "starttime", 'S', "TIME", "that ran since; default: today" },
	{ "state", 's', "STATE,...", "in these states" },
	{ "uid", 'u', "USER,...", NULL },
	{ "user", 'u', "USER,...", "of these users; default: yourself" },
	{ "allocations", 'X', NULL, NULL },
	{ NULL, 0, NULL, "What is shown" },
	{ "format", 'o', "FIELD,...", "these columns" },
	{ "group-by", OPT_GROUP, "user|account|partition|name|day|month", "sums instead of jobs" },
	{ "helpformat", 'e', NULL, "list the fields" },
	{ "sort", OPT_SORT, "FIELD", "largest number or earliest time first" },
	{ "top", OPT_TOP, "N", "the first N lines" },
	{ NULL, 0, NULL, "Form of the output" },
	{ "csv", OPT_CSV, NULL, "separated by commas" },
	{ "json", OPT_JSON, NULL, "an array of objects" },
	{ "noheader", 'n', NULL, "neither header nor sum" },
	{ "parsable2", 'P', NULL, "separated by |" },
	{ 0 },
};

static int parse_args(const struct cmd_info *self, int argc, char **argv, struct jobs_options *o,
		      bool *ret_done)
{
	int rc = CMD_OK;
	int c;

	*ret_done = true;
	while (rc == CMD_OK && (c = cmd_getopt(argc, argv, jobs_options, 0)) >= 0) {
		if (c == 'h')
			return cmd_usage(self, CMD_OK);
		if (c == 'e') {
			jobs_fields_print(stdout);
			return CMD_OK;
		}
		rc = set_option(self, o, c);
	}
	if (rc == CMD_OK && optind < argc)
		rc = cmd_usage_error(self, "'%s': ceems job shows jobs by their ids", argv[optind]);
	if (rc == CMD_OK && o->format && o->by)
		rc = cmd_usage_error(self, "--group-by has its own columns: leave out --format");
	if (rc == CMD_OK && o->from > o->to)
		rc = cmd_usage_error(self, "the start is after the end");
	*ret_done = rc != CMD_OK;
	return rc;
}

static int cmd_jobs_run(const struct cmd_info *self, int argc, char **argv)
{
	struct jobs_options o = { .now = clock_wall_ns() / NSEC_PER_SEC };
	bool is_done;
	int rc;

	o.to = o.now;
	if (when_parse("today", o.now, &o.from) < 0)
		return cmd_error("the clock shows a time without a date");
	rc = parse_args(self, argc, argv, &o, &is_done);
	if (!is_done)
		rc = jobs_choice_self(self, &o.choice);
	if (!is_done && rc == CMD_OK)
		rc = run_list(&o);
	jobs_choice_fini(&o.choice);
	text_list_fini(&o.states);
	return rc;
}

const struct cmd_info cmd_jobs = {
	"jobs", "[OPTION...]", cmd_jobs_run, jobs_options, "ceems jobs -S now-7days --sort wasted --top 10",
};
