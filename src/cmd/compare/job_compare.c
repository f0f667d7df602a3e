/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/compare/job_compare.h"

#include <errno.h>

#include "src/cmd/jobs/jobs_field.h"
#include "src/libutil/util.h"

/* The rows: fields of `ceems jobs`. CELLS_TABLE leaves out a row with IF_ANY if neither job has a value. */
static const struct {
	const char *field, *label;
	bool if_any;
} rows[] = {
	{ "JobName", "name", false },
	{ "State", "state", false },
	{ "NNodes", "nodes", false },
	{ "NCPUS", "CPUs", false },
	{ "NGPUs", "GPUs", true },
	{ "Elapsed", "run time", false },
	{ "TotalCPU", "CPU time", false },
	{ "CPUEff", "CPU efficiency", false },
	{ "memory_peak_bytes", "memory peak", false },
	{ "MemEff", "of allocated", true },
	{ "GPUEff", "GPU busy", true },
	{ "gpu_memory_peak_bytes", "GPU memory", true },
	{ "Energy", "energy", false },
	{ "MeanPower", "mean power", false },
	{ "IdleShare", "idle share", false },
	{ "co2e", "CO2e", false },
	{ "read_bytes", "read", true },
	{ "write_bytes", "written", true },
	{ "tcp_received_bytes", "TCP in", true },
	{ "tcp_sent_bytes", "TCP out", true },
};

static const struct cells_column columns[] = {
	{ .title = "", .key = "what", .width = 14, .is_left = true },
	{ .title = NULL, .key = "a", .width = 26 }, /* the title is set later to the id of the job */
	{ .title = NULL, .key = "b", .width = 26 },
	{ .title = "ratio", .key = "ratio", .width = 10 },
};

/* Gives the number in a cell. False: the cell is a text or unknown. */
static bool cell_number(const struct cell *c, double *ret)
{
	if (c->kind == CELL_DECIMAL)
		*ret = (double)c->number / (double)c->scale;
	else if (c->kind == CELL_RATIO)
		*ret = c->ratio;
	else
		return false;
	return true;
}

static void set_ratio(struct cell *cell, const struct cell *a, const struct cell *b)
{
	double x, y;

	if (!cell_number(a, &x) || !cell_number(b, &y) || x <= 0)
		return;
	y /= x;
	*cell = (struct cell){ .kind = CELL_RATIO, .ratio = y };
	if (y >= 9999.5)
		(void)snprintf(cell->shown, sizeof(cell->shown), ">9999");
	else
		(void)snprintf(cell->shown, sizeof(cell->shown), "%.*f",
			       y < 9.995 ? 2 :
			       y < 99.95 ? 1 :
					   0,
			       y);
}

static bool has_any(const struct cell *c)
{
	return c->kind != CELL_UNKNOWN && (c->kind != CELL_DECIMAL || c->number);
}

static int add_ids(struct cells *cells, const struct job_compare *c)
{
	const struct cell cell[ARRAY_SIZE(columns)] = { { .kind = CELL_TEXT, .text = "id" },
							{ .kind = CELL_TEXT, .text = c->id[0] },
							{ .kind = CELL_TEXT, .text = c->id[1] } };

	return cells_add(cells, 0, cell);
}

static int add_rows(struct cells *cells, const struct job_compare *c, bool all)
{
	char buf[2][JOBS_TEXT_MAX];
	struct jobs_job j[2];
	size_t i, k;
	int rc = 0;

	for (k = 0; k < 2; k++)
		jobs_job_init(&j[k], c->r[k], c->now);
	for (i = 0; rc == 0 && i < ARRAY_SIZE(rows); i++) {
		struct cell cell[ARRAY_SIZE(columns)] = { { .kind = CELL_TEXT } };
		struct jobs_columns field;

		rc = jobs_columns_parse(rows[i].field, &field, NULL);
		if (rc < 0)
			break;
		cell[0].text = field.cells->key;
		(void)snprintf(cell[0].shown, sizeof(cell[0].shown), "%s", rows[i].label);
		for (k = 0; k < 2; k++)
			jobs_cell(&j[k], field.column, &cell[1 + k], buf[k]);
		set_ratio(&cell[3], &cell[1], &cell[2]);
		/* in the table, the ratio is empty, not n/a, if a value is a text */
		if (!all && (cell[1].kind == CELL_TEXT || cell[2].kind == CELL_TEXT))
			cell[3] = (struct cell){ .kind = CELL_TEXT, .text = "" };
		if (all || !rows[i].if_any || has_any(&cell[1]) || has_any(&cell[2]))
			rc = cells_add(cells, 0, cell);
		jobs_columns_free(&field);
	}
	return rc;
}

int job_compare_print(const struct job_compare *c, enum cells_format format, bool header, FILE *out)
{
	struct cells_column column[ARRAY_SIZE(columns)];
	struct cells *cells;
	size_t i;
	int rc = 0;

	for (i = 0; i < ARRAY_SIZE(columns); i++) {
		column[i] = columns[i];
		if (!column[i].title)
			column[i].title = c->id[i - 1];
	}
	cells = cells_create(column, ARRAY_SIZE(columns), format, /* top= */ 0);
	if (!cells)
		return -ENOMEM;
	if (format != CELLS_TABLE)
		rc = add_ids(cells, c);
	if (rc == 0)
		rc = add_rows(cells, c, /* all= */ format != CELLS_TABLE);
	if (rc == 0)
		rc = cells_print(cells, out, header);
	cells_destroy(cells);
	return rc;
}
