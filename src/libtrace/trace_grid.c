/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libtrace/trace_grid.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/libutil/clock.h"

/* --- which columns ------------------------------------------------------------------------ */

/* Whether ITEM, LEN bytes, is the name of the column or of its metric. */
static bool is_named(const struct trace_column *c, const char *item, size_t len)
{
	if (strlen(c->name) == len && !strncmp(c->name, item, len))
		return true;
	return c->metric < METRIC_N && strlen(metric_table[c->metric].name) == len &&
	       !strncmp(metric_table[c->metric].name, item, len);
}

static bool has_column(const struct trace_column *c, size_t n, const char *name)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (!strcmp(c[i].name, name))
			return true;
	return false;
}

/* Collects each column once, in the order of the first table that has it. */
static int unite_columns(const struct trace_table *table, size_t n, struct trace_column **ret, size_t *ret_n)
{
	struct trace_column *all;
	size_t i, k, nall = 0;

	for (i = 0; i < n; i++)
		nall += table[i].ncolumns;
	all = calloc(nall + 1, sizeof(*all));
	if (!all)
		return -ENOMEM;
	nall = 0;
	for (i = 0; i < n; i++)
		for (k = 0; k < table[i].ncolumns; k++)
			if (!has_column(all, nall, table[i].column[k].name))
				all[nall++] = table[i].column[k];
	*ret = all;
	*ret_n = nall;
	return 0;
}

static int no_column(const struct trace_column *c, size_t n, const char *item, size_t len, struct errmsg *err)
{
	char known[400] = "";
	size_t used = 0;
	size_t i;

	for (i = 0; i < n && used < sizeof(known); i++)
		used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s", i ? ", " : "",
					 c[i].name);
	return errmsg_set(err, -ENOENT, "'%.*s' is not in the trace; there are %s%s",
			  (int)(len > 64 ? 64 : len), item, known, used < sizeof(known) ? "" : "...");
}

int trace_columns_pick(const struct trace_table *table, size_t n, const char *metrics,
		       struct trace_column **ret, size_t *ret_n, struct errmsg *err)
{
	struct trace_column *all = NULL, *picked;
	size_t nall, npicked = 0;
	const char *item;
	int rc = unite_columns(table, n, &all, &nall);

	if (rc < 0)
		return errmsg_errno(err, rc, "trace");
	if (!metrics) {
		*ret = all;
		*ret_n = nall;
		return 0;
	}
	picked = calloc(nall + 1, sizeof(*picked));
	for (item = metrics; picked && rc == 0 && *item; item += strspn(item, ",")) {
		size_t len = strcspn(item, ","), i;
		bool is_found = false;

		for (i = 0; i < nall; i++) {
			if (!is_named(&all[i], item, len))
				continue;
			is_found = true;
			if (!has_column(picked, npicked, all[i].name))
				picked[npicked++] = all[i];
		}
		if (!is_found)
			rc = no_column(all, nall, item, len, err);
		item += len;
	}
	free(all);
	if (!picked)
		return errmsg_errno(err, -ENOMEM, "trace");
	if (rc == 0 && !npicked)
		rc = errmsg_set(err, -EINVAL, "--metrics names no metric");
	if (rc < 0) {
		free(picked);
		return rc;
	}
	*ret = picked;
	*ret_n = npicked;
	return 0;
}

/* --- one column of one table -------------------------------------------------------------- */

/* The known values of one column of one table. */
struct column_points {
	uint64_t *t_ns;
	double *value;
	size_t n;
	size_t at; /* where the last search ended: searches come in the order of time */
};

static int points_init(struct column_points *p, const struct trace_table *t, int column, bool from_zero)
{
	size_t i;

	*p = (struct column_points){ .t_ns = calloc(t->nrows + 1, sizeof(*p->t_ns)),
				     .value = calloc(t->nrows + 1, sizeof(*p->value)) };
	if (!p->t_ns || !p->value)
		return -ENOMEM;
	for (i = 0; i < t->nrows; i++) {
		double v = t->value[i * t->ncolumns + (size_t)column];

		if (isnan(v))
			continue;
		/* a sum was 0 when the step began, even if it was first read later */
		if (from_zero && !p->n && i)
			p->t_ns[p->n++] = t->t_ns[0];
		p->t_ns[p->n] = t->t_ns[i];
		p->value[p->n++] = v;
	}
	return 0;
}

static void points_fini(struct column_points *p)
{
	free(p->t_ns);
	free(p->value);
}

/*
 * Interpolates between two points. Before the first point and after the last, returns that point's
 * value.
 */
static double points_at(struct column_points *p, uint64_t t_ns)
{
	size_t i;

	if (p->at && p->t_ns[p->at] > t_ns)
		p->at = 0;
	while (p->at + 1 < p->n && p->t_ns[p->at + 1] <= t_ns)
		p->at++;
	i = p->at;
	if (t_ns <= p->t_ns[i] || i + 1 == p->n)
		return p->value[i];
	return p->value[i] + (p->value[i + 1] - p->value[i]) * (double)(t_ns - p->t_ns[i]) /
				     (double)(p->t_ns[i + 1] - p->t_ns[i]);
}

/* points_at(), but 0 before the first point: a sum begins at 0. */
static double sum_at(struct column_points *p, uint64_t t_ns)
{
	return t_ns < p->t_ns[0] ? 0 : points_at(p, t_ns);
}

