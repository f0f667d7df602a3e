/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/top/top_draw.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "src/cmd/top/top_column.h"
#include "src/librecord/screen_text.h"
#include "src/libutil/round.h"
#include "src/libutil/text.h"
#include "src/libutil/util.h"

#define SUMS_MAX 256
#define KEYS_PER_LINE 5
#define TITLE_LINE 2 /* index of the line of titles, below two lines of head; one more if there is a note */

#define ID (&top_column_table[TOP_COLUMN_ID])
#define POWER (&top_column_table[TOP_COLUMN_POWER])

const struct top_column *top_column_find(const char *name)
{
	size_t i;

	for (i = 0; i < TOP_COLUMN_N; i++)
		if (!strcasecmp(top_column_table[i].name, name))
			return &top_column_table[i];
	return NULL;
}

const struct top_column *top_column_of_key(int key)
{
	size_t i;

	for (i = 0; i < TOP_COLUMN_N; i++)
		if (top_column_table[i].key && top_column_table[i].key == key)
			return &top_column_table[i];
	return NULL;
}

const char *top_column_names(char *buf, size_t size)
{
	size_t used = 0;
	size_t i;

	*buf = '\0';
	for (i = 0; i < TOP_COLUMN_N && used < size; i++)
		used += (size_t)snprintf(buf + used, size - used, "%s%s", i ? ", " : "",
					 top_column_table[i].name);
	return buf;
}

/* --- order ------------------------------------------------------------------------------------- */

static bool has_value(const struct top_row *r, const struct top_column *c)
{
	const char *text = top_column_text(c, r);

	return text ? *text != '\0' : !isnan(top_column_number(c, r));
}

static bool contains(const char *text, const char *part)
{
	size_t len = strlen(part);

	for (; *text; text++)
		if (!strncasecmp(text, part, len))
			return true;
	return !len;
}

static bool passes_filter(const struct top_row *r, const char *filter)
{
	return !*filter || contains(r->id, filter) || contains(r->name, filter) ||
	       contains(r->user, filter) || contains(r->account, filter) || contains(r->partition, filter) ||
	       contains(r->nodes, filter);
}

/* A row to sort. It has the view, because qsort() passes no other argument to compare_items(). */
struct order_item {
	const struct top_row *row;
	const struct top_view *view;
	size_t at;
};

/* Sorts texts in alphabetical order, and numbers from the largest to the smallest, unknown ones last. */
static int compare_items(const void *x, const void *y)
{
	const struct order_item *a = x;
	const struct order_item *b = y;
	const struct top_column *sort = a->view->sort ? a->view->sort : POWER;
	const char *text = top_column_text(sort, a->row);
	double v = top_column_number(sort, a->row);
	double w = top_column_number(sort, b->row);
	int rc;

	if (sort == ID)
		rc = (a->row->job_id > b->row->job_id) - (a->row->job_id < b->row->job_id);
	else if (text)
		rc = strcasecmp(text, top_column_text(sort, b->row));
	else if (isnan(v) || isnan(w))
		return isnan(v) && isnan(w) ? (a->at > b->at) - (a->at < b->at) : isnan(v) ? 1 : -1;
	else
		rc = (v < w) - (v > w);
	if (rc)
		return a->view->reverse ? -rc : rc;
	return (a->at > b->at) - (a->at < b->at);
}

size_t *top_order(const struct top_frame *f, const struct top_view *v, size_t *ret_n)
{
	_cleanup_free_ struct order_item *item = calloc(f->n + 1, sizeof(*item));
	size_t *order = calloc(f->n + 1, sizeof(*order));
	size_t n = 0;
	size_t i;

	if (!item || !order) {
		free(order);
		return NULL;
	}
	for (i = 0; i < f->n; i++)
		if (passes_filter(&f->row[i], v->filter))
			item[n++] = (struct order_item){ &f->row[i], v, i };
	if (n)
		qsort(item, n, sizeof(*item), compare_items);
	for (i = 0; i < n; i++)
		order[i] = item[i].at;
	*ret_n = n;
	return order;
}

/* --- columns ----------------------------------------------------------------------------------- */

