/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * summary_html.c - writes a summary as an HTML page of one file.
 */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "ceems_config.h"
#include "src/cmd/html.h"
#include "src/cmd/report/summary_table.h"
#include "src/cmd/report/summary_words.h"
#include "src/librecord/screen_text.h"

/* The most rows of a table in the page; the CSV has all of them. */
#define GROUPS_SHOWN 100

/* Writes the label of a mark of the axis for energy; marks are at round numbers. Returns BUF. */
static const char *energy_mark(double wh, char *buf)
{
	if (wh >= 1e6)
		(void)snprintf(buf, SCREEN_TEXT_MAX, "%g MWh", wh / 1e6);
	else if (wh >= 1e3)
		(void)snprintf(buf, SCREEN_TEXT_MAX, "%g kWh", wh / 1e3);
	else if (wh >= 1 || wh <= 0)
		(void)snprintf(buf, SCREEN_TEXT_MAX, "%g%s", wh, wh > 0 ? " Wh" : "");
	else
		(void)snprintf(buf, SCREEN_TEXT_MAX, "%g mWh", wh * 1e3);
	return buf;
}

static const char *mass_mark(double g, char *buf)
{
	if (g >= 1e6)
		(void)snprintf(buf, SCREEN_TEXT_MAX, "%g t", g / 1e6);
	else if (g >= 1e3)
		(void)snprintf(buf, SCREEN_TEXT_MAX, "%g kg", g / 1e3);
	else if (g >= 1 || g <= 0)
		(void)snprintf(buf, SCREEN_TEXT_MAX, "%g%s", g, g > 0 ? " g" : "");
	else
		(void)snprintf(buf, SCREEN_TEXT_MAX, "%g mg", g * 1e3);
	return buf;
}

/* --- head -------------------------------------------------------------------------------------- */

static void put_head(const struct summary *s, const struct summary_links *links, FILE *out)
{
	char title[SUMMARY_WORDS_MAX], head[SUMMARY_WORDS_MAX + 512];
	char from[SCREEN_TEXT_MAX], to[SCREEN_TEXT_MAX], made[SCREEN_TEXT_MAX];
	time_t first = (time_t)s->period.from;
	time_t last = (time_t)(s->period.to - 1);
	time_t now = (time_t)s->now;
	struct tm tm = { 0 };

	(void)summary_title(s, title);
	(void)snprintf(head, sizeof(head), "Energy and emissions, %s%s%s", title, s->whose ? ": " : "",
		       s->whose ? s->whose : "");
	html_begin(out, head, "");
	if (links && links->up) {
		fputs("<nav><a href=\"", out);
		html_text(out, links->up);
		fputs("\">", out);
		html_text(out, links->up_title);
		fputs("</a></nav>\n", out);
	}
	html_element(out, "h1", NULL, "Energy and emissions: %s", title);
	if (!localtime_r(&first, &tm) || !strftime(from, sizeof(from), "%e %b", &tm))
		from[0] = '\0';
	if (!localtime_r(&last, &tm) || !strftime(to, sizeof(to), "%e %b %Y", &tm))
		to[0] = '\0';
	if (!localtime_r(&now, &tm) || !strftime(made, sizeof(made), "%e %b %Y, %H:%M", &tm))
		made[0] = '\0';
	html_element(out, "p", "about", "%s%s%s%s%s to %s. Made %s.", s->whose ? s->whose : "",
		     s->cluster ? ", cluster " : "", s->cluster ? s->cluster : "",
		     s->whose || s->cluster ? ", " : "", from + strspn(from, " "), to + strspn(to, " "),
		     made + strspn(made, " "));
	html_main(out);
}

