/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top_answer.c - makes the query for Prometheus, and reads its answer. top_prom.c sends it.
 */
#include "src/cmd/top/top_prom.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/cmd/top/top_column.h"
#include "src/libutil/parse.h"
#include "src/libutil/util.h"

/* Contains two scrapes or more, at the usual intervals. */
#define RATE_WINDOW "2m"

/*
 * Adds a query for VALUE, whose series is summed over each job. Other values, and metrics
 * without a series, have none.
 */
static void put_query(FILE *f, enum top_value value, uint32_t job_id, const char *job)
{
	const struct top_column *c = top_column_of(value);
	const struct metric_info *m = &metric_table[c->metric];
	const char *series = c->gauge ? c->gauge : m->prom;
	bool is_rate = c->from == TOP_FROM_RATE && !c->gauge;

	if (c->from == TOP_FROM_OTHER || !*series)
		return;
	(void)fprintf(
		f, "%slabel_replace(sum by (%s) (%s%s{manager=\"slurm\"%s%s}%s),\"value\",\"%d\",\"\",\"\")",
		value ? " or " : "", job_id ? "hostname" : "uuid", is_rate ? "rate(" : "", series, job,
		c->gauge ? "" : m->prom_labels, is_rate ? "[" RATE_WINDOW "])" : "", (int)value);
}

char *top_prom_query(uint32_t job_id)
{
	char job[32] = "";
	char *text = NULL;
	unsigned int v;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	if (job_id)
		(void)snprintf(job, sizeof(job), ",uuid=\"%" PRIu32 "\"", job_id);
	for (v = 0; v < TOP_N; v++)
		put_query(f, (enum top_value)v, job_id, job);
	if (fclose(f) != 0)
		free(TAKE_PTR(text));
	return text;
}

static int compare_rows(const void *x, const void *y)
{
	const struct top_row *a = x;
	const struct top_row *b = y;

	return (a->job_id > b->job_id) - (a->job_id < b->job_id);
}

/* Returns the row of job UUID in F, whose rows are sorted by job. NULL: F has no such job. */
static struct top_row *find_job(struct top_frame *f, const char *uuid)
{
	struct top_row key;
	uint64_t id;

	if (parse_u64(uuid, &id) < 0 || id > UINT32_MAX || !f->n)
		return NULL;
	key.job_id = (uint32_t)id;
	return bsearch(&key, f->row, f->n, sizeof(*f->row), compare_rows);
}

/* Returns the row of node HOST, a new one if necessary. NULL: out of memory. */
static struct top_row *find_node(struct top_frame *f, uint32_t job_id, const char *host)
{
	struct top_row *row;
	size_t i;

	for (i = 0; i < f->n; i++)
		if (!strncmp(f->row[i].id, host, sizeof(f->row[i].id) - 1))
			return &f->row[i];
	row = top_frame_add(f);
	if (row) {
		row->job_id = job_id;
		(void)snprintf(row->id, sizeof(row->id), "%s", host);
	}
	return row;
}

/*
 * Sets a value from SAMPLE, such as {"metric": {"uuid": "12", "value": "0"}, "value":
 * [1795603505.1, "12.5"]}.
 */
static int set_sample(json_t *sample, uint32_t job_id, struct top_frame *f)
{
	const char *id, *value, *number;
	struct top_row *row;
	uint64_t v;
	double d;
	char *end;

	if (json_unpack(sample, "{s:{s:s, s:s}, s:[F, s]}", "metric", job_id ? "hostname" : "uuid", &id,
			"value", &value, "value", &d, &number) < 0 ||
	    parse_u64(value, &v) < 0 || v >= TOP_N)
		return -EINVAL;
	d = strtod(number, &end); /* NUMBER may be "NaN" or "+Inf", too */
	if (end == number || *end)
		return -EINVAL;
	row = job_id ? find_node(f, job_id, id) : find_job(f, id);
	if (!row)
		/* the job has ended, or slurmctld does not show it to this user */
		return job_id ? -ENOMEM : 0;
	if (isfinite(d))
		row->value[v] = d;
	return 0;
}

int top_prom_set(json_t *samples, uint32_t job_id, struct top_frame *f, struct errmsg *err)
{
	json_t *sample;
	size_t i;
	int rc = 0;

	if (!job_id && f->n)
		qsort(f->row, f->n, sizeof(*f->row), compare_rows);
	json_array_foreach(samples, i, sample) {
		rc = set_sample(sample, job_id, f);
		if (rc < 0)
			break;
	}
	if (rc == -EINVAL)
		(void)errmsg_set(err, rc, "Prometheus: the answer has a value of an unexpected form");
	return rc;
}
