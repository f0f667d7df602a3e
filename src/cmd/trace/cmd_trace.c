/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_trace.c - ceems trace: joins the traces of a job's nodes and steps, and prints or draws them.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/cmd/cmd.h"
#include "src/cmd/job/job_files.h"
#include "src/cmd/trace/trace_files.h"
#include "src/libtrace/trace_draw.h"
#include "src/libtrace/trace_grid.h"
#include "src/libutil/clock.h"
#include "src/libutil/parse.h"
#include "src/libutil/rfc3339.h"
#include "src/libutil/text.h"

enum trace_form {
	FORM_PLOT,
	FORM_CSV,
	FORM_JSON,
};

struct trace_request {
	enum trace_form form;
	const char *metrics;
	const char *dir;
	const char *out;
	/* length of a row in the output; 0: the rows of the traces are printed as they are */
	uint64_t every_ns;
};

/* --- numbers ------------------------------------------------------------------------------ */

static void print_time(uint64_t t_ns)
{
	char text[RFC3339_SIZE];

	rfc3339_utc(t_ns / NSEC_PER_SEC, text);
	printf("%.19s.%06" PRIu64 "Z", text, t_ns % NSEC_PER_SEC / 1000);
}

static void print_elapsed(uint64_t ns)
{
	printf("%" PRIu64 ".%06" PRIu64, ns / NSEC_PER_SEC, ns % NSEC_PER_SEC / 1000);
}

/*
 * Prints V: whole numbers exactly, others with 12 digits, which is more than was measured. If V is
 * unknown, prints NOTHING.
 */
static void print_value(double v, const char *nothing)
{
	if (isnan(v))
		fputs(nothing, stdout);
	else if (fabs(v) >= 1e9 || v == floor(v))
		printf("%.0f", v);
	else
		printf("%.12g", v);
}

static void print_values(const double *v, size_t n, const char *nothing)
{
	size_t i;

	for (i = 0; i < n; i++) {
		putchar(',');
		print_value(v[i], nothing);
	}
}

static void print_json_text(const char *text)
{
	json_t *string = json_string(text);

	if (!string || json_dumpf(string, stdout, JSON_ENCODE_ANY) < 0)
		fputs("null", stdout);
	json_decref(string);
}

static void print_names(const struct trace_column *c, size_t n, const char *before, const char *after)
{
	size_t i;

	for (i = 0; i < n; i++)
		printf(",%s%s%s", before, c[i].name, after);
}

/* --- rows as they are ---------------------------------------------------------------------- */

/* The state of printing the rows of all traces in the order of time. */
struct merge {
	const struct trace_files *files;
	size_t *next; /* for each trace, the index of its next row */
	uint64_t begin_ns;
	const struct trace_column *column;
	size_t ncolumns;
	double *value;
};

static const struct trace_table *merge_next(struct merge *m, uint64_t *ret_t_ns)
{
	const struct trace_table *found = NULL;
	size_t i, k, at = 0;

	for (i = 0; i < m->files->n; i++) {
		const struct trace_table *t = &m->files->table[i];

		if (m->next[i] < t->nrows && (!found || t->t_ns[m->next[i]] < *ret_t_ns)) {
			found = t;
			at = i;
			*ret_t_ns = t->t_ns[m->next[i]];
		}
	}
	if (!found)
		return NULL;
	for (k = 0; k < m->ncolumns; k++) {
		const int column = trace_table_find(found, m->column[k].name);

		m->value[k] = column < 0 ? NAN : found->value[m->next[at] * found->ncolumns + (size_t)column];
	}
	m->next[at]++;
	return found;
}

