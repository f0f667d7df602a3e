/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libjob/report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "src/libjob/metric_text.h"
#include "src/libutil/util.h"

#define LABEL_WIDTH 18
#define VALUE_WIDTH 13
#define NOTE_MAX 64

struct text {
	char *buf;
	size_t size;
	size_t used;
};

static void put(struct text *t, const char *fmt, ...) _printf_(2, 3);
static void put(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (t->used + 1 >= t->size)
		return;
	va_start(ap, fmt);
	n = vsnprintf(t->buf + t->used, t->size - t->used, fmt, ap);
	va_end(ap);
	if (n < 0)
		t->buf[t->used] = '\0';
	else
		t->used += (size_t)n < t->size - t->used ? (size_t)n : t->size - t->used - 1;
}

/* --- rows ------------------------------------------------------------------------------- */

static void put_row(struct text *t, const char *label, const char *value, const char *note)
{
	put(t, "  %-*s%*s%s%s\n", LABEL_WIDTH, label, VALUE_WIDTH, value, *note ? "  " : "",
	    note);
}

static void put_missing(struct text *t, const char *label, enum metric_reason reason)
{
	put(t, "  %-*s%*s (%s)\n", LABEL_WIDTH, label, VALUE_WIDTH, "n/a",
	    metric_reason_text(reason));
}

static void put_metric(struct text *t, const struct figures *f, enum metric m,
		       const char *label, const char *note)
{
	char value[METRIC_TEXT_MAX];

	if (!figures_has(f, m)) {
		put_missing(t, label, (enum metric_reason)f->reason[m]);
		return;
	}
	put_row(t, label, metric_text(f, m, value, sizeof(value)), note);
}

/* All of them are missing for one reason: one line does. */
static bool all_miss_alike(const struct figures *f, const enum metric *m, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (figures_has(f, m[i]) || f->reason[m[i]] != f->reason[m[0]])
			return false;
	return true;
}

/* "1,234 calls"; empty when M is not known. */
static void note_count(const struct figures *f, enum metric m, const char *what, char *buf)
{
	char value[METRIC_TEXT_MAX];

	buf[0] = '\0';
	if (!figures_has(f, m))
		return;
	(void)snprintf(buf, NOTE_MAX, "%s %s", metric_text(f, m, value, sizeof(value)), what);
}

/* "1.2 % missed" */
static void note_rate(const struct figures *f, enum metric part, enum metric whole,
		      const char *what, char *buf)
{
	buf[0] = '\0';
	if (figures_has(f, part) && figures_has(f, whole) && f->value[whole])
		(void)snprintf(buf, NOTE_MAX, "%.1f %% %s",
			       100.0 * (double)f->value[part] / (double)f->value[whole], what);
}

/* --- groups ----------------------------------------------------------------------------- */

static const struct {
	enum metric total, fixed;
	const char *label;
} domain_rows[] = {
	{ METRIC_CPU_ENERGY, METRIC_CPU_ENERGY_STATIC, "  CPU" },
	{ METRIC_DRAM_ENERGY, METRIC_DRAM_ENERGY_STATIC, "  DRAM" },
	{ METRIC_GPU_ENERGY, METRIC_GPU_ENERGY_STATIC, "  GPU" },
	{ METRIC_OTHER_ENERGY, METRIC_OTHER_ENERGY_STATIC, "  other" },
};

static void put_domains(struct text *t, const struct figures *f)
{
	char value[METRIC_TEXT_MAX];
	char note[NOTE_MAX];
	unsigned int known = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(domain_rows); i++)
		known += figures_has(f, domain_rows[i].total);
	if (known < 2)
		return; /* it would say what the line above says */
	for (i = 0; i < ARRAY_SIZE(domain_rows); i++) {
		if (!figures_has(f, domain_rows[i].total))
			continue;
		note[0] = '\0';
		if (figures_has(f, domain_rows[i].fixed)) {
			(void)metric_text(f, domain_rows[i].fixed, value, sizeof(value));
			(void)snprintf(note, sizeof(note), "static %s", value);
		}
		put_metric(t, f, domain_rows[i].total, domain_rows[i].label, note);
	}
}

static uint64_t static_uj(const struct figures *f)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(domain_rows); i++)
		if (figures_has(f, domain_rows[i].fixed))
			sum += f->value[domain_rows[i].fixed];
	return sum;
}

static void put_energy(struct text *t, const struct report_input *in)
{
	static const enum metric all[] = { METRIC_ENERGY, METRIC_CO2E };
	const struct figures *f = in->figures;
	char sources[METRIC_SOURCES_MAX];
	char value[METRIC_TEXT_MAX];
	char note[NOTE_MAX];

	if (all_miss_alike(f, all, ARRAY_SIZE(all))) {
		put_missing(t, "energy, emissions", (enum metric_reason)f->reason[METRIC_ENERGY]);
		return;
	}
	metric_text_sources(f, " (estimate)", sources, sizeof(sources));
	(void)snprintf(note, sizeof(note), "%.30s, by %s", *sources ? sources : "source not known",
		       metric_text_method(f));
	put_metric(t, f, METRIC_ENERGY, "energy", note);
	if (figures_has(f, METRIC_ENERGY)) {
		metric_text_value(UNIT_UJ, static_uj(f), value, sizeof(value));
		put_row(t, "  static share", value, "idle power, by allocation");
	}
	put_domains(t, f);
	put_metric(t, f, METRIC_CO2E, "emissions", "CO2e");
}

