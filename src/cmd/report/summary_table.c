/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/report/summary_table.h"

#include <math.h>
#include <string.h>

#include "src/cmd/report/summary_words.h"
#include "src/libcore/unit.h"
#include "src/librecord/screen_text.h"
#include "src/libutil/round.h"

/* --- rows -------------------------------------------------------------------------------------- */

void summary_row_init(struct summary_row *row, const struct summary *s, const char *name,
		      const struct jobs_sum *sum, bool is_day)
{
	bool has_none = is_day && !sum->jobs;
	double ng;

	*row = (struct summary_row){ .s = s,
				     .name = name,
				     .sum = sum,
				     .jobs = sum->jobs,
				     .uj = (double)sum->energy_uj,
				     .ng = (double)sum->co2e_ng,
				     .has_energy = sum->energy_n || has_none,
				     .has_co2e = sum->co2e_n || has_none };
	row->has_waste = jobs_sum_wasted(sum, &row->wasted_uj, &ng) || has_none;
}

void summary_row_cause(struct summary_row *row, const struct summary *s, enum jobs_waste w)
{
	const struct jobs_waste_sum *waste = &s->sum.waste[w];
	bool lacks = s->sum.waste_lacks_n && (w == WASTE_CPU || w == WASTE_MEMORY || w == WASTE_GPU);
	bool known = waste->n && (waste->uj > 0 || !lacks);

	*row = (struct summary_row){ .s = s,
				     .name = jobs_waste_table[w].title,
				     .help = jobs_waste_table[w].help,
				     .jobs = waste->jobs,
				     .uj = waste->uj,
				     .ng = waste->ng,
				     .has_energy = known,
				     .has_co2e = known && s->sum.co2e_n };
}

void summary_row_method(struct summary_row *row, const struct summary *s, enum jobs_quality q)
{
	*row = (struct summary_row){ .s = s,
				     .name = jobs_quality_table[q].title,
				     .jobs = s->sum.quality[q].jobs,
				     .uj = (double)s->sum.quality[q].uj,
				     .has_energy = q != JOBS_QUALITY_UNKNOWN };
}

/* --- setters ----------------------------------------------------------------------------------- */

static void put_part(struct cell *cell, double part, double whole)
{
	if (!(whole > 0) || isnan(part))
		return;
	*cell = (struct cell){ .kind = CELL_RATIO, .ratio = part / whole };
	(void)summary_part(part, whole, cell->shown);
}

static void put_energy(struct cell *cell, bool known, double uj)
{
	if (!known)
		return;
	*cell = (struct cell){ .kind = CELL_DECIMAL, .number = round_u64(uj), .scale = UJ_PER_J };
	(void)summary_energy(known, uj, cell->shown);
}

static void set_jobs_with_energy(struct cell *cell, const struct summary_row *row)
{
	if (row->sum)
		cell_count(cell, row->sum->energy_n);
}

static void set_rank(struct cell *cell, const struct summary_row *row)
{
	if (row->place)
		cell_count(cell, row->place);
	if (row->place && row->was && row->was != row->place)
		(void)snprintf(cell->shown, sizeof(cell->shown), "%zu (was %zu)", row->place, row->was);
}

static void set_name(struct cell *cell, const struct summary_row *row)
{
	*cell = (struct cell){ .kind = CELL_TEXT, .text = row->name };
}

static void set_help(struct cell *cell, const struct summary_row *row)
{
	if (row->help)
		*cell = (struct cell){ .kind = CELL_TEXT, .text = row->help };
}

static void set_jobs(struct cell *cell, const struct summary_row *row)
{
	cell_count(cell, row->jobs);
	(void)summary_count(row->jobs, cell->shown);
}

static void set_jobs_share(struct cell *cell, const struct summary_row *row)
{
	put_part(cell, (double)row->jobs, (double)row->s->sum.jobs);
}

static void set_energy(struct cell *cell, const struct summary_row *row)
{
	put_energy(cell, row->has_energy, row->uj);
}

static void set_bar(struct cell *cell, const struct summary_row *row)
{
	*cell = (struct cell){ .kind = CELL_RATIO, .ratio = row->most_uj > 0 ? row->uj / row->most_uj : 0 };
}

static void set_energy_share(struct cell *cell, const struct summary_row *row)
{
	put_part(cell, row->has_energy ? row->uj : NAN, (double)row->s->sum.energy_uj);
}

static void set_change(struct cell *cell, const struct summary_row *row)
{
	if (row->sum)
		(void)summary_change(row->s, row->sum, row->before, cell->shown);
	cell->text = cell->shown;
	cell->kind = CELL_TEXT;
}