/* Sets the width of each column; 0: it is left out, because the screen is too narrow. */
static void choose_columns(const struct top_frame *f, size_t screen, size_t width[TOP_COLUMN_N])
{
	size_t used = 0;
	unsigned int rank;
	size_t i, k;

	memset(width, 0, TOP_COLUMN_N * sizeof(*width));
	for (rank = 0; rank < TOP_COLUMN_N; rank++)
		for (i = 0; i < TOP_COLUMN_N; i++) {
			const struct top_column *c = &top_column_table[i];
			size_t need = c->width + (used ? 1 : 0);

			if (c->rank != rank || (used && used + need > screen))
				continue;
			for (k = 0; k < f->n && !has_value(&f->row[k], c); k++)
				;
			if (k == f->n && !(c->flags & TOP_ALWAYS))
				continue;
			width[i] = c->width;
			used += need;
		}
	if (width[TOP_COLUMN_ID] > screen)
		width[TOP_COLUMN_ID] = screen;
	/* columns with long texts get the rest of the screen's width */
	for (i = 0; used < screen && i < TOP_COLUMN_N; i++) {
		const struct top_column *c = &top_column_table[i];
		size_t most = width[i];

		for (k = 0; c->flags & TOP_GROWS && width[i] && k < f->n; k++) {
			char masked[TOP_TEXT_MAX];
			size_t need = text_columns(
				text_mask(top_column_text(c, &f->row[k]), masked, sizeof(masked)));

			most = need > most ? need : most;
		}
		if (most - width[i] > screen - used)
			most = width[i] + screen - used;
		used += most - width[i];
		width[i] = most;
	}
}

const struct top_column *top_column_next(const struct top_frame *f, const struct top_view *v, int step)
{
	size_t at = (size_t)((v->sort ? v->sort : POWER) - top_column_table);
	size_t width[TOP_COLUMN_N];
	size_t i;

	choose_columns(f, v->width, width);
	for (i = 0; i < TOP_COLUMN_N; i++) {
		at = (at + (size_t)(TOP_COLUMN_N + step)) % TOP_COLUMN_N;
		if (width[at])
			return &top_column_table[at];
	}
	return POWER;
}

/* --- lines ------------------------------------------------------------------------------------- */

void top_lines_free(struct top_lines *l)
{
	while (l->n)
		free(l->line[--l->n].text);
	free(l->line);
	l->line = NULL;
}

/* Adds a line with TEXT, masked and cut to the width SCREEN, without blanks at its end. -ENOMEM. */
static int add_line(struct top_lines *l, enum top_style style, size_t screen, const char *text)
{
	struct top_line *more = realloc(l->line, (l->n + 1) * sizeof(*more));
	char *cell = malloc(4 * screen + 1);
	size_t len;

	if (more)
		l->line = more;
	if (!more || !cell) {
		free(cell);
		return -ENOMEM;
	}
	(void)text_cell(text, screen, cell, 4 * screen + 1);
	for (len = strlen(cell); len && cell[len - 1] == ' '; len--)
		cell[len - 1] = '\0';
	l->line[l->n++] = (struct top_line){ cell, style };
	return 0;
}

static int _printf_(4, 5)
	add_text(struct top_lines *l, enum top_style style, size_t screen, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return add_line(l, style, screen, text);
}

static void put_column(FILE *out, const struct top_column *c, size_t width, const char *text, bool *is_first)
{
	char cell[4 * 256 + 1];
	size_t blank;

	width = width > 255 ? 255 : width;
	(void)text_cell(text, width, cell, sizeof(cell));
	blank = width - text_columns(cell);
	(void)fprintf(out, "%s%*s%s%*s", *is_first ? "" : " ", c->flags & TOP_LEFT ? 0 : (int)blank, "", cell,
		      c->flags & TOP_LEFT ? (int)blank : 0, "");
	*is_first = false;
}

/*
 * Adds the line of ROW. If ROW is NULL, adds the titles, with a mark at the column by which rows are sorted.
 */
