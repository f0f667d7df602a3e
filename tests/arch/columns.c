/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * columns.c - prints for column-row.t what the commands with a table of columns print: jobs, groups, top or
 * report.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/cmd/jobs/jobs_field.h"
#include "src/cmd/jobs/jobs_group.h"
#include "src/cmd/report/summary.h"
#include "src/cmd/top/top_column.h"
#include "src/cmd/top/top_draw.h"
#include "src/cmd/top/top_prom.h"
#include "src/cmd/top/top_rates.h"

#define START 1700000000
#define END (START + 3600)

static const enum cells_format formats[] = { CELLS_TABLE, CELLS_CSV, CELLS_JSON };

static void make_record(struct record *r)
{
	static char ann[] = "ann", physics[] = "physics", completed[] = "COMPLETED";

	*r = (struct record){ .job_id = 7,
			      .user_name = ann,
			      .account = physics,
			      .state = completed,
			      .start = START,
			      .end = END };
	values_init(&r->values);
	values_set(&r->values, METRIC_ENERGY, 7 * UJ_PER_WH);
}

static int print_jobs(const struct jobs_job *j)
{
	struct jobs_columns columns;
	char buf[2][JOBS_TEXT_MAX];
	struct cell cell[2];
	size_t i, k;

	if (jobs_columns_parse("jobid,widgets", &columns, NULL) < 0)
		return 1;
	for (i = 0; i < ARRAY_SIZE(formats); i++) {
		struct cells *cells = cells_create(columns.cells, columns.n, formats[i], 0);

		for (k = 0; k < columns.n; k++)
			jobs_cell(j, &columns.column[k], &cell[k], buf[k]);
		if (!cells || cells_add(cells, 0, cell) < 0 ||
		    cells_print(cells, stdout, /* header= */ true) < 0)
			return 1;
		cells_destroy(cells);
	}
	printf("sort %d %g\n", jobs_is_sortable(&columns.column[1]), jobs_rank(j, &columns.column[1]));
	jobs_columns_free(&columns);
	jobs_fields_print(stdout);
	return 0;
}

static int print_groups(const struct jobs_job *j)
{
	struct jobs_groups groups = { .by = JOBS_BY_USER };
	enum jobs_sum_column sort;
	char names[256];
	size_t i;

	if (jobs_groups_add(&groups, j) < 0 || !jobs_sum_find("widgets", &sort))
		return 1;
	for (i = 0; i < ARRAY_SIZE(formats); i++)
		if (jobs_groups_print(&groups, sort, formats[i], 0, /* header= */ true, stdout) < 0)
			return 1;
	printf("sort %s\n", jobs_sum_names(names, sizeof(names)));
	jobs_groups_free(&groups);
	return 0;
}

static int print_top(void)
{
	struct top_view view = { .width = 250, .height = 40, .sort = top_column_find("widgets") };
	struct top_rates *rates = top_rates_create(/* window_ns= */ UINT64_C(60000000000));
	struct top_frame f = { .what = "jobs" };
	struct top_row *row = top_frame_add(&f);
	_cleanup_free_ char *query = top_prom_query(0);
	_cleanup_free_ char *json = NULL;
	struct values values;
	struct top_lines l;
	char names[400];
	size_t i;

	if (!rates || !row || !query || !view.sort || top_column_of_key('Z') != view.sort)
		return 1;
	row->job_id = 7;
	(void)snprintf(row->id, sizeof(row->id), "7");
	values_init(&values);
	values_set(&values, METRIC_OOM_KILLS, 5000);
	if (top_rates_set(rates, 7, UINT64_C(10000000000), 0, &values, row) < 0)
		return 1;
	json = top_frame_json(&f);
	printf("%s\n%s\nsort %s\n", json, query, top_column_names(names, sizeof(names)));
	for (view.is_help = false; top_draw(&f, &view, &l) == 0; view.is_help = true) {
		for (i = 0; i < l.n; i++)
			printf("%s\n", l.line[i].text);
		top_lines_free(&l);
		if (view.is_help)
			break;
	}
	top_frame_free(&f);
	top_rates_destroy(rates);
	return 0;
}

static int print_report(const struct jobs_job *j)
{
	static struct summary s;
	struct period month;

	if (period_parse(PERIOD_MONTH, "2023-11", END + 1, &month) < 0)
		return 1;
	summary_init(&s, &month, JOBS_BY_ACCOUNT, END + 1);
	if (summary_add(&s, j) < 0 || summary_print_text(&s, stdout) < 0 ||
	    summary_print_csv(&s, stdout) < 0 || summary_print_json(&s, stdout) < 0 ||
	    summary_print_html(&s, NULL, stdout) < 0)
		return 1;
	summary_fini(&s);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	struct jobs_job j;
	struct record r;
	int rc;

	make_record(&r);
	jobs_job_init(&j, &r, END + 1);
	rc = !strcmp(what, "jobs")   ? print_jobs(&j) :
	     !strcmp(what, "groups") ? print_groups(&j) :
	     !strcmp(what, "top")    ? print_top() :
	     !strcmp(what, "report") ? print_report(&j) :
				       2;
	return rc;
}
