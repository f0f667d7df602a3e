/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/librecord/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "src/libcore/metric_text.h"
#include "src/librecord/derived.h"
#include "src/librecord/job_rows.h"
#include "src/librecord/report_text.h"
#include "src/libutil/clock.h"
#include "src/libutil/text.h"

/* Writes ratio D as text. False: unknown. */
static bool report_ratio(const struct report_input *in, enum derived d, char *text)
{
	double v;

	if (!derived_value(d, in->values, in->elapsed_ns, in->id->step_cpus, &v))
		return false;
	(void)derived_text(d, v, text, METRIC_TEXT_MAX);
	return true;
}

/* Writes the ratio and WHAT: "1.2 % missed"; "" if unknown. */
static void note_ratio(const struct report_input *in, enum derived d, const char *what, char *note)
{
	char text[METRIC_TEXT_MAX];

	note[0] = '\0';
	if (report_ratio(in, d, text))
		(void)snprintf(note, REPORT_NOTE_MAX, "%s%s%s", text, *what ? " " : "", what);
}

/* --- groups ----------------------------------------------------------------------------- */

/* Prints the rows of `ceems job` for the values that the step has on this node. */
static int put_screen(struct report_text *t, const struct report_input *in)
{
	const uint64_t start = in->id->start_wall_ns / NSEC_PER_SEC;
	struct record r = { .job_id = in->id->job_id, .total_cpus = in->id->step_cpus, .total_nodes = 1 };
	const struct record *part = &r;
	const struct job_screen s = { .part = &part, .n = 1, .elapsed_ns = in->elapsed_ns };
	_cleanup_free_ char *text = NULL;
	struct screen out = { 0 };
	struct job_sums sum;
	size_t size;

	r.start = start ? start : 1;
	r.end = r.start + in->elapsed_ns / NSEC_PER_SEC;
	r.energy.final = true;
	r.values = *in->values;
	r.emissions.pue_milli = in->pue_milli;
	r.emissions.factor_ug_per_kwh = (struct maybe_u64){ in->factor_ug_per_kwh,
							    in->factor_ug_per_kwh != 0 };
	out.out = open_memstream(&text, &size);
	if (!out.out)
		return -ENOMEM;
	job_sums_add(&s, &sum);
	job_usage_print(&out, &s, &sum);
	if (fclose(out.out) != 0)
		return -ENOMEM;
	report_put(t, "%s", text);
	return 0;
}

static void put_scheduling(struct report_text *t, const struct report_input *in)
{
	static const enum metric all[] = { METRIC_CONTEXT_SWITCHES, METRIC_PAGE_FAULTS };
	const struct values *f = in->values;
	char note[REPORT_NOTE_MAX];

	report_wanted(t, in, PERF_GROUP_SW, METRIC_TASK_CLOCK, "task clock", "");
	note_ratio(in, DERIVED_RUN_DELAY_RATE, "of running and waiting", note);
	report_wanted(t, in, PERF_GROUP_SCHED, METRIC_RUN_DELAY, "run-queue wait", note);
	report_wanted(t, in, PERF_GROUP_SCHED, METRIC_OFF_CPU, "off-CPU", "");
	if (report_all_miss_alike(f, all, ARRAY_SIZE(all))) {
		report_missing(t, "scheduling", (enum metric_reason)f->reason[all[0]]);
		return;
	}
	report_note(f, METRIC_CPU_MIGRATIONS, "migrations", note);
	report_metric(t, f, METRIC_CONTEXT_SWITCHES, "context switches", note);
	if (!*note)
		report_wanted(t, in, PERF_GROUP_SCHED, METRIC_CPU_MIGRATIONS, "migrations", "");
	report_metric(t, f, METRIC_PAGE_FAULTS, "page faults", "");
}

/*
 * Prints pressure in one row, if there was any. Full pressure (all tasks stalled) is left to `ceems
 * job`.
 */
static void put_pressure(struct report_text *t, const struct values *f)
{
	uint64_t memory = f->value[METRIC_MEMORY_PRESSURE_SOME], io = f->value[METRIC_IO_PRESSURE_SOME];
	char value[2][METRIC_TEXT_MAX];
	char note[REPORT_NOTE_MAX];

	if (f->value[METRIC_CPU_PRESSURE_SOME] || memory || io) {
		(void)snprintf(note, sizeof(note), "CPU, %.20s memory, %.20s I/O",
			       metric_text(f, METRIC_MEMORY_PRESSURE_SOME, value[0], sizeof(value[0])),
			       metric_text(f, METRIC_IO_PRESSURE_SOME, value[1], sizeof(value[1])));
		report_metric(t, f, METRIC_CPU_PRESSURE_SOME, "stalled for", note);
	}
	if (f->value[METRIC_CPU_THROTTLED])
		report_metric(t, f, METRIC_CPU_THROTTLED, "CPU throttled", "");
}