static int add_row(struct top_lines *l, const struct top_frame *f, const struct top_view *v,
		   const size_t width[TOP_COLUMN_N], const struct top_row *row)
{
	const struct top_column *sort = v->sort ? v->sort : POWER;
	bool is_selected = row && v->height && *v->selected && !strcmp(row->id, v->selected);
	bool is_first = true;
	char *text = NULL;
	size_t size, i;
	FILE *out = open_memstream(&text, &size);
	int rc;

	if (!out)
		return -ENOMEM;
	for (i = 0; i < TOP_COLUMN_N; i++) {
		const struct top_column *c = &top_column_table[i];
		char buf[TOP_CELL_MAX] = "n/a";

		if (!width[i])
			continue;
		if (!row) {
			const char *title = c == ID && f->id_title ? f->id_title : c->title;
			bool is_marked = c == sort && strlen(title) < width[i];

			(void)snprintf(buf, sizeof(buf), "%s%s%s",
				       is_marked && !(c->flags & TOP_LEFT) ? "*" : "", title,
				       is_marked && c->flags & TOP_LEFT ? "*" : "");
		} else if (top_column_text(c, row)) {
			(void)snprintf(buf, sizeof(buf), "%s", top_column_text(c, row));
		} else if (!isnan(top_column_number(c, row))) {
			c->show(top_column_number(c, row), buf);
		}
		put_column(out, c, width[i], buf, &is_first);
	}
	rc = fclose(out) ? -ENOMEM :
			   add_line(l,
				    !row	? TOP_TITLES :
				    is_selected ? TOP_SELECTED :
						  TOP_PLAIN,
				    v->width, text);
	free(text);
	return rc;
}

/* Adds a sum to the head line, unless VALUE is unknown or the text does not fit. */
static void _printf_(4, 5) add_sum(char *line, size_t screen, double value, const char *fmt, ...)
{
	size_t used = strlen(line);
	char part[TOP_CELL_MAX];
	va_list ap;

	if (isnan(value))
		return;
	va_start(ap, fmt);
	(void)vsnprintf(part, sizeof(part), fmt, ap);
	va_end(ap);
	if (used + strlen(part) <= screen && used + strlen(part) < SUMS_MAX)
		memcpy(line + used, part, strlen(part) + 1);
}

static int add_sums(struct top_lines *l, const struct top_frame *f, size_t screen)
{
	double power = top_frame_sum(f, TOP_POWER), idle = top_frame_sum(f, TOP_IDLE),
	       cpu = top_frame_sum(f, TOP_CPU);
	double gpu = top_frame_sum(f, TOP_GPU), in = top_frame_sum(f, TOP_READ),
	       out = top_frame_sum(f, TOP_WRITE);
	double memory = top_frame_sum(f, TOP_MEMORY);
	char text[SCREEN_TEXT_MAX] = "n/a", bytes[TOP_CELL_MAX], of[32] = "", line[SUMS_MAX];
	uint64_t cpus = 0, gpus = 0;
	size_t i;

	for (i = 0; i < f->n; i++) {
		cpus += f->row[i].cpus;
		gpus += f->row[i].gpus;
	}
	if (!isnan(power))
		(void)screen_watts(power, text);
	(void)snprintf(line, sizeof(line), "power %s", text);
	add_sum(line, screen, idle, " (%s idle)", isnan(idle) ? "" : screen_share(idle, text));
	if (cpus)
		(void)snprintf(of, sizeof(of), " of %" PRIu64, cpus);
	add_sum(line, screen, cpu, "  CPU %.1f%s", cpu, of);
	top_show_bytes(isnan(memory) ? 0 : memory, bytes);
	add_sum(line, screen, memory, "  memory %s", bytes);
	add_sum(line, screen, gpus ? gpu : NAN, "  GPU %.1f of %" PRIu64, gpu, gpus);
	top_show_bytes(isnan(in) ? 0 : in, bytes);
	add_sum(line, screen, in, "  read %s/s", bytes);
	top_show_bytes(isnan(out) ? 0 : out, bytes);
	add_sum(line, screen, out, "  write %s/s", bytes);
	return add_line(l, TOP_HEAD, screen, line);
}

static int add_head(struct top_lines *l, const struct top_frame *f, const struct top_view *v, size_t shown)
{
	char clock[16] = "n/a", of[48] = "";
	time_t t = (time_t)f->t;
	struct tm tm;
	int rc;

	if (f->t && localtime_r(&t, &tm))
		(void)strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
	if (shown < f->n)
		(void)snprintf(of, sizeof(of), "%zu of ", shown);
	rc = add_text(l, TOP_HEAD, v->width, "%s  %s: %s%zu, from %s", clock, f->what, of, f->n, f->source);
	if (rc == 0)
		rc = add_sums(l, f, v->width);
	if (rc == 0 && *f->note)
		rc = add_line(l, TOP_NOTE, v->width, f->note);
	return rc;
}

