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

#include "src/libcore/metric_text.h"
#include "src/librecord/screen_text.h"
#include "src/libutil/round.h"
#include "src/libutil/text.h"
#include "src/libutil/util.h"

#define CELL_MAX 64
#define SUMS_MAX 256
#define TITLE_LINE 2 /* index of the line of titles, below two lines of head; one more if there is a note */

enum column_id {
	COLUMN_ID, COLUMN_USER, COLUMN_NAME, COLUMN_ACCOUNT, COLUMN_PARTITION, COLUMN_NODES, COLUMN_CPUS, COLUMN_POWER,
	COLUMN_IDLE, COLUMN_CPU, COLUMN_MEM, COLUMN_MEMORY, COLUMN_GPU, COLUMN_READ, COLUMN_WRITE, COLUMN_RECEIVED,
	COLUMN_SENT, COLUMN_ENERGY, COLUMN_CO2E, COLUMN_TIME, COLUMN_NODELIST, COLUMN_N
};

/* The columns from left to right. On a narrow screen, those with the highest rank are left out first. */
struct top_column {
	enum column_id id;
	const char *title;
	const char *name; /* for --sort */
	int key;	  /* the key that sorts by this column: an upper-case letter */
	size_t width;
	unsigned int rank;
	bool is_left; /* text is at the left of the column */
};

static const struct top_column columns[] = {
	{ COLUMN_ID, "JOBID", "id", 'J', 9, 0, true },
	{ COLUMN_USER, "USER", "user", 'U', 8, 3, true },
	{ COLUMN_NAME, "NAME", "name", 'N', 10, 4, true },
	{ COLUMN_ACCOUNT, "ACCOUNT", "account", 'A', 9, 16, true },
	{ COLUMN_PARTITION, "PARTITION", "partition", 0, 9, 17, true },
	{ COLUMN_NODES, "ND", "nodes", 0, 3, 10, false },
	{ COLUMN_CPUS, "CPUS", "cpus", 0, 4, 5, false },
	{ COLUMN_POWER, "POWER", "power", 'P', 7, 1, false },
	{ COLUMN_IDLE, "IDLE", "idle", 'I', 5, 6, false },
	{ COLUMN_CPU, "CPU", "cpu", 'C', 5, 2, false },
	{ COLUMN_MEM, "MEM", "mem", 'M', 5, 7, false },
	{ COLUMN_MEMORY, "MEMORY", "memory", 0, 8, 13, false },
	{ COLUMN_GPU, "GPU", "gpu", 'G', 5, 8, false },
	{ COLUMN_READ, "READ/s", "read", 'R', 7, 9, false },
	{ COLUMN_WRITE, "WRITE/s", "write", 'W', 7, 9, false },
	{ COLUMN_RECEIVED, "TCPIN/s", "tcpin", 0, 7, 18, false },
	{ COLUMN_SENT, "TCPOUT/s", "tcpout", 0, 8, 18, false },
	{ COLUMN_ENERGY, "ENERGY", "energy", 'E', 9, 12, false },
	{ COLUMN_CO2E, "CO2e", "co2e", 'O', 8, 14, false },
	{ COLUMN_TIME, "TIME", "time", 'T', 6, 11, false },
	{ COLUMN_NODELIST, "NODELIST", "nodelist", 0, 12, 15, true },
};
#define POWER (&columns[COLUMN_POWER])
_Static_assert(ARRAY_SIZE(columns) == COLUMN_N, "columns are in the order of their ids");

const struct top_column *top_column_find(const char *name)
{
	size_t i;

	for (i = 0; i < COLUMN_N; i++)
		if (!strcasecmp(columns[i].name, name))
			return &columns[i];
	return NULL;
}

const struct top_column *top_column_of_key(int key)
{
	size_t i;

	for (i = 0; i < COLUMN_N; i++)
		if (columns[i].key && columns[i].key == key)
			return &columns[i];
	return NULL;
}