/* Appends to NOTE, behind a comma if NOTE is not empty. */
static void add_to_note(char *note, const char *fmt, ...) _printf_(2, 3);
static void add_to_note(char *note, const char *fmt, ...)
{
	char text[REPORT_NOTE_MAX];
	size_t used = strlen(note);
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	(void)snprintf(note + used, REPORT_NOTE_MAX - used, "%s%s", used ? ", " : "", text);
}

/* Writes "mean 1.20 GiB, cache 80.0 MiB, swap 1.00 MiB"; swap only if there was any. */
static void note_kernel_peak(const struct report_input *in, char *note)
{
	const struct values *f = in->values;
	char text[METRIC_TEXT_MAX];

	note[0] = '\0';
	if (report_ratio(in, DERIVED_MEMORY_MEAN, text))
		add_to_note(note, "mean %s", text);
	if (report_ratio(in, DERIVED_PAGE_CACHE_MEAN, text))
		add_to_note(note, "cache %s", text);
	if (f->value[METRIC_SWAP_PEAK])
		add_to_note(note, "swap %s", metric_text(f, METRIC_SWAP_PEAK, text, sizeof(text)));
}

static void put_memory(struct report_text *t, const struct report_input *in)
{
	char note[REPORT_NOTE_MAX];

	if (!values_has(in->values, METRIC_MEMORY_KERNEL_PEAK))
		return;
	note_kernel_peak(in, note);
	report_metric(t, in->values, METRIC_MEMORY_KERNEL_PEAK, "with page cache", note);
}

/* Writes "1,234 calls, 96.0 % without storage". */
static void note_reads(const struct report_input *in, char *note)
{
	char cached[REPORT_NOTE_MAX];

	report_note(in->values, METRIC_IO_READ_CALLS, "calls", note);
	note_ratio(in, DERIVED_IO_CACHE_RATE, "without storage", cached);
	if (*cached && in->values->value[METRIC_STORAGE_READ_BYTES])
		add_to_note(note, "%.40s", cached);
}

static void put_io(struct report_text *t, const struct report_input *in)
{
	static const enum metric all[] = { METRIC_IO_READ_BYTES, METRIC_IO_WRITE_BYTES,
					   METRIC_STORAGE_READ_BYTES, METRIC_STORAGE_WRITE_BYTES };
	const struct values *f = in->values;
	char note[REPORT_NOTE_MAX];

	if (report_all_miss_alike(f, all, ARRAY_SIZE(all)))
		return; /* put_screen() has printed the reason */
	note_reads(in, note);
	report_metric(t, f, METRIC_IO_READ_BYTES, "read", note);
	report_note(f, METRIC_IO_WRITE_CALLS, "calls", note);
	report_metric(t, f, METRIC_IO_WRITE_BYTES, "written", note);
	if (report_all_miss_alike(f, all + 2, 2)) {
		report_missing(t, "storage I/O", (enum metric_reason)f->reason[all[2]]);
		return;
	}
	report_metric(t, f, METRIC_STORAGE_READ_BYTES, "  from storage", "");
	report_metric(t, f, METRIC_STORAGE_WRITE_BYTES, "  to storage", "");
}

/* Writes "1.95 per cycle, 1.5 nJ each". */
static void note_instructions(const struct report_input *in, char *note)
{
	char joules[METRIC_TEXT_MAX];

	note_ratio(in, DERIVED_IPC, "per cycle", note);
	if (report_ratio(in, DERIVED_JOULES_PER_INSTRUCTION, joules))
		add_to_note(note, "%s each", joules);
}

static void put_coverage(struct report_text *t, const struct report_input *in)
{
	char how[sizeof(in->detail->counters)] = "";
	char note[sizeof(how) + REPORT_NOTE_MAX];
	char value[METRIC_TEXT_MAX];

	if (!report_ratio(in, DERIVED_PMU_COVERAGE, value))
		return;
	if (in->detail)
		(void)text_mask(in->detail->counters, how, sizeof(in->detail->counters));
	(void)snprintf(note, sizeof(note), "of the time%s%s", *how ? "; " : "", how);
	report_row(t, "counted", value, note);
}

