/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/advise/run_advice.h"

#include <errno.h>
#include <string.h>

#include "src/cmd/cells.h"
#include "src/librecord/exactjson.h"
#include "src/librecord/screen_text.h"
#include "src/libutil/rfc3339.h"
#include "src/libutil/text.h"
#include "src/libutil/util.h"

#define NAME_COLUMNS 40
#define SIZES_SHOWN 8

/* --- text -------------------------------------------------------------------------------------- */

/* Writes the size of a job, such as "4 CPUs" or "2 nodes, 64 CPUs, 8 GPUs". */
static void size_text(const struct run_size *s, char *buf, size_t size)
{
	char nodes[32] = "", gpus[32] = "";

	if (s->nodes > 1)
		(void)snprintf(nodes, sizeof(nodes), "%.0f nodes, ", s->nodes);
	if (s->gpus > 0)
		(void)snprintf(gpus, sizeof(gpus), ", %.0f GPU%s", s->gpus, s->gpus > 1 ? "s" : "");
	if (s->cpus < 0)
		(void)snprintf(buf, size, "%sn/a CPUs%s", nodes, gpus);
	else
		(void)snprintf(buf, size, "%s%.0f CPU%s%s", nodes, s->cpus, s->cpus > 1 ? "s" : "", gpus);
}

static void set_text(struct cell *cell, const char *text)
{
	*cell = (struct cell){ .kind = CELL_TEXT, .text = text };
}

static void set_value(struct cell *cell, enum run_value v, const struct run_spread *s, uint64_t value,
		      char *buf)
{
	*cell = (struct cell){ .kind = CELL_UNKNOWN };
	if (s->n)
		set_text(cell, run_value_text(v, value, buf));
}

static int print_cells(struct cells *cells, int rc, FILE *out)
{
	if (rc == 0)
		rc = cells_print(cells, out, /* header= */ true);
	cells_destroy(cells);
	return rc;
}

static int print_values(const struct run_advice *a, FILE *out)
{
	static const struct cells_column columns[] = {
		{ .title = "", .width = 16, .is_left = true },
		{ .title = "median", .width = 10 },
		{ .title = "90 %", .width = 10 },
		{ .title = "most", .width = 10 },
		{ .title = "runs", .width = 5 },
		{ .title = "", .width = 26, .is_left = true },
	};
	struct cells *cells = cells_create(columns, ARRAY_SIZE(columns), CELLS_TABLE, /* top= */ 0);
	unsigned int v;
	int rc = cells ? 0 : -ENOMEM;

	for (v = 0; rc == 0 && v < RUN_N; v++) {
		const struct run_spread *s = &a->of.spread[v];
		char buf[4][SCREEN_TEXT_MAX];
		struct cell cell[ARRAY_SIZE(columns)];

		if (v == RUN_GPU && !s->n)
			continue;
		set_text(&cell[0], run_value_table[v].label);
		set_value(&cell[1], v, s, s->median, buf[0]);
		set_value(&cell[2], v, s, s->p90, buf[1]);
		set_value(&cell[3], v, s, s->max, buf[2]);
		(void)snprintf(buf[3], sizeof(buf[3]), "%zu", s->n);
		set_text(&cell[4], buf[3]);
		set_text(&cell[5], a->type[v]);
		rc = cells_add(cells, 0, cell);
	}
	return print_cells(cells, rc, out);
}

static int print_sizes(const struct run_advice *a, FILE *out)
{
	static const struct cells_column columns[] = {
		{ .title = "medians", .width = 26, .is_left = true },
		{ .title = "runs", .width = 5 },
		{ .title = "run time", .width = 10 },
		{ .title = "CPUs busy", .width = 9 },
		{ .title = "energy", .width = 9 },
		{ .title = "", .width = 12, .is_left = true },
	};
	struct cells *cells = cells_create(columns, ARRAY_SIZE(columns), CELLS_TABLE, /* top= */ 0);
	int rc = cells ? 0 : -ENOMEM;
	size_t i;

	for (i = 0; rc == 0 && i < a->nsizes && i < SIZES_SHOWN; i++) {
		const struct run_spread *s = a->size[i].spread;
		char size[64], n[24], buf[3][SCREEN_TEXT_MAX];
		struct cell cell[ARRAY_SIZE(columns)];

		size_text(&a->size[i], size, sizeof(size));
		(void)snprintf(n, sizeof(n), "%zu", a->size[i].n);
		set_text(&cell[0], size);
		set_text(&cell[1], n);
		set_value(&cell[2], RUN_ELAPSED, &s[RUN_ELAPSED], s[RUN_ELAPSED].median, buf[0]);
		set_value(&cell[3], RUN_CPUS, &s[RUN_CPUS], s[RUN_CPUS].median, buf[1]);
		set_value(&cell[4], RUN_ENERGY, &s[RUN_ENERGY], s[RUN_ENERGY].median, buf[2]);
		set_text(&cell[5], &a->size[i] == a->least ? "least energy" : "");
		rc = cells_add(cells, 0, cell);
	}
	if (rc == 0)
		(void)fputc('\n', out);
	rc = print_cells(cells, rc, out);
	if (rc == 0 && a->nsizes > SIZES_SHOWN)
		(void)fprintf(out, "and %zu other sizes\n", a->nsizes - SIZES_SHOWN);
	return rc;
}