static int add_keys(struct top_lines *l, const struct top_view *v)
{
	const struct top_column *sort = v->sort ? v->sort : POWER;

	if (v->is_typing)
		return add_text(l, TOP_KEYS, v->width, "filter: %s_", v->filter);
	return add_text(l, TOP_KEYS, v->width,
			"q quit  h help  < > sort: %s%s  r reverse  / filter%s%s  Enter nodes", sort->name,
			v->reverse ? ", reversed" : "", *v->filter ? ": " : "", v->filter);
}

/*
 * Adds lines such as "P I C M G    sort by power, idle share, CPU, memory, GPU", from the column of power on.
 */
static int add_sort_keys(struct top_lines *l, const struct top_view *v)
{
	char keys[2 * KEYS_PER_LINE + 1], help[SUMS_MAX];
	size_t used = 0, n = 0;
	size_t i;
	int rc = 0;

	for (i = 0; rc == 0 && i < TOP_COLUMN_N; i++) {
		const struct top_column *c = &top_column_table[(TOP_COLUMN_POWER + i) % TOP_COLUMN_N];

		if (c->key) {
			(void)snprintf(keys + 2 * n, 3, "%c ", c->key);
			used = n ? used : 0;
			used += (size_t)snprintf(help + used, sizeof(help) - used, "%s%s", n ? ", " : "",
						 c->help);
			n++;
		}
		if (n == KEYS_PER_LINE || (n && i + 1 == TOP_COLUMN_N)) {
			if (l->n + 1 < v->height)
				rc = add_text(l, TOP_PLAIN, v->width, "%-13ssort by %s", keys, help);
			n = 0;
		}
	}
	return rc;
}

static int add_help(struct top_lines *l, const struct top_view *v)
{
	static const char *const help[] = {
		"q, ESC       quit; leave this help, or the nodes of a job",
		"up, down     mark a job; also PgUp, PgDn, Home, End",
		"Enter        the nodes of that job (needs Prometheus), and back",
		"<, >         sort by the column to the left or right",
		NULL, /* the keys that sort */
		"r            reverse the order",
		"/            show jobs with a text in id, user, name, account, partition or",
		"             nodes; Enter ends it, an empty text shows all",
		"space        read again now",
		"",
		"POWER is the job's share of its nodes' power, IDLE the part of it that an",
		"idle node would use as well. CPU, MEM and GPU are of what the job holds.",
	};
	size_t i;
	int rc = 0;

	for (i = 0; rc == 0 && i < ARRAY_SIZE(help) && l->n + 1 < v->height; i++)
		rc = help[i] ? add_line(l, TOP_PLAIN, v->width, help[i]) : add_sort_keys(l, v);
	return rc;
}

size_t top_rows_shown(const struct top_frame *f, const struct top_view *v)
{
	size_t used = TITLE_LINE + (*f->note ? 1 : 0) + 2; /* 2: the titles and the last line */

	return v->height > used ? v->height - used : 0;
}

static int add_rows(struct top_lines *l, const struct top_frame *f, const struct top_view *v,
		    const size_t *order, size_t n)
{
	size_t most = v->height ? top_rows_shown(f, v) : n;
	size_t width[TOP_COLUMN_N];
	size_t i;
	int rc;

	choose_columns(f, v->width, width);
	rc = add_row(l, f, v, width, NULL);
	for (i = v->first; rc == 0 && i < n && i - v->first < most; i++)
		rc = add_row(l, f, v, width, &f->row[order[i]]);
	return rc;
}

/* Removes the lines that do not fit on a screen of HEIGHT lines. */
static void cut_lines(struct top_lines *l, size_t height)
{
	while (l->n > height)
		free(l->line[--l->n].text);
}

int top_draw(const struct top_frame *f, const struct top_view *v, struct top_lines *ret)
{
	_cleanup_free_ size_t *order = NULL;
	struct top_lines l = { 0 };
	size_t n;
	int rc;

	order = top_order(f, v, &n);
	if (!order)
		return -ENOMEM;
	rc = add_head(&l, f, v, n);
	if (rc == 0)
		rc = v->is_help ? add_help(&l, v) : add_rows(&l, f, v, order, n);
	while (rc == 0 && v->height && l.n + 1 < v->height)
		rc = add_line(&l, TOP_PLAIN, v->width, "");
	if (rc == 0 && v->height)
		rc = add_keys(&l, v);
	if (rc < 0) {
		top_lines_free(&l);
		return rc;
	}
	if (v->height)
		cut_lines(&l, v->height);
	*ret = l;
	return 0;
}
