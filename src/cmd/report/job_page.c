/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/report/job_page.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "ceems_config.h"
#include "src/cmd/cells.h"
#include "src/cmd/html.h"
#include "src/libcore/domain.h"
#include "src/libcore/metric_text.h"
#include "src/libledger/ledger.h"
#include "src/librecord/job_rows.h"
#include "src/librecord/job_sums.h"
#include "src/libtrace/trace_draw.h"

/* The most rows of a table in the page; the CSV has all of them. */
#define ROWS_SHOWN 200

static const char *colour_class(enum screen_colour c)
{
	return c == SCREEN_GOOD ? "good" : c == SCREEN_FAIR ? "fair" : c == SCREEN_BAD ? "bad" : "plain";
}

/* --- the screen -------------------------------------------------------------------------------- */

static void put_head(const struct job_page *p, const struct job_head *h, FILE *out)
{
	char title[600];

	(void)snprintf(title, sizeof(title), "%s: %s", h->text[JOB_HEAD_ID], h->text[JOB_HEAD_NAME]);
	html_begin(out, title, "");
	html_element(out, "h1", NULL, "%s", title);
	fputs("<p class=\"about\">", out);
	(void)fprintf(out, "<span class=\"state %s\">", colour_class(h->colour));
	html_text(out, h->text[JOB_HEAD_STATE]);
	fputs("</span>, ", out);
	html_text(out, h->text[JOB_HEAD_USER]);
	fputs(", partition ", out);
	html_text(out, h->text[JOB_HEAD_PARTITION]);
	fputs(p->screen.n > 1 ? ", " : ", on ", out);
	html_text(out, h->text[JOB_HEAD_NODES]);
	fputs("</p>\n", out);
	html_main(out);
}

/* Writes a row of the job's screen as a row of a table. */
static void put_row(FILE *out, const struct screen_row *row)
{
	char share[SCREEN_TEXT_MAX];

	fputs(*row->label ? "<tr>" : "<tr><td></td>", out);
	if (*row->label)
		html_row_head(out, row->label, /* link= */ NULL, "");
	if (row->bar >= 0) {
		html_number(out, screen_share(row->bar, share));
		html_bar(out, row->bar, colour_class(row->colour));
		fputs("<td>", out);
	} else {
		fputs("<td colspan=\"3\">", out);
	}
	html_text(out, row->text);
	if (*row->note) {
		fputs(" <span class=\"note\">", out);
		html_text(out, row->note);
		fputs("</span>", out);
	}
	fputs("</td></tr>\n", out);
}

static void put_rows(const struct job_page *p, FILE *out)
{
	const struct screen screen = { .out = out, .row = put_row };
	struct job_sums sum;

	job_sums_add(&p->screen, &sum);
	fputs("<section>\n<h2>What it used</h2>\n<table class=\"rows\">\n<tbody>\n", out);
	job_rows_print(&screen, &p->screen, &sum);
	fputs("</tbody>\n</table>\n</section>\n", out);
}

/* --- advice ------------------------------------------------------------------------------------ */

static bool is_link(const char *link)
{
	return !strncmp(link, "https://", 8) || !strncmp(link, "http://", 7);
}

static void put_advice(const struct job_page *p, FILE *out)
{
	char saving[METRIC_TEXT_MAX * 3];
	size_t i;

	if (!p->nadvice)
		return;
	fputs("<section>\n<h2>Advice</h2>\n<ul class=\"advice\">\n", out);
	for (i = 0; i < p->nadvice; i++) {
		const struct advice *a = &p->advice[i];

		fputs("<li>", out);
		html_element(out, "strong", NULL, "%s", a->what);
		if (*a->type) {
			html_element(out, "code", NULL, "%s", a->type);
			fputs("<br>", out);
		}
		if (*advice_saving_text(a, /* with_co2e= */ true, saving, sizeof(saving)))
			html_element(out, "span", NULL, "%s.", saving);
		html_element(out, "span", "note", "%s", a->rule->why);
		if (is_link(a->link)) {
			fputs("<a href=\"", out);
			html_text(out, a->link);
			fputs("\">More about this</a>", out);
		}
		fputs("</li>\n", out);
	}
	fputs("</ul>\n</section>\n", out);
}

/* --- energy by part of the machine ------------------------------------------------------------- */

