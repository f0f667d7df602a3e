/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/jobs/jobs_group.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "src/librecord/screen_text.h"
#include "src/libcore/idle_energy.h"
#include "src/libcore/metric_text.h"
#include "src/libutil/round.h"

/* a share of all energy; the rest is what TRES in whole joules lose, and what a job's domains lack */
#define IDLE_WHOLE 0.99

/* --- sums -------------------------------------------------------------------------------------- */

const struct jobs_quality_info jobs_quality_table[JOBS_QUALITY_N] = {
	[JOBS_QUALITY_MEASURED] = { "measured", "Measured by sensors" },
	[JOBS_QUALITY_PARTLY_ESTIMATE] = { "partly-estimate", "Measured in part, the rest estimated" },
	[JOBS_QUALITY_ESTIMATE] = { "estimate", "Estimated: the nodes have no sensor" },
	[JOBS_QUALITY_LOWER_BOUND] = { "lower-bound", "At least: a node or sensor is missing" },
	[JOBS_QUALITY_HISTORY] = { "history", "From Slurm, before ceems measured" },
	[JOBS_QUALITY_UNTOLD] = { "untold", "Method not recorded" },
	[JOBS_QUALITY_UNKNOWN] = { "unknown", "Not known" },
};

static enum jobs_quality quality_of(const struct record *r)
{
	unsigned int q;

	if (!values_has(&r->values, METRIC_ENERGY))
		return JOBS_QUALITY_UNKNOWN;
	for (q = 0; q < JOBS_QUALITY_HISTORY; q++)
		if (!strcmp(r->energy.quality, jobs_quality_table[q].name))
			return (enum jobs_quality)q;
	return strcmp(r->origin, RECORD_HISTORY) ? JOBS_QUALITY_UNTOLD : JOBS_QUALITY_HISTORY;
}

/* Adds the job's wasted energy, and emissions in proportion to it. */
static void add_waste(struct jobs_sum *sum, const struct jobs_job *j)
{
	const struct values *f = &j->r->values;
	double ng_per_uj = values_has(f, METRIC_CO2E) && f->value[METRIC_ENERGY] ?
				   (double)f->value[METRIC_CO2E] / (double)f->value[METRIC_ENERGY] :
				   0;
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
	/* nothing is known to be wasted, which is not "nothing was wasted" */
	if (!(uj > 0) && sum->waste_lacks_n)
		return false;
	return sum->waste[WASTE_CPU].n || sum->waste[WASTE_MEMORY].n || sum->waste[WASTE_GPU].jobs;
}

void jobs_sum_add(struct jobs_sum *sum, const struct jobs_job *j)
{
	const struct values *f = &j->r->values;
	/* a cancelled job does not count as failed: it is unknown whether its work was lost */
	bool failed = jobs_waste_of_state(j->r) != WASTE_N;
	enum jobs_quality quality = quality_of(j->r);
	uint64_t uj = f->value[METRIC_ENERGY];
	struct idle_energy idle;

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
	if (idle_energy_of(f, &idle)) {
		sum->idle_uj += (double)idle.idle_uj;
		sum->idle_of_uj += (double)idle.of_uj;
		sum->idle_n++;
	}
	if (j->waste_lacks_idle) {
		sum->waste_lacks_n++;
		sum->waste_lacks_uj += uj;
	}
}

bool jobs_sum_idle_is_whole(const struct jobs_sum *sum)
{
	return sum->idle_of_uj > 0 && sum->idle_of_uj >= IDLE_WHOLE * (double)sum->energy_uj;
}

