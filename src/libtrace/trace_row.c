/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libtrace/trace_row.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "src/libcore/perf_request.h"
#include "src/libutil/clock.h"
#include "src/libutil/rfc3339.h"
#include "src/libutil/text.h"
#include "src/libutil/util.h"

/* --- which columns ------------------------------------------------------------------------ */

static bool is_asked(enum metric_demand demand, uint32_t groups)
{
	switch (demand) {
	case DEMAND_IO:
		return groups & PERF_GROUP_IO;
	case DEMAND_NET:
		return groups & PERF_GROUP_NET;
	case DEMAND_HW:
		return groups & (PERF_GROUP_HW | PERF_GROUP_SW);
	default:
		return true;
	}
}

/*
 * Whether M belongs into a trace. Which sensor or factor was used does not: sacct has it when the
 * step has ended.
 */
static bool is_of_interest(enum metric m)
{
	switch (metric_table[m].kind) {
	case KIND_ENERGY:
		return m != METRIC_BY_COUNTERS && m != METRIC_SENSOR_LAG && m != METRIC_ENERGY_DOUBT &&
		       m != METRIC_IDLE_UNKNOWN;
	case KIND_EMISSIONS:
		return m == METRIC_CO2E;
	case KIND_USAGE: /* the trace has their present value instead */
		return m != METRIC_MEMORY_TIME && m != METRIC_CACHE_TIME;
	default:
		return false;
	}
}

void trace_row_init(struct trace_row *r, const struct trace_start *start)
{
	unsigned int m;

	memset(r, 0, sizeof(*r));
	r->start = *start;
	metric_foreach(m) {
		const struct metric_info *info = &metric_table[m];

		r->is_column[m] = is_of_interest((enum metric)m) && is_asked(info->demand, start->groups) &&
				  (start->has_gpus || strcmp(info->group, "gpu") != 0);
	}
}

void trace_row_column(enum metric m, char name[TRACE_COLUMN_MAX])
{
	(void)snprintf(name, TRACE_COLUMN_MAX, "%s%s", metric_table[m].name,
		       unit_table[metric_table[m].unit].suffix);
}

/* Name of an energy's rate: the rate of "cpu_energy_static" is "cpu_power_static_w". */
static void power_name(const char *name, char ret[TRACE_COLUMN_MAX])
{
	static const char energy[] = "energy";
	const char *at = strstr(name, energy);
	const int before = at ? (int)(at - name) : 0;

	(void)snprintf(ret, TRACE_COLUMN_MAX, "%.*spower%s_w", before, name,
		       at ? at + sizeof(energy) - 1 : "");
}

void trace_row_rate(enum metric m, char name[TRACE_COLUMN_MAX])
{
	if (metric_table[m].fold != FOLD_SUM)
		name[0] = '\0';
	else if (metric_table[m].unit == UNIT_UJ)
		power_name(metric_table[m].name, name);
	else
		(void)snprintf(name, TRACE_COLUMN_MAX, "%s%s_per_s", metric_table[m].name,
			       unit_table[metric_table[m].unit].suffix);
}

/* --- text --------------------------------------------------------------------------------- */

struct row_text {
	char *buf;
	size_t used;
};

/* Appends text. Every row fits: the length of its fields is bounded. */
static void _printf_(2, 3) row_put(struct row_text *t, const char *fmt, ...)
{
	size_t room = TRACE_ROW_MAX - t->used;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->buf + t->used, room, fmt, ap);
	va_end(ap);
	if (n > 0)
		t->used += (size_t)n < room ? (size_t)n : room - 1;
}

/* Cuts zeros at the end, "1.500000" to "1.5", because a file has millions of rows. */
static void row_cut_zeros(struct row_text *t)
{
	while (t->buf[t->used - 1] == '0')
		t->used--;
	if (t->buf[t->used - 1] == '.')
		t->used--;
	t->buf[t->used] = '\0';
}

/* Writes VALUE in the base unit; the scale is a power of ten. */
static void row_put_value(struct row_text *t, const struct unit_info *unit, uint64_t value)
{
	uint64_t rest;
	int digits = 0;

	for (rest = unit->scale; rest > 1; rest /= 10)
		digits++;
	row_put(t, "%" PRIu64, value / unit->scale);
	if (!digits)
		return;
	row_put(t, ".%0*" PRIu64, digits, value % unit->scale);
	row_cut_zeros(t);
}

/* Writes DELTA / DT_NS as a rate per second, in the base unit. */
static void row_put_rate(struct row_text *t, const struct unit_info *unit, uint64_t delta, uint64_t dt_ns)
{
	double per_s = (double)delta * (double)NSEC_PER_SEC / (double)dt_ns;

	row_put(t, "%.*f", unit->rate_digits, per_s / (double)unit->scale);
	row_cut_zeros(t);
}

