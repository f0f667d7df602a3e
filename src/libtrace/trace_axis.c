/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libtrace/trace_axis.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/libutil/util.h"

static bool is_bytes(const struct trace_column *c)
{
	static const char suffix[] = "_bytes";
	const size_t len = strlen(c->name);

	if (c->metric < METRIC_N)
		return metric_table[c->metric].unit == UNIT_BYTES;
	return len >= sizeof(suffix) && !strcmp(c->name + len - (sizeof(suffix) - 1), suffix);
}

/* Rounds MAX up to the end of an axis: a number that is short, and whose half is. Bytes are binary. */
static double round_up(double max, bool is_binary)
{
	static const double decimal[] = { 1, 1.2, 1.6, 2, 3, 4, 5, 6, 8, 10 };
	static const double binary[] = { 1, 1.5, 2 };
	const double *step = is_binary ? binary : decimal;
	const size_t n = is_binary ? ARRAY_SIZE(binary) : ARRAY_SIZE(decimal);
	double unit;
	size_t i;

	if (!(max > 0))
		return 1;
	unit = is_binary ? exp2(floor(log2(max))) : pow(10, floor(log10(max)));
	for (i = 0; i + 1 < n && max > step[i] * unit * (1 + 1e-9); i++)
		;
	return step[i] * unit;
}

static bool has_mean(const struct trace_column *c)
{
	return c->kind == TRACE_RATE || c->kind == TRACE_LEVEL;
}

const char *trace_axis_mean_name(const struct trace_column *c)
{
	return has_mean(c) ? "mean" : "last";
}

bool trace_axis_make(const struct trace_grid *g, size_t column, struct trace_axis *ret)
{
	struct trace_axis a = { .column = &g->column[column] };
	double weighed = 0, time = 0, last = 0;
	size_t i;

	for (i = 0; i < g->nrows; i++) {
		const double v = g->value[i * g->ncolumns + column];
		const double dt = (double)(trace_grid_end(g, i) - trace_grid_begin(g, i));

		if (isnan(v))
			continue;
		a.max = time == 0 || v > a.max ? v : a.max;
		last = v;
		weighed += v * dt;
		time += dt;
	}
	if (time == 0)
		return false;
	a.mean = has_mean(a.column) ? weighed / time : last;
	a.top = round_up(a.max, is_bytes(a.column));
	*ret = a;
	return true;
}

/* Writes three digits, but no fraction behind a whole number. */
static void put_number(double v, const char *unit, char buf[TRACE_AXIS_TEXT])
{
	const int digits = fabs(v) >= 99.95 || fabs(v - round(v)) < 1e-6 ? 0 : fabs(v) >= 9.995 ? 1 : 2;

	(void)snprintf(buf, TRACE_AXIS_TEXT, "%.*f%s%s", digits, v, *unit ? " " : "", unit);
}

static void put_scaled(double v, double base, const char *const *prefix, size_t n, const char *unit,
		       char buf[TRACE_AXIS_TEXT])
{
	char name[16];
	size_t i = 0;

	while (i + 1 < n && fabs(v) >= base) {
		v /= base;
		i++;
	}
	(void)snprintf(name, sizeof(name), "%s%s", prefix[i], unit);
	put_number(v, name, buf);
}

static const char *unit_of(const struct trace_column *c)
{
	const bool is_rate = c->kind == TRACE_RATE;

	if (is_bytes(c))
		return is_rate ? "B/s" : "B";
	if (c->metric == METRIC_N)
		return "";
	return is_rate ? unit_table[metric_table[c->metric].unit].rate :
			 unit_table[metric_table[c->metric].unit].base;
}

const char *trace_axis_value(const struct trace_column *c, double value, char buf[TRACE_AXIS_TEXT])
{
	static const char *const binary[] = { "", "Ki", "Mi", "Gi", "Ti", "Pi" };
	static const char *const large[] = { "", "k", "M", "G", "T", "P" };
	static const char *const small[] = { "n", "u", "m" };
	const char *unit = unit_of(c);

	if (value == 0)
		put_number(value, "", buf);
	else if (!*unit && fabs(value) < 0.1)
		(void)snprintf(buf, TRACE_AXIS_TEXT, "%.2g", value);
	else if (is_bytes(c))
		put_scaled(value, 1024, binary, ARRAY_SIZE(binary), unit, buf);
	else if (*unit && fabs(value) < 1)
		put_scaled(value * 1e9, 1000, small, ARRAY_SIZE(small), unit, buf);
	else
		put_scaled(value, 1000, large, ARRAY_SIZE(large), unit, buf);
	return buf;
}

const char *trace_axis_time(double s, char buf[TRACE_AXIS_TEXT])
{
	const unsigned int minutes = (unsigned int)(s / 60 + 0.5);

	if (s <= 0)
		(void)snprintf(buf, TRACE_AXIS_TEXT, "0");
	else if (s < 1)
		(void)snprintf(buf, TRACE_AXIS_TEXT, "%.0f ms", s * 1000);
	else if (s < 120)
		(void)snprintf(buf, TRACE_AXIS_TEXT, "%.*f s", s == floor(s) ? 0 : 1, s);
	else if (minutes < 60)
		(void)snprintf(buf, TRACE_AXIS_TEXT, "%u min", minutes);
	else if (minutes % 60)
		(void)snprintf(buf, TRACE_AXIS_TEXT, "%u h %02u", minutes / 60, minutes % 60);
	else
		(void)snprintf(buf, TRACE_AXIS_TEXT, "%u h", minutes / 60);
	return buf;
}

double trace_axis_tick(double seconds, unsigned int n)
{
	static const double nice[] = { 0.01, 0.02, 0.05, 0.1,  0.2,   0.5,   1,	    2,
				       5,    10,   20,	 30,   60,    120,   300,   600,
				       900,  1800, 3600, 7200, 10800, 21600, 43200, 86400 };
	double tick;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(nice); i++)
		if (seconds / nice[i] <= n)
			return nice[i];
	for (tick = 2 * 86400; seconds / tick > n; tick *= 2)
		;
	return tick;
}

void trace_axis_title(const struct trace_column *c, char *buf, size_t size)
{
	if (c->metric == METRIC_CPU_TIME && c->kind == TRACE_RATE)
		(void)snprintf(buf, size, "CPUs in use");
	else if (!strcmp(c->name, "working_set_bytes"))
		(void)snprintf(buf, size, "memory, working set");
	else if (c->metric == METRIC_N)
		(void)snprintf(buf, size, "%s", c->name);
	else if (c->kind != TRACE_RATE || metric_table[c->metric].unit != UNIT_UJ)
		(void)snprintf(buf, size, "%s", metric_table[c->metric].label);
	else if (c->metric == METRIC_ENERGY)
		(void)snprintf(buf, size, "power");
	else
		(void)snprintf(buf, size, "%s as power", metric_table[c->metric].label);
}