/* Writes " (50 % idle)", " (50 % of 3.00 Wh idle)" if it is not known of all energy, or " (idle n/a)". */
static void put_idle(const struct jobs_sum *sum, FILE *f)
{
	char share[SCREEN_TEXT_MAX], wh[SCREEN_TEXT_MAX];

	if (!(sum->idle_of_uj > 0))
		(void)fputs(" (idle n/a)", f);
	else if (jobs_sum_idle_is_whole(sum))
		(void)fprintf(f, " (%s idle)", screen_share(sum->idle_uj / sum->idle_of_uj, share));
	else
		(void)fprintf(f, " (%s of %s idle)", screen_share(sum->idle_uj / sum->idle_of_uj, share),
			      screen_wh(round_u64(sum->idle_of_uj), wh));
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
	if (sum->energy_n)
		put_idle(sum, f);
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

/* A setter sets CELL to a value of the sum S, and leaves it unknown if the value is not known. */
#define SETTER(name) static void name(struct cell *cell, const struct jobs_sum *s)

SETTER(set_jobs)
{
	cell_count(cell, s->jobs);
}

SETTER(set_failed)
{
	cell_count(cell, s->failed);
}

SETTER(set_elapsed)
{
	cell_count(cell, s->elapsed_s);
	(void)screen_seconds(s->elapsed_s, cell->shown);
}

SETTER(set_cpu)
{
	if (!(s->cpu_held_ns > 0))
		return;
	*cell = (struct cell){ .kind = CELL_RATIO, .ratio = s->cpu_ns / s->cpu_held_ns };
	(void)screen_share(cell->ratio, cell->shown);
}

SETTER(set_energy)
{
	if (s->energy_n)
		cell_wh(cell, s->energy_uj);
}

SETTER(set_co2e)
{
	if (!s->co2e_n)
		return;
	*cell = (struct cell){ .kind = CELL_DECIMAL, .number = s->co2e_ng, .scale = NG_PER_G };
	(void)metric_text_value(UNIT_NG, s->co2e_ng, cell->shown, sizeof(cell->shown));
}

SETTER(set_idle)
{
	if (s->idle_n)
		cell_wh(cell, round_u64(s->idle_uj));
}

SETTER(set_idle_of)
{
	if (s->energy_n)
		cell_wh(cell, round_u64(s->idle_of_uj));
	if (s->energy_n && !s->idle_n)
		(void)snprintf(cell->shown, sizeof(cell->shown), "0");
}

/* If no job failed, the energy of failed jobs is 0, not unknown. */
SETTER(set_failed_energy)
{
	if (s->failed_n || !s->failed)
		cell_wh(cell, s->failed_uj);
	if (!s->failed)
		(void)snprintf(cell->shown, sizeof(cell->shown), "0");
}

SETTER(set_wasted)
{
	double uj, ng;

	if (jobs_sum_wasted(s, &uj, &ng))
		cell_wh(cell, round_u64(uj));
}

static const struct {
	const char *name, *title, *key;
	size_t width;
	void (*set)(struct cell *cell, const struct jobs_sum *s);
} sum_table[] = {
	[SUM_KEY] = { .name = "key", .width = 24 },
#define SUM(id, ...) [SUM_##id] = { __VA_ARGS__ },
#include "src/cmd/jobs/jobs_sum.def"
};

bool jobs_sum_find(const char *name, enum jobs_sum_column *ret)
{
	unsigned int i;

	for (i = 0; i < SUM_N; i++)
		if (!strcmp(name, sum_table[i].name)) {
			*ret = (enum jobs_sum_column)i;
			return true;
		}
	return false;
}

const char *jobs_sum_names(char *buf, size_t size)
{
	size_t used = 0;
	unsigned int i;

	*buf = '\0';
	for (i = 0; i < SUM_N && used < size; i++)
		used += (size_t)snprintf(buf + used, size - used, "%s%s",
					 !i	       ? "" :
					 i + 1 < SUM_N ? ", " :
							 " or ",
					 sum_table[i].name);
	return buf;
}

void jobs_sum_cells(const char *key, const struct jobs_sum *s, struct cell cell[SUM_N])
{
	unsigned int i;

	memset(cell, 0, SUM_N * sizeof(*cell));
	if (*key)
		cell[SUM_KEY] = (struct cell){ .kind = CELL_TEXT, .text = key };
	for (i = SUM_KEY + 1; i < SUM_N; i++)
		sum_table[i].set(&cell[i], s);
}

void jobs_sum_columns(enum jobs_group_by by, struct cells_column column[SUM_N])
{
	static const char *const titles[] = {
		[JOBS_BY_NONE] = "",	       [JOBS_BY_USER] = "User",
		[JOBS_BY_ACCOUNT] = "Account", [JOBS_BY_PARTITION] = "Partition",
		[JOBS_BY_NAME] = "Name",       [JOBS_BY_DAY] = "Day",
		[JOBS_BY_MONTH] = "Month"
	};
	unsigned int i;

	for (i = 0; i < SUM_N; i++)
		column[i] = (struct cells_column){ .title = sum_table[i].title,
						   .key = sum_table[i].key,
						   .width = sum_table[i].width };
	column[SUM_KEY].title = titles[by];
	column[SUM_KEY].key = by ? by_name[by] : "key";
	column[SUM_KEY].is_left = true;
}

int jobs_groups_print(const struct jobs_groups *g, enum jobs_sum_column sort, enum cells_format format,
		      size_t top, bool header, FILE *out)
{
	struct cells_column column[SUM_N];
	struct cell cell[SUM_N];
	struct cells *cells;
	size_t i;
	int rc;

	jobs_sum_columns(g->by, column);
	cells = cells_create(column, SUM_N, format, top);
	rc = cells ? 0 : -ENOMEM;
	for (i = 0; rc == 0 && i < g->n; i++) {
		jobs_sum_cells(g->group[i].key, &g->group[i].sum, cell);
		rc = cells_add(cells, sort == SUM_KEY ? 0 : -cell_rank(&cell[sort]), cell);
	}
	if (rc == 0)
		rc = cells_print(cells, out, header);
	cells_destroy(cells);
	return rc;
}
