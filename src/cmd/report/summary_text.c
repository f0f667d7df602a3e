/* SPDX-License-Identifier: GPL-2.0-or-later */
/* summary_text.c - writes a summary as text for a terminal or a mail. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "src/cmd/report/summary.h"
#include "src/cmd/report/summary_words.h"
#include "src/librecord/screen_text.h"
#include "src/libutil/text.h"

#define GROUPS_SHOWN 20
#define LINE_COLUMNS 80

/* Writes TEXT masked, in lines of at most 80 columns. Changes TEXT. */
static void put_words(FILE *out, char *text)
{
	char *rest = text_mask(text, text, strlen(text) + 1);
	size_t at = 0;
	char *word;

	while ((word = strsep(&rest, " "))) {
		size_t columns = text_columns(word);

		if (at && at + 1 + columns > LINE_COLUMNS) {
			(void)fputc('\n', out);
			at = 0;
		}
		(void)fprintf(out, "%s%s", at ? " " : "", word);
		at += columns + (at != 0);
	}
	(void)fputc('\n', out);
}

static void put_head(const struct summary *s, FILE *out)
{
	char title[SUMMARY_WORDS_MAX], words[SUMMARY_WORDS_MAX];

	(void)snprintf(words, sizeof(words), "Energy and emissions: %.120s%s%.256s%s%.256s", summary_title(s, title),
		       s->whose ? ", " : "", s->whose ? s->whose : "", s->cluster ? ", cluster " : "",
		       s->cluster ? s->cluster : "");
	put_words(out, words);
	(void)fputc('\n', out);
	put_words(out, memcpy(words, summary_lead(s, title), sizeof(words)));
	if (*summary_waste_lead(s, words))
		put_words(out, words);
	if (*summary_place_words(s, words))
		put_words(out, words);
}

static struct cell text_of(const char *text)
{
	struct cell cell = { .kind = *text ? CELL_TEXT : CELL_UNKNOWN, .text = text };

	return cell;
}

/* Adds a row with copies of N texts. -ENOMEM. */
static int add_row(struct cells *cells, const char *const *text, size_t n)
{
	struct cell cell[8];
	size_t i;

	for (i = 0; i < n; i++)
		cell[i] = text_of(text[i]);
	return cells_add(cells, 0, cell);
}

static int print_waste(const struct summary *s, FILE *out)
{
	static const struct cells_column column[] = {
		{ .title = "Wasted", .width = 34, .is_left = true }, { .title = "Jobs", .width = 10 },
		{ .title = "Energy", .width = 9 },			      { .title = "CO2e", .width = 9 },
		{ .title = "Share", .width = 6 },
	};
	struct cells *cells = cells_create(column, ARRAY_SIZE(column), CELLS_TABLE, 0);
	char text[4][SCREEN_TEXT_MAX];
	unsigned int w;
	int rc = cells ? 0 : -ENOMEM;

	for (w = 0; rc == 0 && w < WASTE_N; w++) {
		const struct jobs_waste_sum *waste = &s->sum.waste[w];
		const char *const row[] = { jobs_waste_table[w].title, summary_count(waste->jobs, text[0]),
					    summary_energy(waste->n, waste->uj, text[1]),
					    summary_co2e(waste->n && s->sum.co2e_n, waste->ng, text[2]),
					    summary_part(waste->n ? waste->uj : NAN, (double)s->sum.energy_uj, text[3]) };

		rc = add_row(cells, row, ARRAY_SIZE(row));
	}
	if (rc == 0)
		rc = cells_print(cells, out, /* header= */ true);
	cells_destroy(cells);
	return rc;
}

static int add_group(const struct summary *s, struct cells *cells, size_t place, const struct jobs_group *g)
{
	const struct jobs_group *before = jobs_groups_find(&s->groups_before, g->key);
	char text[6][SCREEN_TEXT_MAX];
	char rank[SCREEN_TEXT_MAX];
	double uj = 0;
	double ng = 0;
	bool known = jobs_sum_wasted(&g->sum, &uj, &ng);
	const char *const row[] = { g->sum.energy_n ? summary_count(place, rank) : "",
				    *g->key ? g->key : "(none)",
				    summary_count(g->sum.jobs, text[0]),
				    summary_energy(g->sum.energy_n, (double)g->sum.energy_uj, text[1]),
				    summary_part(g->sum.energy_n ? (double)g->sum.energy_uj : NAN,
						 (double)s->sum.energy_uj, text[2]),
				    summary_co2e(g->sum.co2e_n, (double)g->sum.co2e_ng, text[3]),
				    summary_part(known ? uj : NAN, (double)g->sum.energy_uj, text[4]),
				    summary_change(s, &g->sum, before ? &before->sum : NULL, text[5]) };

	return add_row(cells, row, ARRAY_SIZE(row));
}

