/* SPDX-License-Identifier: GPL-2.0-or-later */
/* summary_text.c - writes a summary as text for a terminal or a mail. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "src/cmd/report/summary.h"
#include "src/cmd/report/summary_table.h"
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

	(void)snprintf(words, sizeof(words), "Energy and emissions: %.120s%s%.256s%s%.256s",
		       summary_title(s, title), s->whose ? ", " : "", s->whose ? s->whose : "",
		       s->cluster ? ", cluster " : "", s->cluster ? s->cluster : "");
	put_words(out, words);
	(void)fputc('\n', out);
	put_words(out, memcpy(words, summary_lead(s, title), sizeof(words)));
	if (*summary_waste_lead(s, words))
		put_words(out, words);
	if (*summary_place_words(s, words))
		put_words(out, words);
}

struct text_table {
	struct cells *cells;
	struct cells_column column[SUMMARY_COLUMNS];
	const struct summary_column *of[SUMMARY_COLUMNS]; /* for each column */
	size_t n;
	int rc;
};

static void add_columns(struct text_table *t, const struct summary_table *table, bool is_last,
			const char *title)
{
	size_t i;

	for (i = 0; i < table->n; i++) {
		const struct summary_column *c = &table->column[i];

		if (!c->text || c->is_last_in_text != is_last)
			continue;
		t->column[t->n] = (struct cells_column){ .title = *c->text ? c->text : title,
							 .width = c->width,
							 .is_left = c->looks == SUMMARY_HEAD };
		t->of[t->n++] = c;
	}
}

/* TITLE is that of a column whose row has an empty one. */
static void begin_table(struct text_table *t, enum summary_table_id id, const char *title)
{
	*t = (struct text_table){ 0 };
	add_columns(t, &summary_table[id], /* is_last= */ false, title);
	add_columns(t, &summary_table[id], /* is_last= */ true, title);
	t->cells = cells_create(t->column, t->n, CELLS_TABLE, 0);
	t->rc = t->cells ? 0 : -ENOMEM;
}

static void add_row(struct text_table *t, const struct summary_row *row)
{
	struct cell cell[SUMMARY_COLUMNS] = { 0 };
	size_t i;

	for (i = 0; i < t->n; i++)
		t->of[i]->set(&cell[i], row);
	if (t->rc == 0)
		t->rc = cells_add(t->cells, 0, cell);
}

static int end_table(struct text_table *t, FILE *out)
{
	if (t->rc == 0)
		t->rc = cells_print(t->cells, out, /* header= */ true);
	cells_destroy(t->cells);
	return t->rc;
}

static int print_waste(const struct summary *s, FILE *out)
{
	struct summary_row row;
	struct text_table t;
	unsigned int w;

	begin_table(&t, SUMMARY_CAUSES, "");
	for (w = 0; w < WASTE_N; w++) {
		summary_row_cause(&row, s, (enum jobs_waste)w);
		add_row(&t, &row);
	}
	return end_table(&t, out);
}

static int print_groups(const struct summary *s, FILE *out)
{
	static const char *const titles[] = {
		[JOBS_BY_USER] = "User", [JOBS_BY_ACCOUNT] = "Account", [JOBS_BY_PARTITION] = "Partition"
	};
	const struct jobs_group **sorted = summary_sorted(&s->groups);
	struct text_table t;
	size_t i;
	int rc;

	begin_table(&t, SUMMARY_GROUPS, titles[s->by]);
	t.rc = sorted ? t.rc : -ENOMEM;
	for (i = 0; sorted && i < s->groups.n && i < GROUPS_SHOWN; i++) {
		const struct jobs_group *before = jobs_groups_find(&s->groups_before, sorted[i]->key);
		const struct jobs_sum *sum = &sorted[i]->sum;
		struct summary_row row;

		summary_row_init(&row, s, *sorted[i]->key ? sorted[i]->key : "(none)", sum,
				 /* is_day= */ false);
		row.before = before ? &before->sum : NULL;
		row.place = sum->energy_n ? i + 1 : 0;
		add_row(&t, &row);
	}
	rc = end_table(&t, out);
	if (rc == 0 && s->groups.n > GROUPS_SHOWN)
		(void)fprintf(out, "and %zu more: --csv and -o FILE.html have all\n",
			      s->groups.n - GROUPS_SHOWN);
	free(sorted);
	return rc;
}

static int print_days(const struct summary *s, FILE *out)
{
	unsigned int n = period_days(&s->period);
	struct text_table t;
	unsigned int i;

	begin_table(&t, SUMMARY_DAYS, "");
	for (i = 0; i < n; i++) {
		time_t when = (time_t)period_day(&s->period, i);
		struct summary_row row;
		char day[SCREEN_TEXT_MAX];
		struct tm tm = { 0 };

		if ((uint64_t)when >= s->now || !localtime_r(&when, &tm) ||
		    !strftime(day, sizeof(day), "%a %d %b", &tm))
			break;
		summary_row_init(&row, s, day, &s->day[i], /* is_day= */ true);
		add_row(&t, &row);
	}
	return end_table(&t, out);
}

static void print_method(const struct summary *s, FILE *out)
{
	char words[SUMMARY_WORDS_MAX], jobs[SCREEN_TEXT_MAX], wh[SCREEN_TEXT_MAX];
	unsigned int i;

	fputs("How these values were found\n", out);
	for (i = 0; i < JOBS_QUALITY_N; i++)
		if (s->sum.quality[i].jobs)
			(void)fprintf(out, "  %-38s %10s job%s %9s\n", jobs_quality_table[i].title,
				      summary_count(s->sum.quality[i].jobs, jobs),
				      s->sum.quality[i].jobs == 1 ? " " : "s",
				      summary_energy(i != JOBS_QUALITY_UNKNOWN, (double)s->sum.quality[i].uj,
						     wh));
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