static void put_domain(const struct values *f, const struct domain_info *d, double all, FILE *out)
{
	static const char *const words[DOMAIN_N] = { "Processors (CPU)", "Memory (DRAM)", "GPUs",
						     "Fans, disks, power supplies and all else" };
	char text[SCREEN_TEXT_MAX];
	double uj = (double)f->value[d->energy];

	if (!values_has(f, d->energy) || !f->value[d->energy])
		return;
	fputs("<tr>", out);
	html_row_head(out, words[d - domain_table], /* link= */ NULL, "");
	html_number(out, screen_wh(f->value[d->energy], text));
	html_bar(out, all > 0 ? uj / all : 0, "used");
	html_number(out, all > 0 ? screen_share(uj / all, text) : "n/a");
	html_number(out,
		    values_has(f, d->fixed) ? screen_share((double)f->value[d->fixed] / uj, text) : "n/a");
	html_number(out, values_has(f, d->co2e) ? metric_text(f, d->co2e, text, sizeof(text)) : "n/a");
	fputs("</tr>\n", out);
}

static void put_domains(const struct job_page *p, FILE *out)
{
	static const char *const columns[] = { "Part", "#Energy", "#", "#Of all", "#Of it idle", "#CO2e" };
	struct job_sums sum;
	bool any = false;
	size_t i;

	job_sums_add(&p->screen, &sum);
	for (i = 0; i < DOMAIN_N; i++)
		any |= values_has(&sum.f, domain_table[i].energy) && sum.f.value[domain_table[i].energy];
	if (!any)
		return;
	fputs("<section>\n<h2>Where the energy went</h2>\n", out);
	html_table_begin(out, "Where the energy went", /* caption= */ NULL, columns, ARRAY_SIZE(columns));
	for (i = 0; i < DOMAIN_N; i++)
		put_domain(&sum.f, &domain_table[i],
			   values_has(&sum.f, METRIC_ENERGY) ? (double)sum.f.value[METRIC_ENERGY] : 0, out);
	html_table_end(out);
	fputs("</section>\n", out);
}

static void put_trace(const struct job_page *p, const struct job_head *h, FILE *out)
{
	if (!p->trace)
		return;
	fputs("<section>\n<h2>Over time</h2>\n<div class=\"trace\" tabindex=\"0\" role=\"region\" "
	      "aria-label=\"Over time\">\n",
	      out);
	(void)trace_svg_draw(p->trace, h->text[JOB_HEAD_ID], out);
	fputs("</div>\n</section>\n", out);
}

static void put_flame(const struct job_page *p, FILE *out)
{
	if (!p->flame)
		return;
	fputs("<section>\n<h2>Where the time went</h2>\n<div class=\"trace\" tabindex=\"0\" role=\"region\" "
	      "aria-label=\"Where the time went\">\n",
	      out);
	p->flame(p->flame_owner, out);
	fputs("</div>\n</section>\n", out);
}

/* --- parts and steps --------------------------------------------------------------------------- */

static void put_values(const struct values *f, FILE *out)
{
	static const enum metric shown[] = { METRIC_ENERGY, METRIC_CO2E, METRIC_IO_READ_BYTES,
					     METRIC_IO_WRITE_BYTES };
	char text[SCREEN_TEXT_MAX];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(shown); i++) {
		enum metric m = shown[i];

		html_number(out, !values_has(f, m)  ? "n/a" :
				 m == METRIC_ENERGY ? screen_wh(f->value[m], text) :
						      metric_text(f, m, text, sizeof(text)));
	}
}

static void put_step(const struct record_step *s, FILE *out)
{
	/* the extern step has the values of all steps together */
	bool is_whole = s->step_id == LEDGER_STEP_EXTERN;
	char id[16], text[SCREEN_TEXT_MAX];
	uint64_t ran_s, ns;
	double share;

	fputs("<tr>", out);
	html_row_head(out, is_whole ? "whole job" : ledger_step_name(s->step_id, id, sizeof(id)),
		      /* link= */ NULL, "");
	html_element(out, "td", NULL, "%s", is_whole ? "" : s->name ? s->name : "");
	html_element(out, "td", NULL, "%s", s->state);
	html_number(out, record_step_run_s(s, &ran_s) ? screen_seconds(ran_s, text) : "n/a");
	html_number(out, record_step_cpu_time(s, &ns) ? screen_time(ns, text) : "n/a");
	html_number(out, record_step_derived(s, DERIVED_CPU_EFFICIENCY, &share) ? screen_share(share, text) :
										  "n/a");
	put_values(&s->values, out);
	fputs("</tr>\n", out);
}