static int print_groups(const struct summary *s, FILE *out)
{
	static const char *const titles[] = { [JOBS_BY_USER] = "User", [JOBS_BY_ACCOUNT] = "Account",
					      [JOBS_BY_PARTITION] = "Partition" };
	const struct cells_column column[] = {
		{ .title = "Rank", .width = 5 },    { .title = titles[s->by], .width = 24, .is_left = true },
		{ .title = "Jobs", .width = 10 },   { .title = "Energy", .width = 9 },
		{ .title = "Share", .width = 6 },   { .title = "CO2e", .width = 9 },
		{ .title = "Wasted", .width = 6 }, { .title = "Change", .width = 7 },
	};
	struct cells *cells = cells_create(column, ARRAY_SIZE(column), CELLS_TABLE, 0);
	const struct jobs_group **sorted = summary_sorted(&s->groups);
	int rc = cells && sorted ? 0 : -ENOMEM;
	size_t i;

	for (i = 0; rc == 0 && i < s->groups.n && i < GROUPS_SHOWN; i++)
		rc = add_group(s, cells, i + 1, sorted[i]);
	if (rc == 0)
		rc = cells_print(cells, out, /* header= */ true);
	if (rc == 0 && s->groups.n > GROUPS_SHOWN)
		(void)fprintf(out, "and %zu more: --csv and -o FILE.html have all\n", s->groups.n - GROUPS_SHOWN);
	free(sorted);
	cells_destroy(cells);
	return rc;
}

static int print_days(const struct summary *s, FILE *out)
{
	static const struct cells_column column[] = {
		{ .title = "Day", .width = 14, .is_left = true }, { .title = "Jobs", .width = 10 },
		{ .title = "Energy", .width = 9 },		  { .title = "CO2e", .width = 9 },
		{ .title = "Wasted", .width = 6 },
	};
	struct cells *cells = cells_create(column, ARRAY_SIZE(column), CELLS_TABLE, 0);
	int rc = cells ? 0 : -ENOMEM;
	unsigned int n = period_days(&s->period);
	unsigned int i;

	for (i = 0; rc == 0 && i < n; i++) {
		const struct jobs_sum *sum = &s->day[i];
		time_t when = (time_t)period_day(&s->period, i);
		char day[SCREEN_TEXT_MAX], text[4][SCREEN_TEXT_MAX];
		struct tm tm = { 0 };
		double uj = 0;
		double ng = 0;
		bool known = jobs_sum_wasted(sum, &uj, &ng);
		const char *const row[] = { day, summary_count(sum->jobs, text[0]),
					    summary_energy(sum->energy_n || !sum->jobs, (double)sum->energy_uj, text[1]),
					    summary_co2e(sum->co2e_n || !sum->jobs, (double)sum->co2e_ng, text[2]),
					    summary_part(known ? uj : NAN, (double)sum->energy_uj, text[3]) };

		if ((uint64_t)when >= s->now || !localtime_r(&when, &tm) || !strftime(day, sizeof(day), "%a %d %b", &tm))
			break;
		rc = add_row(cells, row, ARRAY_SIZE(row));
	}
	if (rc == 0)
		rc = cells_print(cells, out, /* header= */ true);
	cells_destroy(cells);
	return rc;
}

static void print_method(const struct summary *s, FILE *out)
{
	char words[SUMMARY_WORDS_MAX], jobs[SCREEN_TEXT_MAX], wh[SCREEN_TEXT_MAX];
	unsigned int i;

	fputs("How these values were found\n", out);
	for (i = 0; i < QUALITY_N; i++)
		if (s->sum.quality[i].jobs)
			(void)fprintf(out, "  %-38s %10s job%s %9s\n", jobs_quality_table[i].title,
				      summary_count(s->sum.quality[i].jobs, jobs), s->sum.quality[i].jobs == 1 ? " " : "s",
				      summary_energy(i != QUALITY_UNKNOWN, (double)s->sum.quality[i].uj, wh));
	for (i = 0; summary_note(s, i, words); i++)
		if (*words)
			put_words(out, words);
}

int summary_print_text(const struct summary *s, FILE *out)
{
	put_head(s, out);
	(void)fputc('\n', out);
	if (print_waste(s, out) < 0)
		return -ENOMEM;
	(void)fputc('\n', out);
	if (print_groups(s, out) < 0)
		return -ENOMEM;
	(void)fputc('\n', out);
	if (print_days(s, out) < 0)
		return -ENOMEM;
	(void)fputc('\n', out);
	print_method(s, out);
	return 0;
}
