/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/jobs/jobs_group.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "src/librecord/screen_text.h"
#include "src/libcore/metric_text.h"
#include "src/libutil/round.h"


/* --- sums -------------------------------------------------------------------------------------- */

const struct jobs_quality_info jobs_quality_table[QUALITY_N] = {
	[QUALITY_MEASURED] = { "measured", "Measured by sensors" },
	[QUALITY_PARTLY_ESTIMATE] = { "partly-estimate", "Measured in part, the rest estimated" },
	[QUALITY_ESTIMATE] = { "estimate", "Estimated: the nodes have no sensor" },
	[QUALITY_LOWER_BOUND] = { "lower-bound", "At least: a node or sensor is missing" },
	[QUALITY_HISTORY] = { "history", "From Slurm, before ceems measured" },
	[QUALITY_UNTOLD] = { "untold", "Method not recorded" },
	[QUALITY_UNKNOWN] = { "unknown", "Not known" },
};

static enum jobs_quality quality_of(const struct record *r)
{
	unsigned int q;

	if (!values_has(&r->values, METRIC_ENERGY))
		return QUALITY_UNKNOWN;
	for (q = 0; q < QUALITY_HISTORY; q++)
		if (!strcmp(r->energy.quality, jobs_quality_table[q].name))
			return (enum jobs_quality)q;
	return strcmp(r->origin, RECORD_HISTORY) ? QUALITY_UNTOLD : QUALITY_HISTORY;
}

/* Adds the job's wasted energy, and emissions in proportion to it. */
static void add_waste(struct jobs_sum *sum, const struct jobs_job *j)
{
	const struct values *f = &j->r->values;
	double ng_per_uj = values_has(f, METRIC_CO2E) && f->value[METRIC_ENERGY] ?
				   (double)f->value[METRIC_CO2E] / (double)f->value[METRIC_ENERGY] : 0;
	unsigned int w;

	for (w = 0; w < WASTE_N; w++) {
		struct jobs_waste_sum *waste = &sum->waste[w];

		if (isnan(j->waste_uj[w]))
			continue;
		waste->uj += j->waste_uj[w];
		waste->ng += j->waste_uj[w] * ng_per_uj;
		waste->n++;
		waste->jobs += j->waste_uj[w] > 0;
	}
}

bool jobs_sum_wasted(const struct jobs_sum *sum, double *ret_uj, double *ret_ng)
{
	double uj = 0;
	double ng = 0;
	unsigned int w;

	for (w = 0; w < WASTE_N; w++) {
		uj += sum->waste[w].uj;
		ng += sum->waste[w].ng;
	}
	*ret_uj = uj;
	*ret_ng = ng;
	return sum->waste[WASTE_CPU].n || sum->waste[WASTE_MEMORY].n || sum->waste[WASTE_GPU].jobs;
}

void jobs_sum_add(struct jobs_sum *sum, const struct jobs_job *j)
{
	const struct values *f = &j->r->values;
	/* a cancelled job does not count as failed: it is unknown whether its work was lost */
	bool failed = jobs_waste_of_state(j->r) != WASTE_N;
	enum jobs_quality quality = quality_of(j->r);
	uint64_t uj = f->value[METRIC_ENERGY];

	sum->jobs++;
	sum->failed += failed;
	sum->elapsed_s += j->elapsed_s;
	sum->cpu_ns += j->cpu_ns;
	sum->cpu_held_ns += j->cpu_held_ns;
	sum->quality[quality].jobs++;
	add_waste(sum, j);
	if (values_has(f, METRIC_CO2E)) {
		sum->co2e_ng += f->value[METRIC_CO2E];
		sum->co2e_n++;
	}
	if (!values_has(f, METRIC_ENERGY)) {
		sum->running += j->r->state && !strcmp(j->r->state, "RUNNING");
		return;
	}
	sum->energy_uj += uj;
	sum->energy_n++;
	sum->quality[quality].uj += uj;
	if (failed) {
		sum->failed_uj += uj;
		sum->failed_n++;
	}
	if (j->idle_share >= 0) {
		sum->idle_uj += j->idle_share * (double)uj;
		sum->idle_of_uj += (double)uj;
		sum->idle_n++;
	}
}