static void put_tiles(const struct summary *s, FILE *out)
{
	const struct jobs_sum *sum = &s->sum;
	char value[SCREEN_TEXT_MAX], note[PERIOD_TEXT_MAX + SCREEN_TEXT_MAX + 32], title[PERIOD_TEXT_MAX];
	char text[SCREEN_TEXT_MAX];
	double uj = 0;
	double ng = 0;
	bool known = jobs_sum_wasted(sum, &uj, &ng);

	fputs("<dl class=\"tiles\">\n", out);
	(void)summary_change(s, sum, &s->sum_before, text);
	note[0] = '\0';
	if (strcmp(text, "n/a") != 0)
		(void)snprintf(note, sizeof(note), "%s against %s", text, period_title(&s->before, title));
	else if (s->sum_before.energy_n)
		(void)snprintf(note, sizeof(note), "%s: %s", period_title(&s->before, title),
			       summary_energy(true, (double)s->sum_before.energy_uj, text));
	html_tile(out, "Energy", summary_energy(sum->energy_n, (double)sum->energy_uj, value), note);
	note[0] = '\0';
	if (sum->co2e_n && sum->energy_uj)
		(void)snprintf(note, sizeof(note), "%.0f g for each kWh",
			       (double)sum->co2e_ng / NG_PER_G / ((double)sum->energy_uj / UJ_PER_WH / 1e3));
	html_tile(out, "Emissions (CO2e)", summary_co2e(sum->co2e_n, (double)sum->co2e_ng, value),
		  sum->co2e_n == sum->energy_n ? note : "");
	(void)snprintf(note, sizeof(note), "%s%s of the energy", sum->waste_lacks_n ? "at least " : "",
		       summary_part(known ? uj : NAN, (double)sum->energy_uj, text));
	html_tile(out, "Wasted", summary_energy(known, uj, value), known && sum->energy_uj ? note : "");
	(void)snprintf(note, sizeof(note), "%s of them failed",
		       sum->failed ? summary_count(sum->failed, text) : "none");
	html_tile(out, "Jobs", summary_count(sum->jobs, value), sum->jobs ? note : "");
	html_tile(out, "CPUs busy",
		  summary_part(sum->cpu_held_ns > 0 ? sum->cpu_ns : NAN, sum->cpu_held_ns, value),
		  sum->cpu_held_ns > 0 ? "of the time that jobs held them" : "");
	fputs("</dl>\n", out);
}

/* --- tables ------------------------------------------------------------------------------------ */

/* TITLE is that of a column whose row has an empty one. */
static void begin_table(FILE *out, enum summary_table_id id, const char *name, const char *title)
{
	const struct summary_table *table = &summary_table[id];
	const char *titles[SUMMARY_COLUMNS];
	size_t i, n = 0;

	for (i = 0; i < table->n; i++)
		if (table->column[i].html)
			titles[n++] = *table->column[i].html ? table->column[i].html : title;
	html_table_begin(out, name, /* caption= */ NULL, titles, n);
}

static void put_number(FILE *out, enum summary_table_id id, const struct summary_column *c,
		       const struct cell *cell)
{
	const char *text = cell->kind != CELL_UNKNOWN ? cell->shown : c->unknown ? c->unknown : "n/a";

	if (id != SUMMARY_DAYS) {
		html_number(out, text);
		return;
	}
	/* a row of days is one line of the page */
	fputs("<td class=\"number\">", out);
	html_text(out, text);
	fputs("</td>", out);
}

static void put_cells(FILE *out, enum summary_table_id id, const struct summary_row *row, const char *link)
{
	size_t i;

	for (i = 0; i < summary_table[id].n; i++) {
		const struct summary_column *c = &summary_table[id].column[i];
		struct cell cell = { .kind = CELL_UNKNOWN };

		if (!c->html)
			continue;
		c->set(&cell, row);
		if (row->is_total && c->is_empty_in_total)
			fputs(c->looks == SUMMARY_BAR ? "<td class=\"gap\"></td>" : "<td></td>", out);
		else if (c->looks == SUMMARY_HEAD)
			html_row_head(out, cell.text, link, "");
		else if (c->looks == SUMMARY_BAR)
			html_bar(out, cell.ratio, id == SUMMARY_CAUSES ? "lost" : "used");
		else if (c->looks == SUMMARY_HELP)
			html_element(out, "td", "help", "%s", cell.text);
		else
			put_number(out, id, c, &cell);
	}
}

static void put_row(FILE *out, enum summary_table_id id, const struct summary_row *row, const char *link)
{
	fputs("<tr>", out);
	put_cells(out, id, row, link);
	fputs("</tr>\n", out);
}

/* --- days -------------------------------------------------------------------------------------- */

struct day {
	struct html_column energy, co2e;
	char date[SCREEN_TEXT_MAX];
	struct summary_row row;
	bool is_future;
};