static void print_merged_csv(struct merge *m)
{
	char text[TEXT_CSV_SIZE(TRACE_NODE_MAX)]; /* the longest of the three */
	const struct trace_table *t;
	uint64_t t_ns;

	fputs("job,step,node,time_utc,elapsed_s", stdout);
	print_names(m->column, m->ncolumns, "", "");
	fputs("\r\n", stdout);
	while ((t = merge_next(m, &t_ns))) {
		printf("%s,", text_csv(t->job, text, sizeof(text)));
		printf("%s,", text_csv(t->step, text, sizeof(text)));
		printf("%s,", text_csv(t->node, text, sizeof(text)));
		print_time(t_ns);
		putchar(',');
		print_elapsed(t_ns - m->begin_ns);
		print_values(m->value, m->ncolumns, "");
		fputs("\r\n", stdout);
	}
}

static void print_merged_json(struct merge *m)
{
	const struct trace_table *t;
	const char *separator = "";
	uint64_t t_ns;

	fputs("{\"columns\":[\"job\",\"step\",\"node\",\"time_utc\",\"elapsed_s\"", stdout);
	print_names(m->column, m->ncolumns, "\"", "\"");
	fputs("],\"rows\":[", stdout);
	while ((t = merge_next(m, &t_ns))) {
		printf("%s\n[", separator);
		separator = ",";
		print_json_text(t->job);
		putchar(',');
		print_json_text(t->step);
		putchar(',');
		print_json_text(t->node);
		fputs(",\"", stdout);
		print_time(t_ns);
		fputs("\",", stdout);
		print_elapsed(t_ns - m->begin_ns);
		print_values(m->value, m->ncolumns, "null");
		putchar(']');
	}
	fputs("\n]}\n", stdout);
}

static int print_merged(const struct trace_files *files, const struct trace_column *column, size_t ncolumns,
			enum trace_form form)
{
	_cleanup_free_ size_t *next = calloc(files->n, sizeof(*next));
	_cleanup_free_ double *value = calloc(ncolumns, sizeof(*value));
	struct merge m = {
		.files = files, .next = next, .column = column, .ncolumns = ncolumns, .value = value
	};
	uint64_t end_ns;

	if (!next || !value)
		return cmd_error("out of memory");
	trace_grid_span(files->table, files->n, &m.begin_ns, &end_ns);
	(form == FORM_CSV ? print_merged_csv : print_merged_json)(&m);
	return CMD_OK;
}

/* --- equal intervals ------------------------------------------------------------------------ */

static void print_grid_csv(const struct trace_grid *g)
{
	size_t i;

	fputs("time_utc,elapsed_s", stdout);
	print_names(g->column, g->ncolumns, "", "");
	fputs("\r\n", stdout);
	for (i = 0; i < g->nrows; i++) {
		print_time(trace_grid_end(g, i));
		putchar(',');
		print_elapsed(trace_grid_end(g, i) - g->begin_ns);
		print_values(&g->value[i * g->ncolumns], g->ncolumns, "");
		fputs("\r\n", stdout);
	}
}

static void print_grid_json(const struct trace_grid *g)
{
	size_t i;

	fputs("{\"columns\":[\"time_utc\",\"elapsed_s\"", stdout);
	print_names(g->column, g->ncolumns, "\"", "\"");
	fputs("],\"rows\":[", stdout);
	for (i = 0; i < g->nrows; i++) {
		printf("%s\n[\"", i ? "," : "");
		print_time(trace_grid_end(g, i));
		fputs("\",", stdout);
		print_elapsed(trace_grid_end(g, i) - g->begin_ns);
		print_values(&g->value[i * g->ncolumns], g->ncolumns, "null");
		putchar(']');
	}
	fputs("\n]}\n", stdout);
}

/* --- drawings ------------------------------------------------------------------------------- */

