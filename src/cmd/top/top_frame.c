/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/top/top_column.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/librecord/exactjson.h"
#include "src/libutil/rfc3339.h"
#include "src/libutil/util.h"

void top_frame_free(struct top_frame *f)
{
	free(f->row);
	*f = (struct top_frame){ 0 };
}

struct top_row *top_frame_add(struct top_frame *f)
{
	unsigned int v;

	if (f->n == f->room) {
		size_t room = f->room ? 2 * f->room : 64;
		struct top_row *more = realloc(f->row, room * sizeof(*more));

		if (!more)
			return NULL;
		f->row = more;
		f->room = room;
	}
	f->row[f->n] = (struct top_row){ 0 };
	for (v = 0; v < TOP_N; v++)
		f->row[f->n].value[v] = NAN;
	return &f->row[f->n++];
}

double top_frame_sum(const struct top_frame *f, enum top_value value)
{
	bool is_mean = top_column_of(value)->is_part_of_power;
	double weight = 0, sum = 0;
	bool is_known = false;
	size_t i;

	for (i = 0; i < f->n; i++) {
		double w = is_mean ? f->row[i].value[TOP_POWER] : 1;
		double v = f->row[i].value[value];

		if (isnan(v) && is_mean && w > 0)
			return NAN; /* the mean would stand for a power of which it is not known */
		if (isnan(v) || isnan(w))
			continue;
		is_known = true;
		sum += w * v;
		weight += w;
	}
	if (!is_known)
		return NAN;
	return !is_mean ? sum : weight > 0 ? sum / weight : NAN;
}

static json_t *json_text(const char *text)
{
	return exactjson_of_text(*text ? text : NULL);
}

static json_t *json_count(uint64_t n)
{
	return n ? json_integer((json_int_t)n) : json_null();
}

static json_t *json_value(double v)
{
	/* large values, such as bytes, are written as integers, because reals get only six digits */
	if (isnan(v) || fabs(v) >= 0x1p63)
		return json_null();
	return fabs(v) >= 1e5 ? json_integer((json_int_t)llround(v)) : json_real(v);
}

static json_t *json_row(const struct top_row *r)
{
	json_t *o = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "id",
			      json_text(r->id), "name", json_text(r->name), "user", json_text(r->user),
			      "account", json_text(r->account), "partition", json_text(r->partition),
			      "nodelist", json_text(r->nodes), "nodes", json_count(r->nnodes), "cpus",
			      json_count(r->cpus), "gpus", json_count(r->gpus), "memory_allocated_bytes",
			      json_count(r->memory), "elapsed_s", json_count(r->elapsed_s));
	unsigned int v;

	for (v = 0; o && v < TOP_N; v++)
		(void)json_object_set_new(o, top_column_of((enum top_value)v)->json, json_value(r->value[v]));
	return o;
}

static json_t *json_sums(const struct top_frame *f)
{
	json_t *o = json_object();
	unsigned int v;

	for (v = 0; o && v < TOP_N; v++)
		(void)json_object_set_new(o, top_column_of((enum top_value)v)->json,
					  json_value(top_frame_sum(f, (enum top_value)v)));
	return o;
}

char *top_frame_json(const struct top_frame *f)
{
	json_t *rows = json_array();
	char time[RFC3339_SIZE];
	char *text = NULL;
	json_t *root;
	size_t i, len;

	for (i = 0; i < f->n; i++)
		if (json_array_append_new(rows, json_row(&f->row[i])) < 0) {
			json_decref(rows);
			return NULL;
		}
	rfc3339_utc(f->t, time);
	root = json_pack("{s:s, s:o, s:o, s:o, s:o, s:o}", "time", time, "what", json_text(f->what), "source",
			 json_text(f->source), "note", json_text(f->note), "total", json_sums(f), "rows",
			 rows);
	if (root)
		text = exactjson_dump(root, &len);
	json_decref(root);
	return text;
}