static void fill_day(const struct summary *s, unsigned int i, struct day *d)
{
	time_t when = (time_t)period_day(&s->period, i);
	char wh[SCREEN_TEXT_MAX], mass[SCREEN_TEXT_MAX], lost[SCREEN_TEXT_MAX];
	struct tm tm = { 0 };
	double uj = 0;
	double ng = 0;

	*d = (struct day){ .is_future = (uint64_t)when >= s->now };
	if (!localtime_r(&when, &tm) || !strftime(d->date, sizeof(d->date), "%a %d %b", &tm))
		return;
	(void)snprintf(d->energy.label, sizeof(d->energy.label), "%.*s%d",
		       s->period.kind == PERIOD_WEEK ? 4 : 0, d->date, tm.tm_mday);
	memcpy(d->co2e.label, d->energy.label, sizeof(d->co2e.label));
	if (d->is_future)
		return;
	(void)jobs_sum_wasted(&s->day[i], &uj, &ng);
	summary_row_init(&d->row, s, d->date, &s->day[i], /* is_day= */ true);
	d->energy.whole = d->row.has_energy ? d->row.uj / UJ_PER_WH : -1;
	d->energy.part = uj / UJ_PER_WH;
	d->co2e.whole = d->row.has_co2e ? d->row.ng / NG_PER_G : -1;
	d->co2e.part = ng / NG_PER_G;
	(void)snprintf(d->energy.title, sizeof(d->energy.title), "%.20s: %.20s, of it wasted %.20s", d->date,
		       summary_energy(d->row.has_energy, d->row.uj, wh),
		       summary_energy(d->row.has_waste, uj, lost));
	(void)snprintf(d->co2e.title, sizeof(d->co2e.title), "%.20s: %.20s", d->date,
		       summary_co2e(d->row.has_co2e, d->row.ng, mass));
}

static void put_day_rows(const struct day *day, unsigned int n, FILE *out)
{
	unsigned int i;

	fputs("<details>\n<summary>The same in numbers</summary>\n", out);
	begin_table(out, SUMMARY_DAYS, "Days in numbers", NULL);
	for (i = 0; i < n && !day[i].is_future; i++)
		put_row(out, SUMMARY_DAYS, &day[i].row, /* link= */ NULL);
	html_table_end(out);
	fputs("</details>\n", out);
}

static void put_key(const char *class, const char *name, FILE *out)
{
	(void)fprintf(out,
		      "<li><svg viewBox=\"0 0 1 1\" aria-hidden=\"true\"><rect class=\"%s\" width=\"1\" "
		      "height=\"1\"/></svg>%s"
		      "</li>",
		      class, name);
}

static void put_days(const struct summary *s, FILE *out)
{
	struct html_column energy[PERIOD_DAYS_MAX], co2e[PERIOD_DAYS_MAX];
	struct day day[PERIOD_DAYS_MAX];
	unsigned int n = period_days(&s->period);
	bool any_unknown = false;
	unsigned int i;

	for (i = 0; i < n; i++) {
		fill_day(s, i, &day[i]);
		any_unknown |= day[i].energy.whole < 0 || day[i].co2e.whole < 0;
		energy[i] = day[i].energy;
		co2e[i] = day[i].co2e;
	}
	fputs("<section>\n<h2>Day by day</h2>\n<ul class=\"legend\">", out);
	put_key("used", "used", out);
	put_key("lost", "wasted", out);
	if (any_unknown)
		put_key("unknown", "not known", out);
	fputs("</ul>\n<div class=\"pair\">\n<div><p class=\"note\">Energy of the jobs that ended on that "
	      "day</p>\n",
	      out);
	html_chart(out, "Energy of each day, and the part of it that was wasted", energy, n, energy_mark);
	fputs("</div>\n<div><p class=\"note\">Their emissions (CO2e)</p>\n", out);
	html_chart(out, "Emissions of each day, and the part of them that was wasted", co2e, n, mass_mark);
	fputs("</div>\n</div>\n", out);
	put_day_rows(day, n, out);
	fputs("</section>\n", out);
}

/* --- waste ------------------------------------------------------------------------------------- */

static void put_idle_note(const struct summary *s, FILE *out)
{
	bool is_whole = jobs_sum_idle_is_whole(&s->sum);
	char share[SCREEN_TEXT_MAX], of[SCREEN_TEXT_MAX] = "";

	if (!s->sum.idle_n)
		return;
	if (!is_whole)
		(void)summary_energy(true, s->sum.idle_of_uj, of);
	html_element(
		out, "p", "note",
		"%s of the energy%s%s%s is idle power: what the hardware that jobs held draws even when it "
		"does nothing.",
		summary_part(s->sum.idle_uj, s->sum.idle_of_uj, share),
		is_whole ? "" : " of which that is known (", of, is_whole ? "" : ")");
}

