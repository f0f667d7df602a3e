/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/top/top_column.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "src/libcore/metric_text.h"
#include "src/libcore/unit.h"
#include "src/librecord/screen_text.h"
#include "src/libutil/round.h"

#define KIB 1024.0

/* --- setters ----------------------------------------------------------------------------------- */

static double known_value(uint64_t n)
{
	return n ? (double)n : NAN;
}

static double set_nodes(const struct top_row *r)
{
	return known_value(r->nnodes);
}

static double set_cpus(const struct top_row *r)
{
	return known_value(r->cpus);
}

static double set_time(const struct top_row *r)
{
	return known_value(r->elapsed_s);
}

static double set_cpu_share(const struct top_row *r)
{
	return r->value[TOP_CPU] / known_value(r->cpus);
}

static double set_memory_share(const struct top_row *r)
{
	return r->value[TOP_MEMORY] / known_value(r->memory);
}

static double set_gpu_share(const struct top_row *r)
{
	return r->value[TOP_GPU] / known_value(r->gpus);
}

/* --- texts of numbers -------------------------------------------------------------------------- */

static void show_count(double v, char *buf)
{
	(void)snprintf(buf, TOP_CELL_MAX, "%.0f", v);
}

static void show_watts(double v, char *buf)
{
	(void)screen_watts(v, buf);
}

static void show_share(double v, char *buf)
{
	(void)screen_share(v, buf);
}

static void show_joules(double v, char *buf)
{
	(void)screen_wh(round_u64(v * 1e6), buf);
}

static void show_grams(double v, char *buf)
{
	(void)metric_text_value(UNIT_NG, round_u64(v * 1e9), buf, TOP_CELL_MAX);
}

void top_show_bytes(double v, char *buf)
{
	static const char units[] = "KMGTPE";
	size_t i = 0;

	if (v < 999.5) {
		(void)snprintf(buf, TOP_CELL_MAX, "%.0f", v);
		return;
	}
	for (v /= 1024; v >= 999.5 && units[i + 1]; v /= 1024)
		i++;
	(void)snprintf(buf, TOP_CELL_MAX, "%.*f%c", v < 9.95 ? 1 : 0, v, units[i]);
}

/* Writes a time, such as "12s", "4m05s", "2h03m" or "3d04h". */
static void show_time(double seconds, char *buf)
{
	const uint64_t s = round_u64(seconds);
	const uint64_t m = s / 60;

	if (s < 60)
		(void)snprintf(buf, TOP_CELL_MAX, "%" PRIu64 "s", s);
	else if (m < 60)
		(void)snprintf(buf, TOP_CELL_MAX, "%" PRIu64 "m%02" PRIu64 "s", m, s % 60);
	else if (m < 1440)
		(void)snprintf(buf, TOP_CELL_MAX, "%" PRIu64 "h%02" PRIu64 "m", m / 60, m % 60);
	else
		(void)snprintf(buf, TOP_CELL_MAX, "%" PRIu64 "d%02" PRIu64 "h", m / 1440, m / 60 % 24);
}

_Static_assert(TOP_CELL_MAX >= SCREEN_TEXT_MAX, "a text of the screen fits");

/* --- the table --------------------------------------------------------------------------------- */

#define LEFT TOP_LEFT
#define GROWS TOP_GROWS
#define ALWAYS TOP_ALWAYS
#define TEXT(member) .text = offsetof(struct top_row, member)
#define RATE(m) .from = TOP_FROM_RATE, .metric = METRIC_##m
#define TOTAL(m) .from = TOP_FROM_TOTAL, .metric = METRIC_##m

const struct top_column top_column_table[TOP_COLUMN_N] = {
#define HEAD(t, n, k, h, w, r, ...) \
	.title = t, .name = n, .key = k, .help = h, .width = w, .rank = r, __VA_ARGS__
#define COLUMN(id, ...) { .value = TOP_N, HEAD(__VA_ARGS__) },
#define VALUE(id, ...) { .value = TOP_##id, HEAD(__VA_ARGS__) },
#include "src/cmd/top/top_column.def"
};

const struct top_column *top_column_of(enum top_value value)
{
	static const enum top_column_id of[TOP_N] = {
#define COLUMN(id, ...)
#define VALUE(id, ...) [TOP_##id] = TOP_COLUMN_##id,
#include "src/cmd/top/top_column.def"
	};

	return &top_column_table[of[value]];
}

double top_column_unit(const struct top_column *c)
{
	return c->unit > 0 ? c->unit : (double)unit_table[metric_table[c->metric].unit].scale;
}

const char *top_column_text(const struct top_column *c, const struct top_row *r)
{
	return c->text ? (const char *)r + c->text : NULL;
}

double top_column_number(const struct top_column *c, const struct top_row *r)
{
	return c->text ? NAN : c->set ? c->set(r) : r->value[c->value];
}