const char *top_column_names(char *buf, size_t size)
{
	size_t used = 0;
	size_t i;

	*buf = '\0';
	for (i = 0; i < COLUMN_N && used < size; i++)
		used += (size_t)snprintf(buf + used, size - used, "%s%s", i ? ", " : "", columns[i].name);
	return buf;
}

/* --- values ------------------------------------------------------------------------------------ */

static const char *row_text(const struct top_row *r, enum column_id id)
{
	switch (id) {
	case COLUMN_ID:
		return r->id;
	case COLUMN_USER:
		return r->user;
	case COLUMN_NAME:
		return r->name;
	case COLUMN_ACCOUNT:
		return r->account;
	case COLUMN_PARTITION:
		return r->partition;
	case COLUMN_NODELIST:
		return r->nodes;
	default:
		return NULL;
	}
}

static double known_value(uint64_t n)
{
	return n ? (double)n : NAN;
}

/* Returns the value of a column. NAN: it is not known, or the column is a text. */
static double row_number(const struct top_row *r, enum column_id id)
{
	switch (id) {
	case COLUMN_NODES:
		return known_value(r->nnodes);
	case COLUMN_CPUS:
		return known_value(r->cpus);
	case COLUMN_POWER:
		return r->value[TOP_POWER];
	case COLUMN_IDLE:
		return r->value[TOP_IDLE];
	case COLUMN_CPU:
		return r->value[TOP_CPU] / known_value(r->cpus);
	case COLUMN_MEM:
		return r->value[TOP_MEMORY] / known_value(r->memory);
	case COLUMN_MEMORY:
		return r->value[TOP_MEMORY];
	case COLUMN_GPU:
		return r->value[TOP_GPU] / known_value(r->gpus);
	case COLUMN_READ:
		return r->value[TOP_READ];
	case COLUMN_WRITE:
		return r->value[TOP_WRITE];
	case COLUMN_RECEIVED:
		return r->value[TOP_RECEIVED];
	case COLUMN_SENT:
		return r->value[TOP_SENT];
	case COLUMN_ENERGY:
		return r->value[TOP_ENERGY];
	case COLUMN_CO2E:
		return r->value[TOP_CO2E];
	case COLUMN_TIME:
		return known_value(r->elapsed_s);
	default:
		return NAN;
	}
}

/* Writes V bytes, such as "999", "1.5K" or "12.3M", in powers of 1024. */
static void bytes_text(double v, char *buf)
{
	static const char units[] = "KMGTPE";
	size_t i = 0;

	if (v < 999.5) {
		(void)snprintf(buf, CELL_MAX, "%.0f", v);
		return;
	}
	for (v /= 1024; v >= 999.5 && units[i + 1]; v /= 1024)
		i++;
	(void)snprintf(buf, CELL_MAX, "%.*f%c", v < 9.95 ? 1 : 0, v, units[i]);
}

/* Writes a time, such as "12s", "4m05s", "2h03m" or "3d04h". */
static void time_text(double seconds, char *buf)
{
	const uint64_t s = round_u64(seconds);
	const uint64_t m = s / 60;

	if (s < 60)
		(void)snprintf(buf, CELL_MAX, "%" PRIu64 "s", s);
	else if (m < 60)
		(void)snprintf(buf, CELL_MAX, "%" PRIu64 "m%02" PRIu64 "s", m, s % 60);
	else if (m < 1440)
		(void)snprintf(buf, CELL_MAX, "%" PRIu64 "h%02" PRIu64 "m", m / 60, m % 60);
	else
		(void)snprintf(buf, CELL_MAX, "%" PRIu64 "d%02" PRIu64 "h", m / 1440, m / 60 % 24);
}

