/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/job/job_list.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "src/cmd/cmd.h"
#include "src/cmd/job/job_emissions.h"
#include "src/cmd/job/job_step.h"
#include "src/libcore/metric_text.h"
#include "src/libledger/ledger.h"
#include "src/librecord/derived.h"
#include "src/libutil/text.h"

static const char *time_text(uint64_t t, char *buf, size_t size)
{
	time_t when = (time_t)t;
	struct tm tm;

	if (!t || !localtime_r(&when, &tm) || !strftime(buf, size, "%FT%T", &tm))
		return "n/a";
	return buf;
}

/*
 * Returns true if metric M has a line: it is known, or slurmdbd could know it. Emissions
 * have lines of their own.
 */
static bool is_shown(const struct values *f, enum metric m)
{
	if (metric_table[m].kind == KIND_NODES || (metric_table[m].flags & METRIC_IN_RATIO) ||
	    m == METRIC_CO2E)
		return true;
	if (!strcmp(metric_table[m].group, "emissions"))
		return false; /* job_emissions_print() prints them */
	return values_has(f, m) || (metric_table[m].tres[0] && strcmp(metric_table[m].group, "energy") != 0);
}

static void print_row(const char *label, const char *value)
{
	cmd_print("  %-22s %s", label, value);
}

/* Prints the energy in the unit of metric_text() and in kWh. */
static void print_energy(const struct values *f)
{
	char buf[METRIC_TEXT_MAX];
	char kwh[METRIC_TEXT_MAX];

	if (values_has(f, METRIC_ENERGY))
		printf("  %-22s %s, %s\n", metric_table[METRIC_ENERGY].label,
		       metric_text(f, METRIC_ENERGY, buf, sizeof(buf)),
		       metric_text_kwh(f->value[METRIC_ENERGY], kwh, sizeof(kwh)));
	else
		print_row(metric_table[METRIC_ENERGY].label, "n/a");
}

static void print_values(const struct values *f, const struct record_emissions *e)
{
	char buf[METRIC_TEXT_MAX];
	unsigned int m;

	metric_foreach(m) {
		if (m == METRIC_ENERGY)
			print_energy(f);
		else if (is_shown(f, m))
			print_row(metric_table[m].label,
				  values_has(f, m) ? metric_text(f, m, buf, sizeof(buf)) : "n/a");
		if (m == METRIC_CO2E)
			job_emissions_print(f, e);
	}
}

static void print_ratio(enum derived d, bool known, double value)
{
	char buf[METRIC_TEXT_MAX];

	print_row(derived_table[d].label, known ? derived_text(d, value, buf, sizeof(buf)) : "n/a");
}

static void print_imbalance(const struct record_step *s, enum metric m, const char *label,
			    const struct record_spread *spread)
{
	double v;

	if (record_step_imbalance(s, m, &v))
		cmd_print("  %-22s %.1f %% above the mean on %s", label, 100 * v,
			  *spread->max_node ? spread->max_node : "a node");
}

static void print_largest(const struct record_step *s, const char *label, const struct record_spread *spread)
{
	char buf[METRIC_TEXT_MAX];

	if (spread->max.known && s->nnodes > 1)
		cmd_print("  %-22s %s on %s", label,
			  metric_text_value(UNIT_BYTES, spread->max.value, buf, sizeof(buf)),
			  *spread->max_node ? spread->max_node : "a node");
}

/* Returns the text of a step's value, or "n/a". */
static const char *cell(const struct record_step *s, enum metric m, char *buf)
{
	return values_has(&s->values, m) ? metric_text(&s->values, m, buf, METRIC_TEXT_MAX) : "n/a";
}

static const char *ratio_cell(const struct record_step *s, enum derived d, char *buf)
{
	double v;

	return record_step_derived(s, d, &v) ? derived_text(d, v, buf, METRIC_TEXT_MAX) : "n/a";
}

#define NAME_COLUMNS 10

static void print_step_row(const struct record_step *s)
{
	/* with PrologFlags=Contain, the extern step has the values of all steps together */
	const char *name = s->step_id == LEDGER_STEP_EXTERN ? "whole job" : s->name ? s->name : "";
	char cpu[METRIC_TEXT_MAX] = "n/a";
	char energy[METRIC_TEXT_MAX], co2e[METRIC_TEXT_MAX];
	char rd[METRIC_TEXT_MAX], wr[METRIC_TEXT_MAX];
	char text[4 * NAME_COLUMNS + 1];
	char id[16];
	uint64_t ns;

	if (record_step_cpu_time(s, &ns))
		(void)metric_text_value(UNIT_NS, ns, cpu, sizeof(cpu));
	(void)text_cell(name, NAME_COLUMNS, text, sizeof(text));
	printf("  %-12s %s%*s %-11.11s %12s %12s %12s %12s %12s\n",
	       ledger_step_name(s->step_id, id, sizeof(id)), text, (int)(NAME_COLUMNS - text_columns(text)),
	       "", s->state, cpu, cell(s, METRIC_ENERGY, energy), cell(s, METRIC_CO2E, co2e),
	       cell(s, METRIC_IO_READ_BYTES, rd), cell(s, METRIC_IO_WRITE_BYTES, wr));
}

