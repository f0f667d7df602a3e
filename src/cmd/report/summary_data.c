/* SPDX-License-Identifier: GPL-2.0-or-later */
/* summary_data.c - writes a summary for programs: a row per sum, as CSV or JSON. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "src/cmd/report/summary_table.h"
#include "src/librecord/exactjson.h"
#include "src/libutil/rfc3339.h"
#include "src/libutil/round.h"

/* Columns: the section, the cells of a sum, and those columns of the report's tables that have a key. */
enum { CELL_SECTION, CELL_SUM, CELL_TABLE = CELL_SUM + SUM_N, CELLS_MAX = CELL_TABLE + SUMMARY_COLUMNS };

struct rows {
	const struct summary *s;
	struct cells *cells;
	struct cells_column column[CELLS_MAX];
	const struct summary_column *of[SUMMARY_COLUMNS]; /* for each column from CELL_TABLE on */
	size_t n;
	struct cell cell[CELLS_MAX];
	int rc;
};

static struct cell text_cell_of(const char *text)
{
	return (struct cell){ .kind = *text ? CELL_TEXT : CELL_UNKNOWN, .text = text };
}

static void rows_init(struct rows *r, const struct summary *s, enum cells_format format)
{
	size_t i, k;

	memset(r, 0, sizeof(*r));
	r->s = s;
	r->column[CELL_SECTION] = (struct cells_column){ .key = "section", .width = 1 };
	jobs_sum_columns(JOBS_BY_NONE, &r->column[CELL_SUM]);
	for (i = 0; i < SUMMARY_TABLES; i++)
		for (k = 0; k < summary_table[i].n; k++) {
			const struct summary_column *c = &summary_table[i].column[k];

			if (!c->key)
				continue;
			r->column[CELL_TABLE + r->n] = (struct cells_column){ .key = c->key, .width = 1 };
			r->of[r->n++] = c;
		}
	r->cells = cells_create(r->column, CELL_TABLE + r->n, format, 0);
	r->rc = r->cells ? 0 : -ENOMEM;
}

static void rows_add(struct rows *r, const char *section, const struct summary_row *row)
{
	size_t i;

	for (i = 0; i < r->n; i++) {
		r->cell[CELL_TABLE + i] = (struct cell){ .kind = CELL_UNKNOWN };
		r->of[i]->set(&r->cell[CELL_TABLE + i], row);
	}
	r->cell[CELL_SECTION] = text_cell_of(section);
	if (r->rc == 0)
		r->rc = cells_add(r->cells, 0, r->cell);
}

static void add_sum(struct rows *r, const char *section, const char *key, const struct jobs_sum *sum,
		    size_t rank)
{
	struct summary_row row;

	jobs_sum_cells(key, sum, &r->cell[CELL_SUM]);
	summary_row_init(&row, r->s, key, sum, /* is_day= */ false);
	row.place = rank;
	rows_add(r, section, &row);
}

/* Adds a row that has only a sum's jobs, energy and emissions. */
static void add_part(struct rows *r, const char *section, const char *key, const struct summary_row *row)
{
	struct jobs_sum part = { .jobs = row->jobs,
				 .energy_uj = round_u64(row->uj),
				 .energy_n = row->has_energy,
				 .co2e_ng = round_u64(row->ng),
				 .co2e_n = row->has_energy && round_u64(row->ng) };
	struct cell cell[SUM_N];

	jobs_sum_cells(key, &part, cell);
	memset(r->cell, 0, sizeof(r->cell));
	r->cell[CELL_SUM + SUM_KEY] = cell[SUM_KEY];
	r->cell[CELL_SUM + SUM_JOBS] = cell[SUM_JOBS];
	r->cell[CELL_SUM + SUM_ENERGY] = cell[SUM_ENERGY];
	r->cell[CELL_SUM + SUM_CO2E] = cell[SUM_CO2E];
	rows_add(r, section, row);
}

static void add_groups(struct rows *r, const char *section, const struct jobs_groups *groups)
{
	const struct jobs_group **sorted = summary_sorted(groups);
	size_t i;

	r->rc = sorted ? r->rc : -ENOMEM;
	for (i = 0; sorted && i < groups->n; i++)
		add_sum(r, section, sorted[i]->key, &sorted[i]->sum, sorted[i]->sum.energy_n ? i + 1 : 0);
	free(sorted);
}

static void add_days(struct rows *r, const struct summary *s)
{
	unsigned int n = period_days(&s->period);
	char day[16];
	unsigned int i;

	for (i = 0; i < n; i++) {
		time_t when = (time_t)period_day(&s->period, i);
		struct tm tm = { 0 };

		if ((uint64_t)when >= s->now)
			break; /* the day has not begun */
		if (localtime_r(&when, &tm) && strftime(day, sizeof(day), "%Y-%m-%d", &tm))
			add_sum(r, "day", day, &s->day[i], 0);
	}
}