static void put_cpu(struct text *t, const struct report_input *in)
{
	const struct figures *f = in->figures;
	double given = (double)in->elapsed_ns * in->id->step_cpus;
	char note[NOTE_MAX] = "";

	if (given > 0)
		(void)snprintf(note, sizeof(note), "%.1f %% of %" PRIu32 " CPU%s",
			       100.0 * (double)f->value[METRIC_CPU_TIME] / given,
			       in->id->step_cpus, in->id->step_cpus == 1 ? "" : "s");
	put_metric(t, f, METRIC_CPU_TIME, "CPU time", note);
}

static void put_io(struct text *t, const struct figures *f)
{
	static const enum metric all[] = { METRIC_IO_READ_BYTES, METRIC_IO_WRITE_BYTES,
					   METRIC_STORAGE_READ_BYTES,
					   METRIC_STORAGE_WRITE_BYTES };
	char note[NOTE_MAX];

	if (all_miss_alike(f, all, ARRAY_SIZE(all))) {
		put_missing(t, "I/O", (enum metric_reason)f->reason[all[0]]);
		return;
	}
	note_count(f, METRIC_IO_READ_CALLS, "calls", note);
	put_metric(t, f, METRIC_IO_READ_BYTES, "read", note);
	note_count(f, METRIC_IO_WRITE_CALLS, "calls", note);
	put_metric(t, f, METRIC_IO_WRITE_BYTES, "written", note);
	if (all_miss_alike(f, all + 2, 2)) {
		put_missing(t, "storage I/O", (enum metric_reason)f->reason[all[2]]);
		return;
	}
	put_metric(t, f, METRIC_STORAGE_READ_BYTES, "  from storage", "");
	put_metric(t, f, METRIC_STORAGE_WRITE_BYTES, "  to storage", "");
}

/* Software counters first, then what only a PMU counts. */
static const enum metric perf[] = { METRIC_TASK_CLOCK,	METRIC_CONTEXT_SWITCHES,
				    METRIC_CPU_MIGRATIONS, METRIC_PAGE_FAULTS,
				    METRIC_CYCLES,	METRIC_INSTRUCTIONS,
				    METRIC_CACHE_REFERENCES, METRIC_BRANCHES };
#define PERF_SOFTWARE 4

static void put_software(struct text *t, const struct figures *f)
{
	char note[NOTE_MAX];

	if (all_miss_alike(f, perf, PERF_SOFTWARE)) {
		put_missing(t, "scheduling", (enum metric_reason)f->reason[perf[0]]);
		return;
	}
	put_metric(t, f, METRIC_TASK_CLOCK, "task clock", "");
	note_count(f, METRIC_CPU_MIGRATIONS, "migrations", note);
	put_metric(t, f, METRIC_CONTEXT_SWITCHES, "context switches", note);
	if (!*note)
		put_metric(t, f, METRIC_CPU_MIGRATIONS, "migrations", "");
	put_metric(t, f, METRIC_PAGE_FAULTS, "page faults", "");
}

static void put_hardware(struct text *t, const struct figures *f)
{
	char note[NOTE_MAX];

	if (all_miss_alike(f, perf + PERF_SOFTWARE, ARRAY_SIZE(perf) - PERF_SOFTWARE)) {
		put_missing(t, "hardware counters",
			    (enum metric_reason)f->reason[perf[PERF_SOFTWARE]]);
		return;
	}
	put_metric(t, f, METRIC_CYCLES, "cycles", "");
	note[0] = '\0';
	if (figures_has(f, METRIC_CYCLES) && f->value[METRIC_CYCLES])
		(void)snprintf(note, sizeof(note), "%.2f per cycle",
			       (double)f->value[METRIC_INSTRUCTIONS] /
				       (double)f->value[METRIC_CYCLES]);
	put_metric(t, f, METRIC_INSTRUCTIONS, "instructions", note);
	note_rate(f, METRIC_CACHE_MISSES, METRIC_CACHE_REFERENCES, "missed", note);
	put_metric(t, f, METRIC_CACHE_REFERENCES, "cache references", note);
	note_rate(f, METRIC_BRANCH_MISSES, METRIC_BRANCHES, "mispredicted", note);
	put_metric(t, f, METRIC_BRANCHES, "branches", note);
}

static void put_perf(struct text *t, const struct figures *f)
{
	if (all_miss_alike(f, perf, ARRAY_SIZE(perf))) {
		put_missing(t, "perf counters", (enum metric_reason)f->reason[perf[0]]);
		return;
	}
	put_software(t, f);
	put_hardware(t, f);
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

size_t report_format(const struct report_input *in, char *buf, size_t size)
{
	struct text t = { .buf = buf, .size = size };
	char name[40];
	char elapsed[METRIC_TEXT_MAX];

	if (!size)
		return 0;
	buf[0] = '\0';
	step_name(in->id, name, sizeof(name));
	metric_text_value(UNIT_NS, in->elapsed_ns, elapsed, sizeof(elapsed));
	put(&t, "ceems: step %s on %.24s", name, in->node);
	if (in->id->node_count > 1)
		put(&t, " (node %u of %" PRIu32 ")", in->id->node_id + 1, in->id->node_count);
	put(&t, ", %s\n", elapsed);
	put_energy(&t, in);
	put_cpu(&t, in);
	put_io(&t, in->figures);
	put_perf(&t, in->figures);
	if (in->id->node_count > 1)
		put(&t, "  These are this node's; sacct -j %s has the whole step's.\n", name);
	return t.used;
}