static void row_put_time(struct row_text *t, uint64_t wall_ns)
{
	char text[RFC3339_SIZE];

	rfc3339_utc(wall_ns / NSEC_PER_SEC, text);
	row_put(t, "%.19s.%06" PRIu64 "Z", text, wall_ns % NSEC_PER_SEC / 1000);
}

/* --- lines -------------------------------------------------------------------------------- */

size_t trace_row_header(const struct trace_row *r, char *buf)
{
	struct row_text t = { .buf = buf };
	char name[TRACE_COLUMN_MAX];
	unsigned int m;

	row_put(&t, TRACE_COLUMN_NODE "," TRACE_COLUMN_TIME "," TRACE_COLUMN_MONO "," TRACE_COLUMN_EVENT
				      "," TRACE_COLUMN_DROPPED "," TRACE_COLUMN_MISSED
				      ",working_set_bytes,page_cache_bytes");
	metric_foreach(m) {
		if (!r->is_column[m])
			continue;
		trace_row_column((enum metric)m, name);
		row_put(&t, ",%s", name);
		trace_row_rate((enum metric)m, name);
		if (*name)
			row_put(&t, ",%s", name);
	}
	row_put(&t, "\r\n");
	return t.used;
}

static void row_put_known(struct row_text *t, uint64_t value)
{
	row_put(t, ",");
	if (value != TRACE_UNKNOWN)
		row_put(t, "%" PRIu64, value);
}

static void row_put_head(struct row_text *t, const struct trace_row *r, uint64_t mono_ns, uint64_t wall_ns,
			 const char *event, const struct trace_sample *s)
{
	char node[TEXT_CSV_SIZE(sizeof(r->start.node))];

	row_put(t, "%s,", text_csv(r->start.node, node, sizeof(node)));
	row_put_time(t, wall_ns);
	row_put(t, ",%" PRIu64 ".%09" PRIu64 ",%s,%" PRIu32 ",%" PRIu64, mono_ns / NSEC_PER_SEC,
		mono_ns % NSEC_PER_SEC, event, s->dropped, s->missed);
}

static void row_put_empty(struct row_text *t, enum metric m)
{
	row_put(t, metric_table[m].fold == FOLD_SUM ? ",," : ",");
}

/* Only energy and emissions are known to be 0 when the step begins. */
size_t trace_row_begin(struct trace_row *r, const struct trace_sample *s, char *buf)
{
	struct row_text t = { .buf = buf };
	unsigned int m;

	row_put_head(&t, r, r->start.mono_ns, r->start.wall_ns, TRACE_EVENT_START, s);
	row_put(&t, ",,");
	metric_foreach(m) {
		enum metric_kind kind = metric_table[m].kind;

		if (!r->is_column[m])
			continue;
		r->has_last[m] = values_has(&s->values, (enum metric)m) &&
				 (kind == KIND_ENERGY || kind == KIND_EMISSIONS);
		r->last[m] = 0;
		r->last_ns[m] = r->start.mono_ns;
		if (r->has_last[m])
			row_put(&t, ",0,");
		else
			row_put_empty(&t, (enum metric)m);
	}
	row_put(&t, "\r\n");
	return t.used;
}

static void row_put_metric(struct row_text *t, struct trace_row *r, enum metric m,
			   const struct trace_sample *s)
{
	const struct metric_info *info = &metric_table[m];
	uint64_t value = s->values.value[m];

	row_put(t, ",");
	row_put_value(t, &unit_table[info->unit], value);
	if (info->fold != FOLD_SUM)
		return;
	row_put(t, ",");
	if (r->has_last[m] && value >= r->last[m] && s->mono_ns > r->last_ns[m])
		row_put_rate(t, &unit_table[info->unit], value - r->last[m], s->mono_ns - r->last_ns[m]);
	r->has_last[m] = true;
	r->last[m] = value;
	r->last_ns[m] = s->mono_ns;
}

size_t trace_row_put(struct trace_row *r, const struct trace_sample *s, const char *event, char *buf)
{
	struct row_text t = { .buf = buf };
	unsigned int m;

	row_put_head(&t, r, s->mono_ns, s->wall_ns, event, s);
	row_put_known(&t, s->held_bytes);
	row_put_known(&t, s->cache_bytes);
	metric_foreach(m) {
		if (!r->is_column[m])
			continue;
		if (values_has(&s->values, (enum metric)m))
			row_put_metric(&t, r, (enum metric)m, s);
		else
			row_put_empty(&t, (enum metric)m);
	}
	row_put(&t, "\r\n");
	return t.used;
}