static void put_counters(struct report_text *t, const struct report_input *in)
{
	static const enum metric all[] = { METRIC_CYCLES,   METRIC_INSTRUCTIONS,  METRIC_CACHE_REFERENCES,
					   METRIC_BRANCHES, METRIC_FP_OPERATIONS, METRIC_MEMORY_BYTES };
	const struct values *f = in->values;
	char note[REPORT_NOTE_MAX];

	if (!report_is_asked(in, PERF_GROUP_HW) && !report_is_tried(f, all, ARRAY_SIZE(all))) {
		report_unasked(t, "hardware counters", "");
		return;
	}
	/*
	 * few CPUs have the last two counters: report their absence only if another counter exists
	 */
	if (report_all_miss_alike(f, all, 4) && !values_has(f, all[4]) && !values_has(f, all[5])) {
		report_missing(t, "hardware counters", (enum metric_reason)f->reason[all[0]]);
		return;
	}
	note_ratio(in, DERIVED_FREQUENCY, "", note);
	report_metric(t, f, METRIC_CYCLES, "cycles", note);
	note_instructions(in, note);
	report_metric(t, f, METRIC_INSTRUCTIONS, "instructions", note);
	note_ratio(in, DERIVED_CACHE_MISS_RATE, "missed", note);
	report_metric(t, f, METRIC_CACHE_REFERENCES, "cache references", note);
	note_ratio(in, DERIVED_BRANCH_MISS_RATE, "mispredicted", note);
	report_metric(t, f, METRIC_BRANCHES, "branches", note);
	note_ratio(in, DERIVED_FLOP_PER_S, "", note);
	report_wanted(t, in, PERF_GROUP_HW, METRIC_FP_OPERATIONS, "FP operations", note);
	note_ratio(in, DERIVED_MEMORY_BYTES_PER_S, "", note);
	report_wanted(t, in, PERF_GROUP_HW, METRIC_MEMORY_BYTES, "read from memory", note);
	put_coverage(t, in);
}

static void put_lost(struct report_text *t, const struct step_detail *d)
{
	char value[METRIC_TEXT_MAX];

	if (!d || !d->lost_events)
		return;
	metric_text_value(UNIT_COUNT, d->lost_events, value, sizeof(value));
	report_row(t, "lost events", value, "at most; I/O, TCP, tasks are lower bounds");
}

/* --- the whole -------------------------------------------------------------------------- */

static void step_name(const struct ledger_identity *id, char *buf, size_t size)
{
	switch (id->step_id) {
	case LEDGER_STEP_EXTERN:
		(void)snprintf(buf, size, "%" PRIu32 ".extern", id->job_id);
		break;
	case LEDGER_STEP_BATCH:
		(void)snprintf(buf, size, "%" PRIu32 ".batch", id->job_id);
		break;
	case LEDGER_STEP_INTERACTIVE:
		(void)snprintf(buf, size, "%" PRIu32 ".interactive", id->job_id);
		break;
	default:
		(void)snprintf(buf, size, "%" PRIu32 ".%" PRIu32, id->job_id, id->step_id);
	}
}

/* Prints the values that --ceems-perf asked for, or why they are missing. */
static void put_details(struct report_text *t, const struct report_input *in, unsigned int max_fs)
{
	put_scheduling(t, in);
	put_memory(t, in);
	put_io(t, in);
	report_put_file_systems(t, in, max_fs);
	report_put_network(t, in);
	put_counters(t, in);
	report_put_own_events(t, in);
}

static void report_format_rows(struct report_text *t, const struct report_input *in, unsigned int max_fs)
{
	char elapsed[METRIC_TEXT_MAX];
	char name[40];
	char node[25];

	step_name(in->id, name, sizeof(name));
	metric_text_value(UNIT_NS, in->elapsed_ns, elapsed, sizeof(elapsed));
	report_put(t, "ceems: step %s on %s", name, text_mask(in->node, node, sizeof(node)));
	if (in->id->node_count > 1)
		report_put(t, " (node %u of %" PRIu32 ")", in->id->node_id + 1, in->id->node_count);
	report_put(t, ", %s\n", elapsed);
	if (put_screen(t, in) < 0)
		report_put(t, "  out of memory\n");
	put_pressure(t, in->values);
	if (in->request && in->request->groups)
		put_details(t, in, max_fs);
	else
		report_put(t, "  %-10s --ceems-perf=hw,sw,io,net,sched counts more\n", "more");
	put_lost(t, in->detail);
	if (in->id->node_count > 1)
		report_put(t, "  These are this node's; ceems job %s has the whole step's.\n", name);
}

/* Rounds the values as slurmdbd stores them, so that the report agrees with `ceems job`. */
static void round_values(const struct values *f, struct values *ret)
{
	unsigned int m;

	*ret = *f;
	metric_foreach(m)
		if (values_has(f, (enum metric)m))
			values_set(ret, (enum metric)m,
				   metric_from_tres((enum metric)m,
						    metric_to_tres((enum metric)m, f->value[m])));
}

size_t report_format(const struct report_input *in, char *buf, size_t size)
{
	struct report_input rounded = *in;
	unsigned int max_fs = DETAIL_FS;
	struct values values;
	struct report_text t;

	if (!size)
		return 0;
	round_values(in->values, &values);
	rounded.values = &values;
	for (;;) {
		t = (struct report_text){ .buf = buf, .size = size };
		buf[0] = '\0';
		report_format_rows(&t, &rounded, max_fs);
		if (t.wanted == t.used || !max_fs)
			return t.used;
		max_fs--;
	}
}