static void number_text(enum column_id id, double v, char *buf)
{
	char text[SCREEN_TEXT_MAX];

	switch (id) {
	case COLUMN_POWER:
		(void)snprintf(buf, CELL_MAX, "%s", screen_watts(v, text));
		break;
	case COLUMN_IDLE:
	case COLUMN_CPU:
	case COLUMN_MEM:
	case COLUMN_GPU:
		(void)snprintf(buf, CELL_MAX, "%s", screen_share(v, text));
		break;
	case COLUMN_MEMORY:
	case COLUMN_READ:
	case COLUMN_WRITE:
	case COLUMN_RECEIVED:
	case COLUMN_SENT:
		bytes_text(v, buf);
		break;
	case COLUMN_ENERGY:
		(void)snprintf(buf, CELL_MAX, "%s", screen_wh(round_u64(v * 1e6), text));
		break;
	case COLUMN_CO2E:
		(void)metric_text_value(UNIT_NG, round_u64(v * 1e9), buf, CELL_MAX);
		break;
	case COLUMN_TIME:
		time_text(v, buf);
		break;
	default:
		(void)snprintf(buf, CELL_MAX, "%.0f", v);
		break;
	}
}

static bool has_value(const struct top_row *r, enum column_id id)
{
	const char *text = row_text(r, id);

	return text ? *text != '\0' : !isnan(row_number(r, id));
}

/* --- order ------------------------------------------------------------------------------------- */

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
	return !*filter || contains(r->id, filter) || contains(r->name, filter) || contains(r->user, filter) ||
	       contains(r->account, filter) || contains(r->partition, filter) || contains(r->nodes, filter);
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
	const char *text = row_text(a->row, sort->id);
	double v = row_number(a->row, sort->id);
	double w = row_number(b->row, sort->id);
	int rc;

	if (sort->id == COLUMN_ID)
		rc = (a->row->job_id > b->row->job_id) - (a->row->job_id < b->row->job_id);
	else if (text)
		rc = strcasecmp(text, row_text(b->row, sort->id));
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
static void choose_columns(const struct top_frame *f, size_t screen, size_t width[COLUMN_N])
{
	static const enum column_id growing[] = { COLUMN_ID, COLUMN_NAME, COLUMN_NODELIST };
	size_t used = 0;
	unsigned int rank;
	size_t i, k;

	memset(width, 0, COLUMN_N * sizeof(*width));
	for (rank = 0; rank < COLUMN_N; rank++)
		for (i = 0; i < COLUMN_N; i++) {
			const struct top_column *c = &columns[i];
			size_t need = c->width + (used ? 1 : 0);

			if (c->rank != rank || (used && used + need > screen))
				continue;
			for (k = 0; k < f->n && !has_value(&f->row[k], c->id); k++)
				;
			if (k == f->n && c->id != COLUMN_ID && c->id != COLUMN_POWER)
				continue;
			width[i] = c->width;
			used += need;
		}
	if (width[COLUMN_ID] > screen)
		width[COLUMN_ID] = screen;
	/* columns with long texts get the rest of the screen's width */
	for (i = 0; used < screen && i < ARRAY_SIZE(growing); i++) {
		enum column_id id = growing[i];
		size_t most = width[id];

		for (k = 0; width[id] && k < f->n; k++) {
			char masked[TOP_TEXT_MAX];
			size_t need = text_columns(text_mask(row_text(&f->row[k], id), masked, sizeof(masked)));

			most = need > most ? need : most;
		}
		if (most - width[id] > screen - used)
			most = width[id] + screen - used;
		used += most - width[id];
		width[id] = most;
	}
}