char *jobs_sum_text(const struct jobs_sum *sum)
{
	char text[METRIC_TEXT_MAX];
	char *ret = NULL;
	size_t size;
	FILE *f = open_memstream(&ret, &size);

	if (!f)
		return NULL;
	(void)fprintf(f, "%" PRIu64 " job%s, %s", sum->jobs, sum->jobs == 1 ? "" : "s",
		      screen_seconds(sum->elapsed_s, text));
	if (sum->cpu_held_ns > 0)
		(void)fprintf(f, ", CPU %s", screen_share(sum->cpu_ns / sum->cpu_held_ns, text));
	(void)fprintf(f, ", energy %s", sum->energy_n ? screen_wh(sum->energy_uj, text) : "n/a");
	if (sum->idle_of_uj > 0)
		(void)fprintf(f, " (%s idle)", screen_share(sum->idle_uj / sum->idle_of_uj, text));
	(void)fprintf(f, ", CO2e %s",
		      sum->co2e_n ? metric_text_value(UNIT_NG, sum->co2e_ng, text, sizeof(text)) : "n/a");
	if (sum->failed)
		(void)fprintf(f, "; %" PRIu64 " failed: %s", sum->failed,
			      sum->failed_n ? screen_wh(sum->failed_uj, text) : "n/a");
	if (sum->energy_n && sum->energy_n < sum->jobs)
		(void)fprintf(f, "; energy of %" PRIu64 " not known", sum->jobs - sum->energy_n);
	if (sum->running)
		(void)fprintf(f, "; %zu running: see ceems top", sum->running);
	if (fclose(f) == 0)
		return ret;
	free(ret);
	return NULL;
}

/* --- groups ------------------------------------------------------------------------------------ */

static const char *const by_name[] = {
	[JOBS_BY_USER] = "user", [JOBS_BY_ACCOUNT] = "account", [JOBS_BY_PARTITION] = "partition",
	[JOBS_BY_NAME] = "name", [JOBS_BY_DAY] = "day",		[JOBS_BY_MONTH] = "month",
};

bool jobs_group_find(const char *name, enum jobs_group_by *ret)
{
	size_t i;

	for (i = JOBS_BY_USER; i < ARRAY_SIZE(by_name); i++)
		if (!strcmp(name, by_name[i])) {
			*ret = (enum jobs_group_by)i;
			return true;
		}
	return false;
}

const char *jobs_group_name(enum jobs_group_by by)
{
	return by_name[by];
}

/* Writes the day of T in local time, such as "2026-11-25". Returns BUF. */
static const char *day_of(uint64_t t, char *buf, size_t size)
{
	time_t when = (time_t)t;
	struct tm tm;

	if (!localtime_r(&when, &tm) || !strftime(buf, size, "%Y-%m-%d", &tm))
		*buf = '\0';
	return buf;
}

static const char *group_key(const struct jobs_job *j, enum jobs_group_by by, char *buf, size_t size)
{
	const struct record *r = j->r;
	uint64_t t = r->end ? r->end : j->now;
	const char *key = NULL;

	switch (by) {
	case JOBS_BY_USER:
		key = r->user_name;
		break;
	case JOBS_BY_ACCOUNT:
		key = r->account;
		break;
	case JOBS_BY_PARTITION:
		key = r->partition;
		break;
	case JOBS_BY_NAME:
		key = r->job_name;
		break;
	case JOBS_BY_DAY:
		return day_of(t, buf, size);
	case JOBS_BY_MONTH:
		key = day_of(t, buf, size);
		if (strrchr(buf, '-'))
			*strrchr(buf, '-') = '\0';
		break;
	case JOBS_BY_NONE:
		break;
	}
	return key ? key : "";
}

void jobs_groups_free(struct jobs_groups *g)
{
	while (g->n)
		free(g->group[--g->n].key);
	free(g->group);
	*g = (struct jobs_groups){ 0 };
}

