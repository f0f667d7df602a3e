/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libsink/sqlrow.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/libjob/utf8.h"
#include "src/libutil/clock.h"
#include "src/libutil/util.h"

#define CHUNK 65536
#define NUMBER_MAX 32 /* longest formatted value: 20 digits, a point, the NUL */

/* Columns before the metrics, in the order in which the functions below fill them. */
static const char *const job_columns[] = {
	"record_key", "cluster", "jobid", "sluid", "restart_count", "db_index", "array_job_id",
	"array_task_id", "het_job_id", "het_job_offset", "job_name", "username", "user_id",
	"groupname", "group_id", "account", "partition_name", "qos", "wckey", "reservation",
	"state", "submit_time", "eligible_time", "start_time", "end_time", "elapsed_s",
	"time_limit_s", "nodes", "total_nodes", "total_cpus", "submit_host", "work_dir", "comment",
	"priority", "exit_code", "exit_signal", "derived_exit_code", "tres_req", "tres_alloc",
	"energy_final", "energy_method", "energy_source", "factor_g_per_kwh", "factor_kind",
	"factor_region", "factor_source", "factor_year", "pue", "record",
};
static const char *const step_columns[] = {
	"record_key", "step_id", "step_name", "state", "nodes", "ntasks", "nnodes", "ncpus",
	"start_time", "end_time", "elapsed_s", "exit_code", "exit_signal", "user_cpu_s",
	"system_cpu_s", "max_rss_bytes", "cpu_time_max_s", "cpu_time_max_node", "energy_max_j",
	"energy_max_node",
};

static const struct {
	const char *name;
	const char *const *columns;
	size_t n;
	size_t nkeys; /* leading columns that are the primary key */
} tables[] = {
	[SQLROW_JOB] = { "job", job_columns, ARRAY_SIZE(job_columns), 1 },
	[SQLROW_STEP] = { "step", step_columns, ARRAY_SIZE(step_columns), 2 },
};

size_t sqlrow_ncols(enum sqlrow_table t)
{
	return tables[t].n + METRIC_N;
}

void sqlrow_column(enum sqlrow_table t, size_t i, char *ret, size_t size)
{
	static const char *const suffix[] = {
		[UNIT_UJ] = "_j", [UNIT_NG] = "_g", [UNIT_NS] = "_s",
		[UNIT_BYTES] = "", [UNIT_COUNT] = "",
	};

	if (i < tables[t].n)
		(void)snprintf(ret, size, "%s", tables[t].columns[i]);
	else
		(void)snprintf(ret, size, "%s%s", metric_table[i - tables[t].n].name,
			       suffix[metric_table[i - tables[t].n].unit]);
}

char *sqlrow_upsert(enum sqlrow_table t)
{
	size_t n = sqlrow_ncols(t);
	char *sql = NULL;
	char name[64];
	size_t len;
	size_t i;
	FILE *f = open_memstream(&sql, &len);

	if (!f)
		return NULL;
	(void)fprintf(f, "INSERT INTO %s (", tables[t].name);
	for (i = 0; i < n; i++) {
		sqlrow_column(t, i, name, sizeof(name));
		(void)fprintf(f, "%s%s", i ? "," : "", name);
	}
	(void)fputs(") VALUES (", f);
	for (i = 0; i < n; i++)
		(void)fputs(i ? ",?" : "?", f);
	(void)fputs(") ON DUPLICATE KEY UPDATE ", f);
	for (i = tables[t].nkeys; i < n; i++) {
		sqlrow_column(t, i, name, sizeof(name));
		(void)fprintf(f, "%s%s=VALUES(%s)", i > tables[t].nkeys ? "," : "", name, name);
	}
	if (fclose(f)) {
		free(sql);
		return NULL;
	}
	return sql;
}

/* --- cells ------------------------------------------------------------------------------- */

/* One row being filled; the first error sticks. */
struct row {
	struct sqlrow *rows;
	struct sqlrow_cell *at;
	int rc;
};

static void put(struct row *r, const char *text, size_t len)
{
	*r->at++ = (struct sqlrow_cell){ text, len };
}

static void put_null(struct row *r)
{
	put(r, NULL, 0);
}

/* Owns TEXT until sqlrow_clear(); frees it at once if it cannot. */
static int keep(struct sqlrow *rows, char *text)
{
	char **escaped = realloc(rows->escaped, (rows->nescaped + 1) * sizeof(*escaped));

	if (!escaped) {
		free(text);
		return -ENOMEM;
	}
	rows->escaped = escaped;
	escaped[rows->nescaped++] = text;
	return 0;
}

/* Empty and absent texts are both unknown. */
static void put_text(struct row *r, const char *text)
{
	size_t len = text ? strlen(text) : 0;
	char *escaped = NULL;

	if (utf8_escape(text ? text : "", len, &escaped, &len) < 0 ||
	    (escaped && keep(r->rows, escaped) < 0)) {
		r->rc = -ENOMEM;
		len = 0;
	}
	put(r, !len ? NULL : escaped ? escaped : text, len);
}