static void add_waste(struct rows *r)
{
	struct summary_row row;
	unsigned int w;

	for (w = 0; w < WASTE_N; w++) {
		summary_row_cause(&row, r->s, (enum jobs_waste)w);
		add_part(r, "waste", jobs_waste_table[w].name, &row);
	}
}

static void add_methods(struct rows *r)
{
	struct summary_row row;
	unsigned int q;

	for (q = 0; q < JOBS_QUALITY_N; q++) {
		summary_row_method(&row, r->s, (enum jobs_quality)q);
		add_part(r, "method", jobs_quality_table[q].name, &row);
	}
}

static int print_rows(const struct summary *s, enum cells_format format, FILE *out)
{
	char name[PERIOD_TEXT_MAX], before[PERIOD_TEXT_MAX], section[32];
	struct rows r;

	rows_init(&r, s, format);
	add_sum(&r, "total", period_name(&s->period, name), &s->sum, 0);
	if (!s->lacks_before)
		add_sum(&r, "before", period_name(&s->before, before), &s->sum_before, 0);
	add_days(&r, s);
	add_waste(&r);
	add_methods(&r);
	add_groups(&r, jobs_group_name(s->by), &s->groups);
	(void)snprintf(section, sizeof(section), "%s_before", jobs_group_name(s->by));
	add_groups(&r, section, &s->groups_before);
	if (r.rc == 0)
		r.rc = cells_print(r.cells, out, /* header= */ true);
	cells_destroy(r.cells);
	return r.rc;
}

int summary_print_csv(const struct summary *s, FILE *out)
{
	return print_rows(s, CELLS_CSV, out);
}

/* Writes a member of a JSON object: ,"NAME":"TEXT". */
static int put_text(FILE *out, const char *name, const char *text)
{
	_cleanup_free_ char *json = NULL;
	json_t *v = exactjson_of_text(text);
	size_t len;

	if (v)
		json = exactjson_dump(v, &len);
	json_decref(v);
	if (!json)
		return -ENOMEM;
	(void)fprintf(out, ",\n\"%s\":%s", name, json);
	return 0;
}

static int put_names(FILE *out, const char *name, const struct summary_names *names)
{
	char text[SUMMARY_NAMES * (SUMMARY_NAME_MAX + 2)] = "";
	size_t used = 0;
	size_t i;

	for (i = 0; i < names->n; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", i ? " | " : "",
					 names->text[i]);
	return put_text(out, name, used ? text : NULL);
}

static void put_number(FILE *out, const char *name, size_t n)
{
	if (n)
		(void)fprintf(out, "\"%s\":%zu,", name, n);
	else
		(void)fprintf(out, "\"%s\":null,", name);
}

/* Writes the member "place" of a JSON object: ,"place":{...}. */
static int put_place(FILE *out, const struct summary_place *p)
{
	if (!p)
		return 0;
	fputs(",\n\"place\":{", out);
	put_number(out, "energy", p->energy);
	put_number(out, "energy_of", p->energy_of);
	put_number(out, "wasted", p->wasted);
	put_number(out, "wasted_of", p->wasted_of);
	(void)fprintf(out, "\"is_known\":%s}", p->energy ? "true" : "false");
	return put_text(out, "place_unknown", p->why);
}

int summary_print_json(const struct summary *s, FILE *out)
{
	char name[PERIOD_TEXT_MAX], from[RFC3339_SIZE], to[RFC3339_SIZE], made[RFC3339_SIZE];

	rfc3339_utc(s->period.from, from);
	rfc3339_utc(s->period.to, to);
	rfc3339_utc(s->now, made);
	(void)fprintf(out,
		      "{\"schema\":\"" SUMMARY_SCHEMA
		      "\",\"period\":\"%s\",\"from\":\"%s\",\"to\":\"%s\",\"made\":\"%s\","
		      "\"is_over\":%s,\"by\":\"%s\"",
		      period_name(&s->period, name), from, to, made, summary_is_over(s) ? "true" : "false",
		      jobs_group_name(s->by));
	if (put_text(out, "cluster", s->cluster) < 0 || put_text(out, "whose", s->whose) < 0 ||
	    put_names(out, "energy_sources", &s->sources) < 0 || put_names(out, "factors", &s->factors) < 0 ||
	    put_place(out, s->place) < 0)
		return -ENOMEM;
	fputs(",\n\"rows\":", out);
	if (print_rows(s, CELLS_JSON, out) < 0)
		return -ENOMEM;
	fputs("}\n", out);
	return 0;
}