/* Returns the index of group KEY, or the index at which to insert it. */
static size_t find_group(const struct jobs_groups *g, const char *key)
{
	size_t low = 0;
	size_t high = g->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(g->group[middle].key, key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct jobs_group *jobs_groups_find(const struct jobs_groups *g, const char *key)
{
	size_t i = find_group(g, key);

	return i < g->n && !strcmp(g->group[i].key, key) ? &g->group[i] : NULL;
}

static int insert_group(struct jobs_groups *g, size_t at, const char *key)
{
	char *copy;

	if (g->n == g->room) {
		size_t room = g->room ? 2 * g->room : 64;
		struct jobs_group *more = realloc(g->group, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		g->group = more;
		g->room = room;
	}
	copy = strdup(key);
	if (!copy)
		return -ENOMEM;
	memmove(&g->group[at + 1], &g->group[at], (g->n - at) * sizeof(*g->group));
	g->group[at] = (struct jobs_group){ .key = copy };
	g->n++;
	return 0;
}

int jobs_groups_add(struct jobs_groups *g, const struct jobs_job *j)
{
	char date[32];
	const char *key = group_key(j, g->by, date, sizeof(date));
	size_t at = find_group(g, key);

	if ((at == g->n || strcmp(g->group[at].key, key) != 0) && insert_group(g, at, key) < 0)
		return -ENOMEM;
	jobs_sum_add(&g->group[at].sum, j);
	return 0;
}

/* --- printing ---------------------------------------------------------------------------------- */

enum { COLUMN_KEY, COLUMN_JOBS, COLUMN_FAILED, COLUMN_ELAPSED, COLUMN_CPU, COLUMN_ENERGY, COLUMN_CO2E, COLUMN_IDLE,
       COLUMN_FAILED_ENERGY, COLUMN_WASTED, COLUMN_N };

static const char *const sort_name[] = {
	[GROUP_BY_KEY] = "key", [GROUP_BY_JOBS] = "jobs", [GROUP_BY_FAILED] = "failed",
	[GROUP_BY_ELAPSED] = "elapsed", [GROUP_BY_CPU] = "cpu", [GROUP_BY_ENERGY] = "energy",
	[GROUP_BY_CO2E] = "co2e", [GROUP_BY_IDLE] = "idle", [GROUP_BY_WASTED] = "wasted",
	[GROUP_BY_FAILED_ENERGY] = "failed_energy",
};

bool jobs_group_sort_find(const char *name, enum jobs_group_sort *ret)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sort_name); i++)
		if (!strcmp(name, sort_name[i])) {
			*ret = (enum jobs_group_sort)i;
			return true;
		}
	return false;
}

static double group_rank(const struct jobs_sum *s, enum jobs_group_sort sort)
{
	double uj, ng;

	switch (sort) {
	case GROUP_BY_KEY:
		return 0;
	case GROUP_BY_JOBS:
		return -(double)s->jobs;
	case GROUP_BY_FAILED:
		return -(double)s->failed;
	case GROUP_BY_ELAPSED:
		return -(double)s->elapsed_s;
	case GROUP_BY_CPU:
		return s->cpu_held_ns > 0 ? -s->cpu_ns / s->cpu_held_ns : NAN;
	case GROUP_BY_ENERGY:
		return s->energy_n ? -(double)s->energy_uj : NAN;
	case GROUP_BY_CO2E:
		return s->co2e_n ? -(double)s->co2e_ng : NAN;
	case GROUP_BY_IDLE:
		return s->idle_n ? -s->idle_uj : NAN;
	case GROUP_BY_WASTED:
		return jobs_sum_wasted(s, &uj, &ng) ? -uj : NAN;
	case GROUP_BY_FAILED_ENERGY:
		return s->failed_n ? -(double)s->failed_uj : NAN;
	}
	return NAN;
}

static void set_count(struct cell *cell, uint64_t n)
{
	*cell = (struct cell){ .kind = CELL_DECIMAL, .number = n, .scale = 1 };
	(void)snprintf(cell->shown, sizeof(cell->shown), "%" PRIu64, n);
}

static void set_wh(struct cell *cell, uint64_t uj)
{
	*cell = (struct cell){ .kind = CELL_DECIMAL, .number = uj, .scale = UJ_PER_J };
	(void)screen_wh(uj, cell->shown);
}

_Static_assert(COLUMN_N == JOBS_SUM_CELLS, "columns of a sum");