/* Room for a number that stays where it is until sqlrow_clear(). */
static char *reserve(struct sqlrow *rows)
{
	size_t per_chunk = CHUNK / NUMBER_MAX;
	size_t i = rows->chunk_used;

	if (i == rows->nchunks * per_chunk) {
		char **chunk = realloc(rows->chunk, (rows->nchunks + 1) * sizeof(*chunk));

		if (!chunk)
			return NULL;
		rows->chunk = chunk;
		chunk[rows->nchunks] = malloc(CHUNK);
		if (!chunk[rows->nchunks])
			return NULL;
		rows->nchunks++;
	}
	rows->chunk_used++;
	return rows->chunk[i / per_chunk] + i % per_chunk * NUMBER_MAX;
}

static void put_format(struct row *r, const char *fmt, ...) _printf_(2, 3);
static void put_format(struct row *r, const char *fmt, ...)
{
	char *text = reserve(r->rows);
	va_list ap;
	int n;

	if (!text) {
		r->rc = -ENOMEM;
		put_null(r);
		return;
	}
	va_start(ap, fmt);
	n = vsnprintf(text, NUMBER_MAX, fmt, ap);
	va_end(ap);
	put(r, text, n > 0 ? (size_t)n : 0);
}

static void put_number(struct row *r, uint64_t v)
{
	put_format(r, "%" PRIu64, v);
}

static void put_signed(struct row *r, int32_t v)
{
	put_format(r, "%" PRId32, v);
}

static void put_maybe(struct row *r, const struct maybe_u64 *v)
{
	if (v->known)
		put_number(r, v->value);
	else
		put_null(r);
}

/* A count of which 0 is unknown. */
static void put_known(struct row *r, uint32_t v)
{
	if (v)
		put_number(r, v);
	else
		put_null(r);
}

/* VALUE in units of 10^-DIGITS. */
static void put_decimal(struct row *r, uint64_t value, uint64_t scale, int digits)
{
	put_format(r, "%" PRIu64 ".%0*" PRIu64, value / scale, digits, value % scale);
}