static void print_long_row(const struct record_step *s)
{
	char id[16];
	char t[8][METRIC_TEXT_MAX];
	char imbalance[METRIC_TEXT_MAX] = "n/a";
	double v;

	if (record_step_imbalance(s, METRIC_CPU_TIME, &v))
		(void)snprintf(imbalance, sizeof(imbalance), "%.1f %%", 100 * v);
	printf("  %-12s %9s %9s %9s %6s %14s %12s %9s %12s %12s\n",
	       ledger_step_name(s->step_id, id, sizeof(id)), ratio_cell(s, DERIVED_CPU_EFFICIENCY, t[0]),
	       imbalance, ratio_cell(s, DERIVED_RUN_DELAY_RATE, t[1]), ratio_cell(s, DERIVED_IPC, t[2]),
	       ratio_cell(s, DERIVED_FLOP_PER_S, t[3]), ratio_cell(s, DERIVED_MEMORY_BYTES_PER_S, t[4]),
	       ratio_cell(s, DERIVED_CACHE_MISS_RATE, t[5]), cell(s, METRIC_TCP_RECEIVED_BYTES, t[6]),
	       cell(s, METRIC_TCP_SENT_BYTES, t[7]));
}

/* Prints the steps, and then the extern step, which is their sum. */
static void print_rows(const struct record *r, void (*print)(const struct record_step *))
{
	size_t i;

	for (i = 0; i < r->nsteps; i++)
		if (r->steps[i].step_id != LEDGER_STEP_EXTERN)
			print(&r->steps[i]);
	for (i = 0; i < r->nsteps; i++)
		if (r->steps[i].step_id == LEDGER_STEP_EXTERN)
			print(&r->steps[i]);
}

static void print_steps(const struct record *r)
{
	if (!r->nsteps)
		return;
	printf("  %-12s %-10s %-11s %12s %12s %12s %12s %12s\n", "STEP", "NAME", "STATE", "CPU TIME",
	       "ENERGY", "EMISSIONS", "READ", "WRITTEN");
	print_rows(r, print_step_row);
	printf("  %-12s %9s %9s %9s %6s %14s %12s %9s %12s %12s\n", "STEP", "CPU EFF", "IMBALANCE",
	       "CPU WAIT", "IPC", "FP RATE", "MEMORY BW", "MISSES", "TCP IN", "TCP OUT");
	print_rows(r, print_long_row);
}

void job_list_print(const struct record *r)
{
	char start[32];
	char end[32];
	unsigned int d;

	cmd_print("job %u  %s  %s  user %s  account %s  nodes %s  cluster %s", r->job_id,
		  r->job_name ? r->job_name : "-", r->state ? r->state : "-",
		  r->user_name ? r->user_name : "-", r->account ? r->account : "-", r->nodes ? r->nodes : "-",
		  r->cluster ? r->cluster : "-");
	printf("  %-22s %s to %s\n", "time", time_text(r->start, start, sizeof(start)),
	       time_text(r->end, end, sizeof(end)));
	if (*r->energy.source)
		printf("  %-22s %s%s\n", "energy source", r->energy.source,
		       strstr(r->energy.source, "model") ? " (an estimate)" : "");
	if (*r->energy.missing)
		printf("  %-22s %s\n", "energy, missing", r->energy.missing);
	print_values(&r->values, &r->emissions);
	for (d = 0; d < DERIVED_N; d++) {
		double v = 0;
		bool known = record_derived(r, (enum derived)d, &v);

		print_ratio((enum derived)d, known, v);
	}
	print_steps(r);
}

void job_list_step(const struct record *r, const struct record_step *s)
{
	static const struct record_emissions unknown; /* slurmdbd has no factors of a single step */
	char id[JOB_STEP_ID_MAX];
	unsigned int d;

	cmd_print("step %s  %s  %s  nodes %s", job_step_id(r->job_id, s->step_id, id), s->name ? s->name : "",
		  s->state, s->nodes ? s->nodes : "n/a");
	print_values(&s->values, &unknown);
	for (d = 0; d < DERIVED_N; d++) {
		double v = 0;
		bool known = record_step_derived(s, (enum derived)d, &v);

		print_ratio((enum derived)d, known, v);
	}
	print_imbalance(s, METRIC_CPU_TIME, "CPU time, uneven", &s->cpu_time);
	print_imbalance(s, METRIC_ENERGY, "energy, uneven", &s->energy);
	print_largest(s, "memory, largest node", &s->memory);
}