/* Mean over the known part of [BEGIN_NS, END_NS]; NAN: no part is known. */
static double level_between(struct column_points *p, uint64_t begin_ns, uint64_t end_ns)
{
	uint64_t from = begin_ns > p->t_ns[0] ? begin_ns : p->t_ns[0];
	uint64_t last = p->t_ns[p->n - 1];
	uint64_t until = end_ns < last ? end_ns : last;
	double area = 0, before;
	uint64_t t;
	size_t i;

	if (from > until || (from == until && p->n > 1))
		return NAN;
	if (from == until)
		return p->value[0];
	before = points_at(p, from);
	t = from;
	for (i = p->at + 1; i < p->n && p->t_ns[i] < until; i++) {
		if (p->t_ns[i] <= t)
			continue;
		area += (before + p->value[i]) / 2 * (double)(p->t_ns[i] - t);
		before = p->value[i];
		t = p->t_ns[i];
	}
	area += (before + points_at(p, until)) / 2 * (double)(until - t);
	return area / (double)(until - from);
}

/* The largest value until END_NS. Call in the order of time. */
static double peak_until(struct column_points *p, uint64_t end_ns)
{
	double peak = NAN;

	for (; p->at < p->n && p->t_ns[p->at] <= end_ns; p->at++) {
		if (p->at && p->value[p->at] < p->value[p->at - 1])
			p->value[p->at] = p->value[p->at - 1];
	}
	if (p->at)
		peak = p->value[p->at - 1];
	return peak;
}

/* --- the grid ----------------------------------------------------------------------------- */

uint64_t trace_grid_begin(const struct trace_grid *g, size_t i)
{
	return g->begin_ns + i * g->every_ns;
}

uint64_t trace_grid_end(const struct trace_grid *g, size_t i)
{
	uint64_t end_ns = trace_grid_begin(g, i + 1);

	return end_ns < g->end_ns ? end_ns : g->end_ns;
}

static void grid_add(double *cell, enum trace_kind kind, double v)
{
	if (isnan(v))
		return;
	if (isnan(*cell))
		*cell = v;
	else if (kind == TRACE_PEAK)
		*cell = v > *cell ? v : *cell;
	else
		*cell += v;
}

static double value_between(struct column_points *p, enum trace_kind kind, uint64_t begin_ns, uint64_t end_ns)
{
	double before;

	switch (kind) {
	case TRACE_SUM:
		return sum_at(p, end_ns);
	case TRACE_RATE:
		before = sum_at(p, begin_ns);
		return (sum_at(p, end_ns) - before) * (double)NSEC_PER_SEC / (double)(end_ns - begin_ns);
	case TRACE_LEVEL:
		return level_between(p, begin_ns, end_ns);
	default:
		return peak_until(p, end_ns);
	}
}

/*
 * Finds the source of column C. A rate is computed again from its sum, so that no part of the sum
 * is lost.
 */
static int source_column(const struct trace_table *t, const struct trace_column *c)
{
	char name[TRACE_COLUMN_MAX];

	if (c->kind != TRACE_RATE)
		return trace_table_find(t, c->name);
	trace_row_column(c->metric, name);
	return trace_table_find(t, name);
}

static int grid_add_column(struct trace_grid *g, size_t k, const struct trace_table *t)
{
	const struct trace_column *c = &g->column[k];
	const int source = source_column(t, c);
	struct column_points p = { 0 };
	size_t i;
	int rc;

	if (source < 0)
		return 0;
	rc = points_init(&p, t, source, c->kind == TRACE_SUM || c->kind == TRACE_RATE);
	for (i = 0; rc == 0 && p.n && i < g->nrows; i++)
		grid_add(&g->value[i * g->ncolumns + k], c->kind,
			 value_between(&p, c->kind, trace_grid_begin(g, i), trace_grid_end(g, i)));
	points_fini(&p);
	return rc;
}

void trace_grid_span(const struct trace_table *table, size_t n, uint64_t *ret_begin_ns, uint64_t *ret_end_ns)
{
	uint64_t begin_ns = UINT64_MAX, end_ns = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		const uint64_t first = table[i].t_ns[0], last = table[i].t_ns[table[i].nrows - 1];

		begin_ns = first < begin_ns ? first : begin_ns;
		end_ns = last > end_ns ? last : end_ns;
	}
	*ret_begin_ns = begin_ns;
	*ret_end_ns = end_ns;
}

int trace_grid_make(const struct trace_table *table, size_t n, struct trace_column *column, size_t ncolumns,
		    uint64_t every_ns, struct trace_grid *ret, struct errmsg *err)
{
	struct trace_grid g = { .column = column, .ncolumns = ncolumns, .every_ns = every_ns };
	size_t i, k;
	int rc = 0;

	trace_grid_span(table, n, &g.begin_ns, &g.end_ns);
	if (g.end_ns == g.begin_ns)
		g.end_ns++;
	if (g.every_ns > g.end_ns - g.begin_ns)
		g.every_ns = g.end_ns - g.begin_ns;
	if ((g.end_ns - g.begin_ns) / g.every_ns >= TRACE_GRID_ROWS)
		return errmsg_set(err, -ERANGE, "--resample: more than %d intervals", TRACE_GRID_ROWS);
	g.nrows = (size_t)((g.end_ns - g.begin_ns + g.every_ns - 1) / g.every_ns);
	g.value = reallocarray(NULL, g.nrows, ncolumns * sizeof(*g.value));
	if (!g.value)
		return errmsg_errno(err, -ENOMEM, "trace");
	for (i = 0; i < g.nrows * ncolumns; i++)
		g.value[i] = NAN;
	for (i = 0; i < n; i++)
		for (k = 0; rc == 0 && k < ncolumns; k++)
			rc = grid_add_column(&g, k, &table[i]);
	if (rc < 0) {
		free(g.value);
		return errmsg_errno(err, rc, "trace");
	}
	*ret = g;
	return 0;
}

void trace_grid_fini(struct trace_grid *g)
{
	free(g->column);
	free(g->value);
	*g = (struct trace_grid){ 0 };
}