void jobs_sum_cells(const char *key, const struct jobs_sum *s, struct cell cell[JOBS_SUM_CELLS])
{
	double uj, ng;

	memset(cell, 0, COLUMN_N * sizeof(*cell));
	if (*key)
		cell[COLUMN_KEY] = (struct cell){ .kind = CELL_TEXT, .text = key };
	set_count(&cell[COLUMN_JOBS], s->jobs);
	set_count(&cell[COLUMN_FAILED], s->failed);
	set_count(&cell[COLUMN_ELAPSED], s->elapsed_s);
	(void)screen_seconds(s->elapsed_s, cell[COLUMN_ELAPSED].shown);
	if (s->cpu_held_ns > 0) {
		cell[COLUMN_CPU] = (struct cell){ .kind = CELL_RATIO, .ratio = s->cpu_ns / s->cpu_held_ns };
		(void)screen_share(cell[COLUMN_CPU].ratio, cell[COLUMN_CPU].shown);
	}
	if (s->energy_n)
		set_wh(&cell[COLUMN_ENERGY], s->energy_uj);
	if (s->co2e_n) {
		struct cell *co2e = &cell[COLUMN_CO2E];

		*co2e = (struct cell){ .kind = CELL_DECIMAL, .number = s->co2e_ng, .scale = NG_PER_G };
		(void)metric_text_value(UNIT_NG, s->co2e_ng, co2e->shown, sizeof(co2e->shown));
	}
	if (s->idle_n)
		set_wh(&cell[COLUMN_IDLE], round_u64(s->idle_uj));
	/* if no job failed, the energy of failed jobs is 0, not unknown */
	if (s->failed_n || !s->failed)
		set_wh(&cell[COLUMN_FAILED_ENERGY], s->failed_uj);
	if (!s->failed)
		(void)snprintf(cell[COLUMN_FAILED_ENERGY].shown, CELLS_SHOWN_MAX, "0");
	if (jobs_sum_wasted(s, &uj, &ng))
		set_wh(&cell[COLUMN_WASTED], round_u64(uj));
}

void jobs_sum_columns(enum jobs_group_by by, struct cells_column column[JOBS_SUM_CELLS])
{
	static const char *const titles[] = { [JOBS_BY_NONE] = "", [JOBS_BY_USER] = "User",
					      [JOBS_BY_ACCOUNT] = "Account", [JOBS_BY_PARTITION] = "Partition",
					      [JOBS_BY_NAME] = "Name", [JOBS_BY_DAY] = "Day",
					      [JOBS_BY_MONTH] = "Month" };
	const struct cells_column columns[COLUMN_N] = {
		[COLUMN_KEY] = { .title = titles[by], .key = by ? by_name[by] : "key", .width = 24, .is_left = true },
		[COLUMN_JOBS] = { .title = "Jobs", .key = "jobs", .width = 10 },
		[COLUMN_FAILED] = { .title = "Failed", .key = "failed", .width = 10 },
		[COLUMN_ELAPSED] = { .title = "Elapsed", .key = "elapsed_s", .width = 13 },
		[COLUMN_CPU] = { .title = "CPU %", .key = "cpu_efficiency", .width = 7 },
		[COLUMN_ENERGY] = { .title = "Energy", .key = "energy_j", .width = 9 },
		[COLUMN_CO2E] = { .title = "CO2e", .key = "co2e_g", .width = 9 },
		[COLUMN_IDLE] = { .title = "Idle", .key = "idle_energy_j", .width = 9 },
		[COLUMN_FAILED_ENERGY] = { .title = "In vain", .key = "failed_energy_j", .width = 9 },
		[COLUMN_WASTED] = { .title = "Wasted", .key = "wasted_energy_j", .width = 9 },
	};

	memcpy(column, columns, sizeof(columns));
}

int jobs_groups_print(const struct jobs_groups *g, enum jobs_group_sort sort, enum cells_format format, size_t top,
		      bool header, FILE *out)
{
	struct cells_column column[COLUMN_N];
	struct cell cell[COLUMN_N];
	struct cells *cells;
	size_t i;
	int rc;

	jobs_sum_columns(g->by, column);
	cells = cells_create(column, COLUMN_N, format, top);
	rc = cells ? 0 : -ENOMEM;
	for (i = 0; rc == 0 && i < g->n; i++) {
		jobs_sum_cells(g->group[i].key, &g->group[i].sum, cell);
		rc = cells_add(cells, group_rank(&g->group[i].sum, sort), cell);
	}
	if (rc == 0)
		rc = cells_print(cells, out, header);
	cells_destroy(cells);
	return rc;
}
