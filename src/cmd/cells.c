/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/cells.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "src/librecord/exactjson.h"
#include "src/librecord/screen_text.h"
#include "src/libutil/text.h"
#include "src/libutil/util.h"

/* Mark before the text of each cell in cells_row.text. */
#define UNKNOWN '-'
#define KNOWN '='
#define KEEP_SOME 1024 /* whenever there are so many rows more than TOP, all but the first TOP are dropped */

struct cells_row {
	double rank;
	uint64_t at;
	/*
	 * Owned. CELLS_JSON: the row as an object. Others: for each column UNKNOWN or
	 * KNOWN, the text, and NUL.
	 */
	char *text;
};

struct cells {
	const struct cells_column *column;
	size_t ncolumns;
	enum cells_format format;
	size_t top;
	struct cells_row *row; /* owned */
	size_t n, room;
	uint64_t added;
};

struct cells *cells_create(const struct cells_column *column, size_t n, enum cells_format format, size_t top)
{
	struct cells *c = calloc(1, sizeof(*c));

	if (c)
		*c = (struct cells){ .column = column, .ncolumns = n, .format = format, .top = top };
	return c;
}

double cell_rank(const struct cell *cell)
{
	return cell->kind == CELL_RATIO ? cell->ratio :
	       cell->scale		? (double)cell->number / (double)cell->scale :
					  NAN;
}

void cell_count(struct cell *cell, uint64_t n)
{
	*cell = (struct cell){ .kind = CELL_DECIMAL, .number = n, .scale = 1 };
	(void)snprintf(cell->shown, sizeof(cell->shown), "%" PRIu64, n);
}

void cell_wh(struct cell *cell, uint64_t uj)
{
	*cell = (struct cell){ .kind = CELL_DECIMAL, .number = uj, .scale = 1000000 };
	(void)screen_wh(uj, cell->shown);
}

static void cells_cut(struct cells *c, size_t n)
{
	while (c->n > n)
		free(c->row[--c->n].text);
}

void cells_destroy(struct cells *c)
{
	if (!c)
		return;
	cells_cut(c, 0);
	free(c->row);
	free(c);
}

/* --- a row's text ------------------------------------------------------------------------------ */

/* Writes NUMBER / SCALE as a decimal, such as "12.5". */
static void put_decimal(FILE *f, uint64_t number, uint64_t scale)
{
	uint64_t rest = number % scale;

	(void)fprintf(f, "%" PRIu64, number / scale);
	if (!rest)
		return;
	(void)fputc('.', f);
	while (rest) {
		scale /= 10;
		(void)fputc((char)('0' + rest / scale), f);
		rest %= scale;
	}
}

/* Writes the mark and the text of a cell, and NUL. -ENOMEM. */
static int put_cell(FILE *f, enum cells_format format, const struct cell *cell)
{
	const char *text = *cell->shown && format == CELLS_TABLE ? cell->shown : cell->text;
	_cleanup_free_ char *masked = NULL;
	size_t i;

	(void)fputc(cell->kind == CELL_UNKNOWN ? UNKNOWN : KNOWN, f);
	if (cell->kind == CELL_UNKNOWN)
		return 0;
	if (format != CELLS_TABLE && cell->kind == CELL_DECIMAL) {
		put_decimal(f, cell->number, cell->scale);
		return 0;
	}
	if (format != CELLS_TABLE && cell->kind == CELL_RATIO) {
		(void)fprintf(f, "%.6g", cell->ratio);
		return 0;
	}
	masked = malloc(strlen(text) + 1);
	if (!masked)
		return -ENOMEM;
	(void)text_mask(text, masked, strlen(text) + 1);
	for (i = 0; format == CELLS_PARSABLE && masked[i]; i++)
		masked[i] = masked[i] == '|' ? '?' : masked[i];
	fputs(masked, f);
	return 0;
}

static char *plain_text(const struct cells *c, const struct cell *cell)
{
	char *text = NULL;
	size_t size, i;
	FILE *f = open_memstream(&text, &size);
	int rc = 0;

	if (!f)
		return NULL;
	for (i = 0; rc == 0 && i < c->ncolumns; i++) {
		rc = put_cell(f, c->format, &cell[i]);
		(void)fputc('\0', f);
	}
	if (fclose(f) != 0 || rc < 0)
		free(TAKE_PTR(text));
	return text;
}

static json_t *json_cell(const struct cell *cell)
{
	switch (cell->kind) {
	case CELL_TEXT:
		return exactjson_of_text(cell->text);
	case CELL_DECIMAL:
		return exactjson_decimal(cell->number, cell->scale);
	case CELL_RATIO:
		return json_real(cell->ratio);
	case CELL_UNKNOWN:
		break;
	}
	return json_null();
}

static char *json_row(const struct cells *c, const struct cell *cell)
{
	json_t *object = json_object();
	char *text = NULL;
	size_t i, len;
	int rc = object ? 0 : -1;

	for (i = 0; rc == 0 && i < c->ncolumns; i++)
		rc = json_object_set_new(object, c->column[i].key, json_cell(&cell[i]));
	if (rc == 0)
		text = exactjson_dump(object, &len);
	json_decref(object);
	return text;
}

/* --- rows -------------------------------------------------------------------------------------- */