static void put_waste(const struct summary *s, FILE *out)
{
	struct summary_row row, total = { .s = s, .name = "Together", .is_total = true };
	char words[SUMMARY_WORDS_MAX];
	double most = 0;
	unsigned int w;

	for (w = 0; w < WASTE_N; w++)
		most = s->sum.waste[w].uj > most ? s->sum.waste[w].uj : most;
	fputs("<section>\n<h2>What was wasted, and why</h2>\n", out);
	if (*summary_waste_lead(s, words))
		html_element(out, "p", NULL, "%s", words);
	begin_table(out, SUMMARY_CAUSES, "What was wasted", NULL);
	for (w = 0; w < WASTE_N; w++) {
		summary_row_cause(&row, s, (enum jobs_waste)w);
		row.most_uj = most;
		put_row(out, SUMMARY_CAUSES, &row, /* link= */ NULL);
	}
	total.has_energy = jobs_sum_wasted(&s->sum, &total.uj, &total.ng);
	total.has_co2e = total.has_energy && s->sum.co2e_n;
	fputs("</tbody>\n<tfoot><tr>", out);
	put_cells(out, SUMMARY_CAUSES, &total, /* link= */ NULL);
	fputs("</tr></tfoot>\n</table>\n</div>\n", out);
	put_idle_note(s, out);
	fputs("</section>\n", out);
}

/* --- groups ------------------------------------------------------------------------------------ */

static void put_group(const struct summary *s, const struct summary_links *links, const struct jobs_group *g,
		      size_t place, double most, FILE *out)
{
	const struct jobs_group *before = jobs_groups_find(&s->groups_before, g->key);
	struct summary_row row;
	char page[512];

	summary_row_init(&row, s, *g->key ? g->key : "(none)", &g->sum, /* is_day= */ false);
	row.before = before ? &before->sum : NULL;
	row.place = g->sum.energy_n ? place : 0;
	row.was = summary_rank(&s->groups_before, before);
	row.most_uj = most;
	put_row(out, SUMMARY_GROUPS, &row,
		links && links->group ? links->group(s, g->key, page, sizeof(page)) : NULL);
}

static int put_groups(const struct summary *s, const struct summary_links *links, FILE *out)
{
	const struct jobs_group **sorted = summary_sorted(&s->groups);
	const char *title = s->by == JOBS_BY_USER      ? "User" :
			    s->by == JOBS_BY_PARTITION ? "Partition" :
							 "Account";
	char name[32];
	size_t i;

	if (!sorted)
		return -ENOMEM;
	(void)snprintf(name, sizeof(name), "By %c%s", title[0] - 'A' + 'a', title + 1);
	fputs("<section class=\"long\">\n", out);
	html_element(out, "h2", NULL, "%s", name);
	begin_table(out, SUMMARY_GROUPS, name, title);
	for (i = 0; i < s->groups.n && i < GROUPS_SHOWN; i++)
		put_group(s, links, sorted[i], i + 1, (double)sorted[0]->sum.energy_uj, out);
	html_table_end(out);
	if (s->groups.n > GROUPS_SHOWN)
		html_element(out, "p", "note",
			     "And %zu more with less energy, which the CSV and the JSON have.",
			     s->groups.n - GROUPS_SHOWN);
	fputs("</section>\n", out);
	free(sorted);
	return 0;
}

/* --- method ------------------------------------------------------------------------------------ */

static void put_method(const struct summary *s, FILE *out)
{
	char words[SUMMARY_WORDS_MAX];
	struct summary_row row;
	unsigned int i;

	fputs("<section>\n<h2>How these values were found</h2>\n", out);
	begin_table(out, SUMMARY_METHODS, "How energy is known", NULL);
	for (i = 0; i < JOBS_QUALITY_N; i++) {
		if (!s->sum.quality[i].jobs)
			continue;
		summary_row_method(&row, s, (enum jobs_quality)i);
		put_row(out, SUMMARY_METHODS, &row, /* link= */ NULL);
	}
	html_table_end(out);
	fputs("<ul class=\"notes\">\n", out);
	for (i = 0; summary_note(s, i, words); i++)
		if (*words)
			html_element(out, "li", NULL, "%s", words);
	fputs("</ul>\n</section>\n", out);
}

int summary_print_html(const struct summary *s, const struct summary_links *links, FILE *out)
{
	char words[SUMMARY_WORDS_MAX];

	put_head(s, links, out);
	html_element(out, "p", "lead", "%s", summary_lead(s, words));
	if (*summary_place_words(s, words))
		html_element(out, "p", NULL, "%s", words);
	put_tiles(s, out);
	if (s->sum.jobs) {
		put_days(s, out);
		put_waste(s, out);
		if (put_groups(s, links, out) < 0)
			return -ENOMEM;
		put_method(s, out);
	}
	if (links && links->data) {
		fputs("<p class=\"note\"><a href=\"", out);
		html_text(out, links->data);
		fputs("\">The same for programs (JSON)</a></p>\n", out);
	}
	(void)snprintf(words, sizeof(words), "Made by slurm-ceems " PACKAGE_VERSION " from %s%s.",
		       s->database ? "the database of the sink " : "Slurm's accounting database",
		       s->database ? s->database : "");
	html_end(out, words);
	return 0;
}