static void print_head(const char *name, const struct run_advice *a, uint64_t now, FILE *out)
{
	char cell[4 * NAME_COLUMNS + 1], from[SCREEN_TEXT_MAX], to[SCREEN_TEXT_MAX];
	char state[sizeof(a->states[0].name)];
	size_t i, len;

	(void)text_cell(name, NAME_COLUMNS, cell, sizeof(cell));
	for (len = strlen(cell); len && cell[len - 1] == ' '; len--)
		cell[len - 1] = '\0';
	(void)fprintf(out, "%s: %zu run%s", cell, a->runs, a->runs == 1 ? "" : "s");
	if (a->runs)
		(void)fprintf(out, ", %s to %s", screen_date(a->first_start, now, from),
			      screen_date(a->last_end, now, to));
	(void)fputc('\n', out);
	for (i = 0; i < a->nstates; i++)
		(void)fprintf(out, "%s%zu %s", i ? ", " : "", a->states[i].n,
			      text_mask(a->states[i].name, state, sizeof(state)));
	if (a->nstates)
		(void)fputc('\n', out);
}

int run_advice_print(const char *name, const struct run_advice *a, uint64_t now, FILE *out)
{
	char size[64];
	int rc;

	print_head(name, a, now, out);
	if (!a->is_enough) {
		(void)fprintf(out, "not enough runs: %zu completed, %d are needed\n", a->completed,
			      RUN_HISTORY_ENOUGH);
		return 0;
	}
	size_text(&a->of, size, sizeof(size));
	(void)fprintf(out, "\n%zu completed with %s:\n", a->of.n,
		      a->is_all_sizes ? "any number of CPUs" : size);
	rc = print_values(a, out);
	if (rc == 0 && a->nsizes > 1)
		rc = print_sizes(a, out);
	return rc;
}

/* --- JSON -------------------------------------------------------------------------------------- */

static json_t *json_time(uint64_t t)
{
	char buf[RFC3339_SIZE];

	if (!t)
		return json_null();
	rfc3339_utc(t, buf);
	return json_string(buf);
}

static json_t *json_count(double n)
{
	return n < 0 ? json_null() : json_integer((json_int_t)n);
}

static json_t *json_value(enum run_value v, const struct run_spread *s, uint64_t value)
{
	return s->n ? exactjson_decimal(value, run_value_table[v].scale) : json_null();
}

static json_t *json_spread(const struct run_advice *a, enum run_value v)
{
	const struct run_spread *s = &a->of.spread[v];

	return json_pack("{s:I, s:o, s:o, s:o, s:o}", "runs", (json_int_t)s->n, "median",
			 json_value(v, s, s->median), "p90", json_value(v, s, s->p90), "max",
			 json_value(v, s, s->max), "next",
			 *a->type[v] ? json_string(a->type[v]) : json_null());
}

static json_t *json_values(const struct run_advice *a)
{
	json_t *object = json_object();
	unsigned int v;

	for (v = 0; object && v < RUN_N; v++)
		if (json_object_set_new(object, run_value_table[v].key, json_spread(a, v)) < 0) {
			json_decref(object);
			return NULL;
		}
	return object;
}

static json_t *json_size(const struct run_size *s, bool is_least)
{
	const struct run_spread *spread = s->spread;

	return json_pack("{s:o, s:o, s:o, s:I, s:o, s:o, s:o, s:b}", "nodes", json_count(s->nodes), "cpus",
			 json_count(s->cpus), "gpus", json_count(s->gpus), "runs", (json_int_t)s->n,
			 "elapsed_s",
			 json_value(RUN_ELAPSED, &spread[RUN_ELAPSED], spread[RUN_ELAPSED].median),
			 "energy_j", json_value(RUN_ENERGY, &spread[RUN_ENERGY], spread[RUN_ENERGY].median),
			 "co2e_g", json_value(RUN_CO2E, &spread[RUN_CO2E], spread[RUN_CO2E].median),
			 "least_energy", is_least);
}

static json_t *json_sizes(const struct run_advice *a)
{
	json_t *array = json_array();
	size_t i;

	for (i = 0; array && i < a->nsizes; i++)
		if (json_array_append_new(array, json_size(&a->size[i], &a->size[i] == a->least)) < 0) {
			json_decref(array);
			return NULL;
		}
	return array;
}

static json_t *json_of(const struct run_advice *a)
{
	if (!a->is_enough || a->is_all_sizes)
		return json_null();
	return json_pack("{s:o, s:o, s:o}", "nodes", json_count(a->of.nodes), "cpus", json_count(a->of.cpus),
			 "gpus", json_count(a->of.gpus));
}

char *run_advice_json(const char *name, const struct run_advice *a)
{
	json_t *object = json_pack("{s:o, s:I, s:I, s:o, s:o, s:b, s:o, s:o, s:o}", "name",
				   exactjson_of_text(name), "runs", (json_int_t)a->runs, "completed",
				   (json_int_t)a->completed, "first_start", json_time(a->first_start),
				   "last_end", json_time(a->last_end), "enough", (int)a->is_enough, "of",
				   json_of(a), "values", a->is_enough ? json_values(a) : json_null(), "sizes",
				   json_sizes(a));
	char *text = NULL;
	size_t len;

	if (object)
		text = exactjson_dump(object, &len);
	json_decref(object);
	return text;
}