const struct top_column *top_column_next(const struct top_frame *f, const struct top_view *v, int step)
{
	size_t at = (size_t)((v->sort ? v->sort : POWER)->id);
	size_t width[COLUMN_N];
	size_t i;

	choose_columns(f, v->width, width);
	for (i = 0; i < COLUMN_N; i++) {
		at = (at + (size_t)(COLUMN_N + step)) % COLUMN_N;
		if (width[at])
			return &columns[at];
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

static int _printf_(4, 5) add_text(struct top_lines *l, enum top_style style, size_t screen, const char *fmt, ...)
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
	(void)fprintf(out, "%s%*s%s%*s", *is_first ? "" : " ", c->is_left ? 0 : (int)blank, "", cell,
		      c->is_left ? (int)blank : 0, "");
	*is_first = false;
}

/* Adds the line of ROW. If ROW is NULL, adds the titles, with a mark at the column by which rows are sorted. */
static int add_row(struct top_lines *l, const struct top_frame *f, const struct top_view *v,
		   const size_t width[COLUMN_N], const struct top_row *row)
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
	for (i = 0; i < COLUMN_N; i++) {
		const struct top_column *c = &columns[i];
		char buf[CELL_MAX] = "n/a";

		if (!width[i])
			continue;
		if (!row) {
			const char *title = c->id == COLUMN_ID && f->id_title ? f->id_title : c->title;
			bool is_marked = c == sort && strlen(title) < width[i];

			(void)snprintf(buf, sizeof(buf), "%s%s%s", is_marked && !c->is_left ? "*" : "", title,
				       is_marked && c->is_left ? "*" : "");
		} else if (row_text(row, c->id)) {
			(void)snprintf(buf, sizeof(buf), "%s", row_text(row, c->id));
		} else if (!isnan(row_number(row, c->id))) {
			number_text(c->id, row_number(row, c->id), buf);
		}
		put_column(out, c, width[i], buf, &is_first);
	}
	rc = fclose(out) ? -ENOMEM : add_line(l, !row ? TOP_TITLES : is_selected ? TOP_SELECTED : TOP_PLAIN, v->width, text);
	free(text);
	return rc;
}

/* Adds a sum to the head line, unless VALUE is unknown or the text does not fit. */
static void _printf_(4, 5) add_sum(char *line, size_t screen, double value, const char *fmt, ...)
{
	size_t used = strlen(line);
	char part[CELL_MAX];
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
	double power = top_frame_sum(f, TOP_POWER), idle = top_frame_sum(f, TOP_IDLE), cpu = top_frame_sum(f, TOP_CPU);
	double gpu = top_frame_sum(f, TOP_GPU), in = top_frame_sum(f, TOP_READ), out = top_frame_sum(f, TOP_WRITE);
	double memory = top_frame_sum(f, TOP_MEMORY);
	char text[SCREEN_TEXT_MAX] = "n/a", bytes[CELL_MAX], of[32] = "", line[SUMS_MAX];
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
	bytes_text(isnan(memory) ? 0 : memory, bytes);
	add_sum(line, screen, memory, "  memory %s", bytes);
	add_sum(line, screen, gpus ? gpu : NAN, "  GPU %.1f of %" PRIu64, gpu, gpus);
	bytes_text(isnan(in) ? 0 : in, bytes);
	add_sum(line, screen, in, "  read %s/s", bytes);
	bytes_text(isnan(out) ? 0 : out, bytes);
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
	return add_text(l, TOP_KEYS, v->width, "q quit  h help  < > sort: %s%s  r reverse  / filter%s%s  Enter nodes",
			sort->name, v->reverse ? ", reversed" : "", *v->filter ? ": " : "", v->filter);
}

static int add_help(struct top_lines *l, const struct top_view *v)
{
	static const char *const help[] = {
		"q, ESC       quit; leave this help, or the nodes of a job",
		"up, down     mark a job; also PgUp, PgDn, Home, End",
		"Enter        the nodes of that job (needs Prometheus), and back",
		"<, >         sort by the column to the left or right",
		"P I C M G    sort by power, idle share, CPU, memory, GPU",
		"R W E O T    sort by reads, writes, energy, CO2e, run time",
		"J U N A      sort by job id, user, name, account",
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
		rc = add_line(l, TOP_PLAIN, v->width, help[i]);
	return rc;
}

size_t top_rows_shown(const struct top_frame *f, const struct top_view *v)
{
	size_t used = TITLE_LINE + (*f->note ? 1 : 0) + 2; /* 2: the titles and the last line */

	return v->height > used ? v->height - used : 0;
}

static int add_rows(struct top_lines *l, const struct top_frame *f, const struct top_view *v, const size_t *order,
		    size_t n)
{
	size_t most = v->height ? top_rows_shown(f, v) : n;
	size_t width[COLUMN_N];
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