static void set_co2e(struct cell *cell, const struct summary_row *row)
{
	if (!row->has_co2e)
		return;
	*cell = (struct cell){ .kind = CELL_DECIMAL, .number = round_u64(row->ng), .scale = NG_PER_G };
	(void)summary_co2e(true, row->ng, cell->shown);
}

static void set_wasted(struct cell *cell, const struct summary_row *row)
{
	put_energy(cell, row->has_waste, row->wasted_uj);
}

static void set_wasted_share(struct cell *cell, const struct summary_row *row)
{
	put_part(cell, row->has_waste ? row->wasted_uj : NAN, row->uj);
}

static void set_cpus_busy(struct cell *cell, const struct summary_row *row)
{
	if (row->sum)
		put_part(cell, row->sum->cpu_ns, row->sum->cpu_held_ns);
}

/* --- the tables, from left to right -------------------------------------------------------------- */

static const struct summary_column groups[] = {
	{ .key = "jobs_with_energy", .set = set_jobs_with_energy },
	{ .text = "Rank", .html = "#Rank", .key = "rank", .width = 5, .unknown = "", .set = set_rank },
	{ .text = "", .html = "", .width = 24, .looks = SUMMARY_HEAD, .set = set_name },
	{ .text = "Jobs", .html = "#Jobs", .width = 10, .set = set_jobs },
	{ .text = "Energy", .html = "#Energy", .width = 9, .set = set_energy },
	{ .html = "#", .looks = SUMMARY_BAR, .set = set_bar },
	{ .text = "Share", .html = "#Of all", .width = 6, .set = set_energy_share },
	{ .text = "Change", .html = "#Change", .width = 7, .is_last_in_text = true, .set = set_change },
	{ .text = "CO2e", .html = "#CO2e", .width = 9, .set = set_co2e },
	{ .text = "Wasted", .html = "#Wasted", .width = 6, .set = set_wasted_share },
	{ .html = "#CPUs busy", .set = set_cpus_busy },
};

static const struct summary_column days[] = {
	{ .text = "Day", .html = "Day", .width = 14, .looks = SUMMARY_HEAD, .set = set_name },
	{ .text = "Jobs", .html = "#Jobs", .width = 10, .set = set_jobs },
	{ .text = "Energy", .html = "#Energy", .width = 9, .set = set_energy },
	{ .html = "#Wasted", .set = set_wasted },
	{ .text = "CO2e", .html = "#CO2e", .width = 9, .set = set_co2e },
	{ .text = "Wasted", .width = 6, .set = set_wasted_share },
};

/* of what was wasted */
static const struct summary_column causes[] = {
	{ .text = "Wasted", .html = "Cause", .width = 34, .looks = SUMMARY_HEAD, .set = set_name },
	{ .text = "Jobs", .html = "#Jobs", .width = 10, .is_empty_in_total = true, .set = set_jobs },
	{ .text = "Energy", .html = "#Energy", .width = 9, .set = set_energy },
	{ .html = "#", .looks = SUMMARY_BAR, .is_empty_in_total = true, .set = set_bar },
	{ .text = "Share", .html = "#Of all", .width = 6, .is_last_in_text = true, .set = set_energy_share },
	{ .text = "CO2e", .html = "#CO2e", .width = 9, .set = set_co2e },
	{ .html = "What helps", .looks = SUMMARY_HELP, .is_empty_in_total = true, .set = set_help },
};

/* of how energy is known; the text has no such table */
static const struct summary_column methods[] = {
	{ .html = "Energy", .looks = SUMMARY_HEAD, .set = set_name },
	{ .html = "#Jobs", .set = set_jobs },
	{ .html = "#Of all jobs", .set = set_jobs_share },
	{ .html = "#Energy", .set = set_energy },
};

const struct summary_table summary_table[SUMMARY_TABLES] = {
	[SUMMARY_GROUPS] = { groups, ARRAY_SIZE(groups) },
	[SUMMARY_DAYS] = { days, ARRAY_SIZE(days) },
	[SUMMARY_CAUSES] = { causes, ARRAY_SIZE(causes) },
	[SUMMARY_METHODS] = { methods, ARRAY_SIZE(methods) },
};
_Static_assert(ARRAY_SIZE(groups) + ARRAY_SIZE(days) + ARRAY_SIZE(causes) + ARRAY_SIZE(methods) <=
		       SUMMARY_COLUMNS,
	       "all columns fit");