static int compare_rows(const void *x, const void *y)
{
	const struct cells_row *a = x;
	const struct cells_row *b = y;

	if (isnan(a->rank) != isnan(b->rank))
		return isnan(a->rank) ? 1 : -1;
	if (a->rank < b->rank || a->rank > b->rank)
		return a->rank < b->rank ? -1 : 1;
	return (a->at > b->at) - (a->at < b->at);
}

static void cells_sort(struct cells *c)
{
	if (c->n)
		qsort(c->row, c->n, sizeof(*c->row), compare_rows);
	if (c->top)
		cells_cut(c, c->top);
}

int cells_add(struct cells *c, double rank, const struct cell *cell)
{
	struct cells_row row = { .rank = rank, .at = c->added++ };

	if (c->top && c->n >= c->top + KEEP_SOME)
		cells_sort(c);
	if (c->n == c->room) {
		size_t room = c->room ? 2 * c->room : 64;
		struct cells_row *more = realloc(c->row, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		c->row = more;
		c->room = room;
	}
	row.text = c->format == CELLS_JSON ? json_row(c, cell) : plain_text(c, cell);
	if (!row.text)
		return -ENOMEM;
	c->row[c->n++] = row;
	return 0;
}

/* --- printing ---------------------------------------------------------------------------------- */

/* Computes the width of each column; 0: not shown. */
static void find_widths(const struct cells *c, bool header, size_t *width)
{
	size_t i, k;

	for (k = 0; k < c->ncolumns; k++)
		width[k] = header && !c->column[k].if_any ? text_columns(c->column[k].title) : 0;
	for (i = 0; i < c->n; i++) {
		const char *p = c->row[i].text;

		for (k = 0; k < c->ncolumns; k++, p += strlen(p) + 1) {
			bool is_known = *p == KNOWN;
			/* 3: "n/a" */
			size_t need = is_known ? text_columns(p + 1) : c->column[k].if_any ? 0 : 3;

			if (is_known && header && need < text_columns(c->column[k].title))
				need = text_columns(c->column[k].title);
			width[k] = need > width[k] ? need : width[k];
		}
	}
	for (k = 0; k < c->ncolumns; k++)
		if (c->column[k].is_fixed || width[k] > c->column[k].width)
			width[k] = c->column[k].width;
}

/*
 * Prints TEXT in a field of WIDTH. The blanks that follow it are counted in *GAP and printed before the next
 * cell, so that no line ends with blanks.
 */
static void put_aligned(FILE *out, const char *text, size_t width, bool is_left, size_t *gap)
{
	char cell[4 * CELLS_WIDTH_MAX + 1];
	size_t blank;

	if (!*text) {
		*gap += width + 1;
		return;
	}
	(void)text_cell(text, width, cell, sizeof(cell));
	blank = width - text_columns(cell);
	(void)fprintf(out, "%*s%s", (int)(*gap + (is_left ? 0 : blank)), "", cell);
	*gap = 1 + (is_left ? blank : 0);
}

static int print_table(const struct cells *c, FILE *out, bool header)
{
	_cleanup_free_ size_t *width = calloc(c->ncolumns + 1, sizeof(*width));
	size_t gap = 0;
	size_t i, k;

	if (!width)
		return -ENOMEM;
	find_widths(c, header, width);
	for (k = 0; header && k < c->ncolumns; k++)
		if (width[k])
			put_aligned(out, c->column[k].title, width[k], c->column[k].is_left, &gap);
	if (header)
		(void)fputc('\n', out);
	for (i = 0; i < c->n; i++) {
		const char *p = c->row[i].text;

		gap = 0;
		for (k = 0; k < c->ncolumns; k++, p += strlen(p) + 1)
			if (width[k])
				put_aligned(out, *p == KNOWN ? p + 1 : "n/a", width[k], c->column[k].is_left,
					    &gap);
		(void)fputc('\n', out);
	}
	return 0;
}

static int put_separated(const struct cells *c, FILE *out, size_t k, const char *text)
{
	_cleanup_free_ char *quoted = NULL;

	if (k)
		(void)fputc(c->format == CELLS_CSV ? ',' : '|', out);
	if (c->format == CELLS_CSV) {
		quoted = malloc(TEXT_CSV_SIZE(strlen(text)));
		if (!quoted)
			return -ENOMEM;
		text = text_csv(text, quoted, TEXT_CSV_SIZE(strlen(text)));
	}
	fputs(text, out);
	return 0;
}

static int print_separated(const struct cells *c, FILE *out, bool header)
{
	size_t i, k;
	int rc = 0;

	for (k = 0; header && rc == 0 && k < c->ncolumns; k++)
		rc = put_separated(c, out, k, c->column[k].key);
	if (header)
		(void)fputc('\n', out);
	for (i = 0; rc == 0 && i < c->n; i++) {
		const char *p = c->row[i].text;

		for (k = 0; rc == 0 && k < c->ncolumns; k++, p += strlen(p) + 1)
			rc = put_separated(c, out, k, p + 1);
		(void)fputc('\n', out);
	}
	return rc;
}

static void print_json(const struct cells *c, FILE *out)
{
	size_t i;

	fputs("[", out);
	for (i = 0; i < c->n; i++)
		(void)fprintf(out, "%s\n%s", i ? "," : "", c->row[i].text);
	fputs("\n]\n", out);
}

int cells_print(struct cells *c, FILE *out, bool header)
{
	cells_sort(c);
	if (c->format == CELLS_TABLE)
		return print_table(c, out, header);
	if (c->format != CELLS_JSON)
		return print_separated(c, out, header);
	print_json(c, out);
	return 0;
}