static void put_steps(const struct record *r, FILE *out)
{
	static const char *const columns[] = { "Step",	     "Name",	"State", "#Time", "#CPU time",
					       "#CPUs busy", "#Energy", "#CO2e", "#Read", "#Written" };
	size_t shown = 0;
	size_t i;

	if (!r->nsteps)
		return;
	fputs("<section class=\"long\">\n<h2>Steps</h2>\n", out);
	html_table_begin(out, "Steps", /* caption= */ NULL, columns, ARRAY_SIZE(columns));
	for (i = 0; i < r->nsteps && shown < ROWS_SHOWN; i++)
		if (r->steps[i].step_id != LEDGER_STEP_EXTERN) {
			put_step(&r->steps[i], out);
			shown++;
		}
	for (i = 0; i < r->nsteps; i++)
		if (r->steps[i].step_id == LEDGER_STEP_EXTERN)
			put_step(&r->steps[i], out);
	html_table_end(out);
	if (r->nsteps > shown + 1)
		html_element(out, "p", "note", "Of %zu steps the first %zu are shown; the CSV has all.",
			     r->nsteps, shown);
	fputs("</section>\n", out);
}

static void put_part(const struct job_page *p, const struct record *r, FILE *out)
{
	char id[96], text[SCREEN_TEXT_MAX];
	double share = job_cpu_share(&p->screen, r);
	struct job_memory m;

	job_id_text(r, id, sizeof(id));
	job_memory_find(r, &m);
	fputs("<tr>", out);
	html_row_head(out, id, /* link= */ NULL, "");
	html_element(out, "td", NULL, "%s", r->state ? r->state : "n/a");
	html_number(out, r->start ? screen_seconds(job_elapsed_s(&p->screen, r), text) : "n/a");
	html_number(out, share >= 0 ? screen_share(share, text) : "n/a");
	html_number(out, m.peak && m.allocated ? screen_share(m.share, text) : "n/a");
	put_values(&r->values, out);
	fputs("</tr>\n", out);
}

static void put_parts(const struct job_page *p, FILE *out)
{
	static const char *const columns[] = { "Part",	  "State", "#Time", "#CPUs busy", "#Memory used",
					       "#Energy", "#CO2e", "#Read", "#Written" };
	size_t i;

	fputs("<section class=\"long\">\n<h2>Parts</h2>\n", out);
	html_table_begin(out, "Parts", /* caption= */ NULL, columns, ARRAY_SIZE(columns));
	for (i = 0; i < p->screen.n && i < ROWS_SHOWN; i++)
		put_part(p, p->screen.part[i], out);
	html_table_end(out);
	if (p->screen.n > ROWS_SHOWN)
		html_element(out, "p", "note", "Of %zu parts the first %d are shown; the CSV has all.",
			     p->screen.n, ROWS_SHOWN);
	fputs("</section>\n", out);
}

/* --- all of it --------------------------------------------------------------------------------- */

static void put_tiles(const struct job_page *p, FILE *out)
{
	char value[SCREEN_TEXT_MAX], note[2 * SCREEN_TEXT_MAX] = "", watts[SCREEN_TEXT_MAX];
	struct job_sums sum;

	job_sums_add(&p->screen, &sum);
	fputs("<dl class=\"tiles\">\n", out);
	html_tile(out, "Run time", sum.started ? screen_seconds(sum.elapsed_s, value) : "n/a",
		  p->screen.n > 1 ? "of all parts together" : "");
	if (sum.energy_n && sum.energy_ns > 0)
		(void)snprintf(note, sizeof(note), "%s on average%s",
			       screen_watts((double)sum.f.value[METRIC_ENERGY] * 1e3 / sum.energy_ns, watts),
			       p->screen.n > 1 ? ", each" : "");
	html_tile(out, "Energy", sum.energy_n ? screen_wh(sum.f.value[METRIC_ENERGY], value) : "n/a", note);
	html_tile(out, "Emissions (CO2e)",
		  sum.co2e_n ? metric_text(&sum.f, METRIC_CO2E, value, sizeof(value)) : "n/a", "");
	html_tile(out, "CPUs busy",
		  sum.cpu_held_ns > 0 ? screen_share(sum.cpu_ns / sum.cpu_held_ns, value) : "n/a", "");
	fputs("</dl>\n", out);
}