/* Writes a title such as "job 7.0 on 2 nodes, from 2026-11-25T10:00:00Z". WHAT has the ids, or is empty. */
static void make_title(const struct trace_files *files, const struct trace_grid *g, const char *what,
		       char *buf, size_t size)
{
	char time[RFC3339_SIZE];
	size_t i, k, nodes = 0;

	for (i = 0; i < files->n; i++) {
		for (k = 0; k < i && strcmp(files->table[k].node, files->table[i].node) != 0; k++)
			;
		nodes += k == i;
	}
	rfc3339_utc(g->begin_ns / NSEC_PER_SEC, time);
	if (nodes == 1)
		(void)snprintf(buf, size, "%s%s on %s, from %s", *what ? "job " : "trace", what,
			       files->table[0].node, time);
	else
		(void)snprintf(buf, size, "%s%s on %zu nodes, from %s", *what ? "job " : "trace", what, nodes,
			       time);
}

static int draw_picture(const struct trace_grid *g, const char *title, const char *path)
{
	FILE *out = fopen(path, "we");
	bool any;

	if (!out)
		return cmd_error("%s: %s", path, strerror(errno));
	any = trace_svg_draw(g, title, out);
	if (fclose(out) != 0)
		return cmd_error("%s: %s", path, strerror(errno));
	return any ? CMD_OK : cmd_error("the traces have no values of these metrics");
}

static int draw_plot(const struct trace_grid *g, const char *title)
{
	(void)setlocale(LC_CTYPE, "");
	return trace_plot_draw(g, title, !strcmp(nl_langinfo(CODESET), "UTF-8"), stdout) ?
		       CMD_OK :
		       cmd_error("the traces have no values of these metrics");
}

/* -------------------------------------------------------------------------------------------- */

static int show_grid(const struct trace_request *r, const struct trace_files *files,
		     struct trace_column *column, size_t ncolumns, const char *what)
{
	const uint64_t every_ns = r->form == FORM_PLOT ?
					  trace_files_interval(files,
							       r->out ? TRACE_SVG_BINS : TRACE_PLOT_BINS) :
					  r->every_ns;
	struct errmsg err = { 0 };
	struct trace_grid g;
	char title[512];
	int rc = CMD_OK;

	if (trace_grid_make(files->table, files->n, column, ncolumns, every_ns, &g, &err) < 0) {
		free(column);
		return cmd_error("%s", err.text);
	}
	make_title(files, &g, what, title, sizeof(title));
	if (r->form == FORM_CSV)
		print_grid_csv(&g);
	else if (r->form == FORM_JSON)
		print_grid_json(&g);
	else
		rc = r->out ? draw_picture(&g, title, r->out) : draw_plot(&g, title);
	trace_grid_fini(&g);
	return rc;
}

static int show(const struct trace_request *r, const struct trace_files *files, const char *what)
{
	struct trace_column *column;
	struct errmsg err = { 0 };
	char chosen[512];
	const char *metrics = r->metrics;
	size_t ncolumns;
	int rc;

	if (!metrics && r->form == FORM_PLOT) {
		trace_files_choose(files, chosen, sizeof(chosen));
		metrics = chosen;
	}
	if (trace_columns_pick(files->table, files->n, metrics, &column, &ncolumns, &err) < 0)
		return cmd_error("%s", err.text);
	if (r->form == FORM_PLOT || r->every_ns)
		return show_grid(r, files, column, ncolumns, what);
	rc = print_merged(files, column, ncolumns, r->form);
	free(column);
	return rc;
}

/*
 * Looks for traces in --dir; without it, in the current folder and in TraceDir, if that is an
 * absolute path.
 */
static int find_files(const struct trace_request *r, const char *conf, const struct job_ids *ids,
		      const char *what, struct trace_files *files)
{
	const char *dir[2] = { ".", NULL };
	struct settings settings;
	size_t n = 1;

	if (r->dir) {
		dir[0] = r->dir;
	} else {
		if (cmd_load_users_settings(conf, &settings, "only the current folder is searched") != CMD_OK)
			return CMD_FAILED;
		if (settings.trace_dir[0] == '/')
			dir[n++] = settings.trace_dir;
	}
	return trace_files_find(files, ids, what, dir, n);
}

static int take_file(void *owner, const char *path)
{
	return trace_files_add(owner, path);
}