static void put_time(struct row *r, uint64_t t)
{
	time_t when = (time_t)t;
	struct tm tm;

	/* year 9999 is where DATETIME ends */
	if (!t || t > UINT64_C(253402300799) || !gmtime_r(&when, &tm))
		put_null(r);
	else
		put_format(r, "%04d-%02d-%02d %02d:%02d:%02d", tm.tm_year + 1900, tm.tm_mon + 1,
			   tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
}

static void put_elapsed(struct row *r, uint64_t start, uint64_t end)
{
	if (start && end >= start)
		put_number(r, end - start);
	else
		put_null(r);
}

/* A value of M in the unit of its column. */
static void put_value(struct row *r, enum metric m, uint64_t v)
{
	switch (metric_table[m].unit) {
	case UNIT_UJ:
		put_number(r, metric_to_tres(m, v));
		break;
	case UNIT_NG:
	case UNIT_NS:
		put_decimal(r, v, UINT64_C(1000000000), 9);
		break;
	case UNIT_BYTES:
	case UNIT_COUNT:
		put_number(r, v);
		break;
	}
}

static void put_spread(struct row *r, enum metric m, const struct record_spread *spread)
{
	if (spread->max.known)
		put_value(r, m, spread->max.value);
	else
		put_null(r);
	put_text(r, spread->max_node);
}

static void put_figures(struct row *r, const struct figures *f, const struct maybe_u64 *energy_j)
{
	unsigned int m;

	metric_foreach(m) {
		if (m == METRIC_ENERGY && energy_j && energy_j->known)
			put_number(r, energy_j->value); /* Slurm's: the one in sacct */
		else if (!figures_has(f, (enum metric)m))
			put_null(r);
		else
			put_value(r, (enum metric)m, f->value[m]);
	}
}

static int begin(struct sqlrow *rows, enum sqlrow_table t, struct row *ret)
{
	size_t n = sqlrow_ncols(t);

	if (rows->nrows == rows->room) {
		size_t room = rows->room ? rows->room * 2 : 64;
		struct sqlrow_cell *cell = realloc(rows->cell, room * n * sizeof(*cell));

		if (!cell)
			return -ENOMEM;
		rows->cell = cell;
		rows->room = room;
	}
	*ret = (struct row){ .rows = rows, .at = rows->cell + rows->nrows * n };
	return 0;
}

static int end(struct row *row, enum sqlrow_table t)
{
	struct sqlrow *rows = row->rows;

	if (row->at != rows->cell + (rows->nrows + 1) * sqlrow_ncols(t))
		return -EINVAL; /* a column without its value, or the reverse */
	if (row->rc == 0)
		rows->nrows++;
	return row->rc;
}

/* --- the rows ---------------------------------------------------------------------------- */

static void put_factor(struct row *row, const struct record *r)
{
	if (r->has_factor) {
		put_decimal(row, r->factor.mg_per_kwh, 1000, 3);
		put_text(row, emission_kind_name(r->factor.kind));
		put_text(row, r->factor.region);
		put_text(row, r->factor.source);
		if (r->factor.year)
			put_number(row, r->factor.year);
		else
			put_null(row);
	} else {
		int i;

		for (i = 0; i < 5; i++)
			put_null(row);
	}
	if (r->pue_milli)
		put_decimal(row, r->pue_milli, 1000, 3);
	else
		put_null(row);
}

int sqlrow_add_job(struct sqlrow *rows, const char *key, size_t key_len, const char *json,
		   size_t json_len, const struct record *r)
{
	struct row row;
	int rc = begin(rows, SQLROW_JOB, &row);

	if (rc < 0)
		return rc;
	put(&row, key, key_len);
	put_text(&row, r->cluster);
	put_number(&row, r->job_id);
	put_text(&row, r->sluid);
	put_number(&row, r->restart_count);
	put_maybe(&row, &r->db_index);
	put_maybe(&row, &r->array_job_id);
	put_maybe(&row, &r->array_task_id);
	put_maybe(&row, &r->het_job_id);
	put_maybe(&row, &r->het_job_offset);
	put_text(&row, r->job_name);
	put_text(&row, r->user_name);
	put_number(&row, r->user_id);
	put_text(&row, r->group_name);
	put_number(&row, r->group_id);
	put_text(&row, r->account);
	put_text(&row, r->partition);
	put_text(&row, r->qos);
	put_text(&row, r->wckey);
	put_text(&row, r->reservation);
	put_text(&row, r->state);
	put_time(&row, r->submit);
	put_time(&row, r->eligible);
	put_time(&row, r->start);
	put_time(&row, r->end);
	put_elapsed(&row, r->start, r->end);
	if (r->time_limit_min.known && r->time_limit_min.value <= UINT32_MAX)
		put_number(&row, r->time_limit_min.value * 60);
	else
		put_null(&row);
	put_text(&row, r->nodes);
	put_number(&row, r->total_nodes);
	put_number(&row, r->total_cpus);
	put_text(&row, r->submit_host);
	put_text(&row, r->work_dir);
	put_text(&row, r->comment);
	put_maybe(&row, &r->priority);
	put_signed(&row, r->exit_code);
	put_signed(&row, r->exit_signal);
	put_signed(&row, r->derived_exit_code);
	put_text(&row, r->tres_req);
	put_text(&row, r->tres_alloc);
	put_number(&row, r->energy.final);
	put_text(&row, r->energy.method);
	put_text(&row, r->energy.source);
	put_factor(&row, r);
	put(&row, json, json_len);
	put_figures(&row, &r->figures, &r->energy.total_j);
	return end(&row, SQLROW_JOB);
}

static int add_step(struct sqlrow *rows, const char *key, size_t key_len,
		    const struct record_step *s)
{
	struct row row;
	int rc = begin(rows, SQLROW_STEP, &row);

	if (rc < 0)
		return rc;
	put(&row, key, key_len);
	put_number(&row, s->step_id);
	put_text(&row, s->name);
	put_text(&row, s->state);
	put_text(&row, s->nodes);
	put_number(&row, s->ntasks);
	put_known(&row, s->nnodes);
	put_known(&row, s->ncpus);
	put_time(&row, s->start);
	put_time(&row, s->end);
	put_elapsed(&row, s->start, s->end);
	put_signed(&row, s->exit_code);
	put_signed(&row, s->exit_signal);
	if (s->user_cpu_us.known)
		put_decimal(&row, s->user_cpu_us.value, 1000000, 6);
	else
		put_null(&row);
	if (s->system_cpu_us.known)
		put_decimal(&row, s->system_cpu_us.value, 1000000, 6);
	else
		put_null(&row);
	put_maybe(&row, &s->max_rss_bytes);
	put_spread(&row, METRIC_CPU_TIME, &s->cpu_time);
	put_spread(&row, METRIC_ENERGY, &s->energy);
	put_figures(&row, &s->figures, NULL);
	return end(&row, SQLROW_STEP);
}

int sqlrow_add_steps(struct sqlrow *rows, const char *key, size_t key_len,
		     const struct record *r)
{
	size_t i;
	int rc = 0;

	for (i = 0; rc == 0 && i < r->nsteps; i++)
		rc = add_step(rows, key, key_len, &r->steps[i]);
	return rc;
}

void sqlrow_clear(struct sqlrow *rows)
{
	rows->nrows = 0;
	rows->chunk_used = 0;
	while (rows->nescaped)
		free(rows->escaped[--rows->nescaped]);
}

void sqlrow_fini(struct sqlrow *rows)
{
	sqlrow_clear(rows);
	free(rows->escaped);
	while (rows->nchunks)
		free(rows->chunk[--rows->nchunks]);
	free(rows->chunk);
	free(rows->cell);
	*rows = (struct sqlrow){ 0 };
}