int job_page_print(const struct job_page *p, FILE *out)
{
	struct job_head h;

	job_head_fill(&p->screen, &h);
	put_head(p, &h, out);
	put_tiles(p, out);
	put_advice(p, out);
	put_rows(p, out);
	put_domains(p, out);
	put_trace(p, &h, out);
	put_flame(p, out);
	if (p->screen.n > 1)
		put_parts(p, out);
	else
		put_steps(p->screen.part[0], out);
	html_end(out, "What is not known is n/a, and never 0. Made by slurm-ceems " PACKAGE_VERSION ".");
	return ferror(out) && errno == ENOMEM ? -ENOMEM : 0;
}

/* --- CSV --------------------------------------------------------------------------------------- */

enum { CELL_JOB, CELL_STEP, CELL_NAME, CELL_STATE, CELL_NODES, CELL_TIME, CELL_CPU_TIME, CELL_VALUES };
static const enum metric csv_metrics[] = { METRIC_ENERGY, METRIC_CO2E, METRIC_MEMORY_PEAK,
					   METRIC_IO_READ_BYTES, METRIC_IO_WRITE_BYTES };
#define CSV_CELLS (CELL_VALUES + ARRAY_SIZE(csv_metrics))

static void set_text(struct cell *cell, const char *text)
{
	*cell = (struct cell){ .kind = text && *text ? CELL_TEXT : CELL_UNKNOWN, .text = text };
}

static void set_number(struct cell *cell, bool known, uint64_t number, uint64_t scale)
{
	*cell = known ? (struct cell){ .kind = CELL_DECIMAL, .number = number, .scale = scale } :
			(struct cell){ 0 };
}

static void set_values(struct cell *cell, const struct values *f)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(csv_metrics); i++) {
		enum metric m = csv_metrics[i];

		set_number(&cell[CELL_VALUES + i], values_has(f, m), f->value[m],
			   unit_table[metric_table[m].unit].scale);
	}
}

static int add_job(struct cells *cells, const struct record *r, uint64_t now)
{
	const struct job_screen at = { .now = now };
	struct cell cell[CSV_CELLS];
	char id[96], step[16];
	uint64_t ran_s = 0, ns = 0;
	bool is_known;
	size_t i;
	int rc;

	job_id_text(r, id, sizeof(id));
	memset(cell, 0, sizeof(cell));
	set_text(&cell[CELL_JOB], id);
	set_text(&cell[CELL_NAME], r->job_name);
	set_text(&cell[CELL_STATE], r->state);
	set_text(&cell[CELL_NODES], r->nodes);
	set_number(&cell[CELL_TIME], r->start != 0, job_elapsed_s(&at, r), 1);
	is_known = record_cpu_time(r, &ns);
	set_number(&cell[CELL_CPU_TIME], is_known, ns, UINT64_C(1000000000));
	set_values(cell, &r->values);
	rc = cells_add(cells, 0, cell);
	for (i = 0; rc == 0 && i < r->nsteps; i++) {
		const struct record_step *s = &r->steps[i];

		set_text(&cell[CELL_STEP], ledger_step_name(s->step_id, step, sizeof(step)));
		set_text(&cell[CELL_NAME], s->name);
		set_text(&cell[CELL_STATE], s->state);
		set_text(&cell[CELL_NODES], s->nodes);
		is_known = record_step_run_s(s, &ran_s);
		set_number(&cell[CELL_TIME], is_known, ran_s, 1);
		is_known = record_step_cpu_time(s, &ns);
		set_number(&cell[CELL_CPU_TIME], is_known, ns, UINT64_C(1000000000));
		set_values(cell, &s->values);
		rc = cells_add(cells, 0, cell);
	}
	return rc;
}

int job_page_csv(const struct record *const *part, size_t n, uint64_t now, FILE *out)
{
	static const struct cells_column columns[CSV_CELLS] = {
		{ .key = "jobid" },	 { .key = "step" },
		{ .key = "name" },	 { .key = "state" },
		{ .key = "nodes" },	 { .key = "elapsed_s" },
		{ .key = "cpu_time_s" }, { .key = "energy_j" },
		{ .key = "co2e_g" },	 { .key = "memory_peak_bytes" },
		{ .key = "read_bytes" }, { .key = "write_bytes" },
	};
	struct cells *cells = cells_create(columns, CSV_CELLS, CELLS_CSV, 0);
	int rc = cells ? 0 : -ENOMEM;
	size_t i;

	for (i = 0; rc == 0 && i < n; i++)
		rc = add_job(cells, part[i], now);
	if (rc == 0)
		rc = cells_print(cells, out, /* header= */ true);
	cells_destroy(cells);
	return rc;
}