/*
 * Loads the traces of the arguments, each of which is an id or a file. WHAT gets the ids, for the
 * title of a drawing.
 */
static int load_files(const struct trace_request *r, const char *conf, int argc, char **argv,
		      struct trace_files *files, char *what, size_t size)
{
	struct job_ids ids = { 0 };
	int rc;

	job_files_become_user();
	rc = job_files_arguments(argc, argv, &ids, take_file, files, what, size);
	if (rc == CMD_OK && ids.n)
		rc = find_files(r, conf, &ids, what, files);
	job_ids_fini(&ids);
	return rc;
}

static bool is_picture(const char *path)
{
	const size_t len = strlen(path);

	return len > 4 && !strcmp(path + len - 4, ".svg");
}

static int check_request(const struct trace_request *r, const char *resample)
{
	if (resample && !r->every_ns)
		fprintf(stderr, "ceems trace: --resample: '%s' is not a time such as 10s\n", resample);
	else if (r->out && (r->form != FORM_PLOT || !is_picture(r->out)))
		fprintf(stderr, "ceems trace: -o FILE.svg is for --plot, and FILE must end with .svg\n");
	else
		return CMD_OK;
	return CMD_USAGE;
}

enum { OPT_CSV = 256, OPT_JSON, OPT_PLOT };

static const struct cmd_option trace_options[] = {
	{ NULL, 0, NULL, "Which files" },
	{ "conf", 'c', "FILE", "read this ceems.conf" },
	{ "dir", 'd', "DIR", "look for traces in this folder only" },
	{ NULL, 0, NULL, "Output" },
	{ "csv", OPT_CSV, NULL, "print the rows, separated by commas" },
	{ "json", OPT_JSON, NULL, "print one JSON object" },
	{ "metrics", 'm', "METRIC,...", "only these metrics or columns" },
	{ "output", 'o', "FILE.svg", "write the plot to this file" },
	{ "plot", OPT_PLOT, NULL, "draw in the terminal (default)" },
	{ "resample", 'r', "TIME", "--csv, --json: one row per interval, as 10s" },
	{ 0 },
};

static int cmd_trace_run(const struct cmd_info *self, int argc, char **argv)
{
	struct trace_request r = { .form = FORM_PLOT };
	const char *conf = NULL, *resample = NULL;
	struct trace_files files = { 0 };
	char what[64] = ""; /* the ids of the jobs; empty: files were named */
	int c, rc;

	while ((c = cmd_getopt(argc, argv, trace_options, 0)) >= 0) {
		switch (c) {
		case 'c':
			conf = optarg;
			break;
		case 'd':
			r.dir = optarg;
			break;
		case OPT_JSON:
			r.form = FORM_JSON;
			break;
		case 'm':
			r.metrics = optarg;
			break;
		case 'o':
			r.out = optarg;
			break;
		case OPT_PLOT:
			r.form = FORM_PLOT;
			break;
		case 'r':
			resample = optarg;
			if (parse_duration_ns(optarg, &r.every_ns) < 0)
				r.every_ns = 0;
			break;
		case OPT_CSV:
			r.form = FORM_CSV;
			break;
		default:
			return cmd_usage(self, c == 'h' ? CMD_OK : CMD_USAGE);
		}
	}
	if (optind == argc)
		return cmd_usage(self, CMD_USAGE);
	rc = check_request(&r, resample);
	if (rc != CMD_OK)
		return rc;
	rc = load_files(&r, conf, argc - optind, argv + optind, &files, what, sizeof(what));
	if (rc == CMD_OK)
		rc = show(&r, &files, what);
	trace_files_fini(&files);
	return rc;
}

const struct cmd_info cmd_trace = {
	"trace",       "[OPTION...] JOBID[.STEP][,...]...|FILE...",	 cmd_trace_run,
	trace_options, "ceems trace 1234 --metrics power_w,gpu_power_w",
};
