/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/librecord/advice_facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/libcore/idle_energy.h"
#include "src/libcore/metric_text.h"
#include "src/libledger/ledger.h"
#include "src/librecord/cleaner_hour.h"
#include "src/libutil/clock.h"
#include "src/libutil/round.h"

#define S_PER_MIN 60.0
#define MIB 1048576.0
#define GIB 1073741824.0
#define ROOM 1.2 /* suggested memory and time limit / what the job used */
#define MORE 1.5 /* suggested memory and time limit / the limit that was too low */
/* FACT_IMBALANCE is that of a step with more than this share of the job's CPU time */
#define LONG_STEP 0.5

enum unit { COUNT, NUMBER, SHARE, TIME, TIME_OPTION, DAY_TIME, BYTES, BYTES_OPTION };

static const struct {
	const char *name;
	enum unit unit;
} table[FACT_N] = {
#define FACT(id, name, unit, help) [FACT_##id] = { name, unit },
	ADVICE_FACTS(FACT)
#undef FACT
};

static void set(struct advice_facts *f, enum advice_fact fact, double value)
{
	f->known[fact] = true;
	f->value[fact] = value;
}

static bool has_both(const struct advice_facts *f, enum advice_fact a, enum advice_fact b)
{
	return f->known[a] && f->known[b];
}

static void set_metric(struct advice_facts *f, enum advice_fact fact, const struct record *r, enum metric m,
		       double divisor)
{
	if (values_has(&r->values, m) && r->values.value[m] != UINT64_MAX && divisor > 0)
		set(f, fact, (double)r->values.value[m] / divisor);
}

/* Sets RET to A / B; RET stays unknown if A or B is unknown or B is 0. */
static void set_quotient(struct advice_facts *f, enum advice_fact ret, enum advice_fact a, enum advice_fact b)
{
	if (has_both(f, a, b) && f->value[b] > 0)
		set(f, ret, f->value[a] / f->value[b]);
}

static double rounded_up(double value, double step)
{
	double n = value < 0 ? 0 : value / step;
	uint64_t whole = n < 0x1p63 ? (uint64_t)n : 0;

	return (double)(whole + ((double)whole < n)) * step;
}

/* Rounds up: to 5 minutes up to an hour, to 15 minutes up to ten hours, to hours above. */
static double round_time(double s)
{
	double minutes = s / S_PER_MIN;

	return S_PER_MIN * rounded_up(minutes, minutes <= 60 ? 5 : minutes <= 600 ? 15 : 60);
}

static double round_memory(double bytes)
{
	double gib = bytes / GIB;

	if (gib <= 1)
		return MIB * rounded_up(bytes / MIB, 100);
	return GIB * rounded_up(gib, gib <= 30 ? 1 : gib <= 100 ? 5 : gib <= 1000 ? 10 : 100);
}

/*
 * Reads the number behind "gres/gpu=" in TRES_ALLOC. That is all GPUs: Slurm counts typed GPUs
 * there too.
 */
static bool gpus_of(const char *tres_alloc, double *ret)
{
	const char *p;

	for (p = tres_alloc; p && *p; p += strcspn(p, ","), p += *p == ',')
		if (!strncmp(p, "gres/gpu=", 9)) {
			*ret = strtod(p + 9, NULL);
			return true;
		}
	*ret = 0;
	return tres_alloc != NULL;
}

static void set_state(struct advice_facts *f, const struct record *r)
{
	static const struct {
		enum advice_fact fact;
		const char *state;
	} states[] = {
		{ FACT_IS_COMPLETED, "COMPLETED" }, { FACT_IS_FAILED, "FAILED" },
		{ FACT_IS_TIMEOUT, "TIMEOUT" },	    { FACT_IS_OUT_OF_MEMORY, "OUT_OF_MEMORY" },
		{ FACT_IS_RUNNING, "RUNNING" },
	};
	size_t i;

	for (i = 0; r->state && i < ARRAY_SIZE(states); i++)
		set(f, states[i].fact, !strcmp(r->state, states[i].state));
}

static void set_time(struct advice_facts *f, const struct record *r, uint64_t now)
{
	uint64_t ran_s;

	if (record_run_s(r, f->value[FACT_IS_RUNNING] ? now : 0, &ran_s)) {
		set(f, FACT_ELAPSED, (double)ran_s);
		set(f, FACT_LIMIT_SUGGESTED, round_time(ROOM * f->value[FACT_ELAPSED]));
	}
	if (r->time_limit_min.known) {
		set(f, FACT_LIMIT, S_PER_MIN * (double)r->time_limit_min.value);
		set(f, FACT_LIMIT_MORE, round_time(MORE * f->value[FACT_LIMIT]));
	}
	set_quotient(f, FACT_TIME_SHARE, FACT_ELAPSED, FACT_LIMIT);
}

static bool is_of_srun(const struct record_step *s)
{
	return s->step_id < LEDGER_STEP_INTERACTIVE;
}

static void set_steps(struct advice_facts *f, const struct record *r)
{
	double ran = 0, imbalance, tasks = 0;
	uint64_t ran_s;
	size_t i, n = 0;

	if (!r->steps_known)
		return;
	set(f, FACT_IS_INTERACTIVE, 0);
	for (i = 0; i < r->nsteps; i++) {
		const struct record_step *s = &r->steps[i];

		if (s->step_id == LEDGER_STEP_INTERACTIVE)
			set(f, FACT_IS_INTERACTIVE, 1);
		if (s->ntasks > tasks && s->step_id != LEDGER_STEP_EXTERN)
			tasks = s->ntasks;
		if (is_of_srun(s) && record_step_run_s(s, &ran_s)) {
			ran += (double)ran_s;
			n++;
		}
		if (record_step_imbalance(s, METRIC_CPU_TIME, &imbalance) &&
		    (double)s->values.value[METRIC_CPU_TIME] >
			    LONG_STEP * NSEC_PER_SEC * f->value[FACT_CPU_TIME])
			set(f, FACT_IMBALANCE, imbalance);
	}
	if (tasks > 0)
		set(f, FACT_TASKS, tasks);
	set(f, FACT_STEPS, (double)n);
	if (n)
		set(f, FACT_STEP_MEAN, ran / (double)n);
}

static void set_derived(struct advice_facts *f, enum advice_fact fact, const struct record *r, enum derived d)
{
	double v;

	if (record_derived(r, d, &v))
		set(f, fact, v);
}

static void set_cpus(struct advice_facts *f, const struct record *r, const struct record *ended)
{
	if (r->total_cpus)
		set(f, FACT_CPUS, r->total_cpus);
	if (r->total_nodes)
		set(f, FACT_NODES, r->total_nodes);
	set_derived(f, FACT_CPU_EFFICIENCY, ended, DERIVED_CPU_EFFICIENCY);
	set_derived(f, FACT_CPU_WAIT, r, DERIVED_RUN_DELAY_RATE);
	set_derived(f, FACT_IPC, r, DERIVED_IPC);
	set_derived(f, FACT_CACHE_MISSES, r, DERIVED_CACHE_MISS_RATE);
	if (!has_both(f, FACT_CPU_EFFICIENCY, FACT_CPUS))
		return;
	set(f, FACT_CPUS_BUSY, f->value[FACT_CPU_EFFICIENCY] * f->value[FACT_CPUS]);
	/* a thread that runs only for a moment does not count as a used CPU */
	set(f, FACT_CPUS_USED, rounded_up(f->value[FACT_CPUS_BUSY] - 0.05, 1));
	if (f->value[FACT_CPUS_USED] < 1)
		set(f, FACT_CPUS_USED, 1);
	if (f->known[FACT_ELAPSED])
		set(f, FACT_CPU_TIME, f->value[FACT_CPUS_BUSY] * f->value[FACT_ELAPSED]);
	set_metric(f, FACT_CPU_THROTTLED, r, METRIC_CPU_THROTTLED,
		   NSEC_PER_SEC * f->value[FACT_ELAPSED] * f->value[FACT_CPUS]);
}

static void set_memory(struct advice_facts *f, const struct record *r)
{
	const double node_s = NSEC_PER_SEC * f->value[FACT_ELAPSED] * f->value[FACT_NODES];

	set_metric(f, FACT_MEMORY_PEAK, r, METRIC_MEMORY_PEAK, 1);
	set_metric(f, FACT_MEMORY_ALLOCATED, r, METRIC_MEMORY_ALLOCATED, 1);
	set_metric(f, FACT_SWAP_PEAK, r, METRIC_SWAP_PEAK, 1);
	set_metric(f, FACT_OOM_KILLS, r, METRIC_OOM_KILLS, 1);
	set_metric(f, FACT_MEMORY_STALL, r, METRIC_MEMORY_PRESSURE_FULL, node_s);
	set_metric(f, FACT_IO_STALL, r, METRIC_IO_PRESSURE_FULL, node_s);
	set_quotient(f, FACT_MEMORY_SHARE, FACT_MEMORY_PEAK, FACT_MEMORY_ALLOCATED);
	if (f->known[FACT_MEMORY_PEAK])
		set(f, FACT_MEMORY_SUGGESTED, round_memory(ROOM * f->value[FACT_MEMORY_PEAK]));
	if (f->known[FACT_MEMORY_ALLOCATED])
		set(f, FACT_MEMORY_MORE, round_memory(MORE * f->value[FACT_MEMORY_ALLOCATED]));
	if (has_both(f, FACT_MEMORY_SUGGESTED, FACT_MEMORY_ALLOCATED))
		set(f, FACT_MEMORY_SPARE, f->value[FACT_MEMORY_ALLOCATED] - f->value[FACT_MEMORY_SUGGESTED]);
	set_metric(f, FACT_READ_CALLS, r, METRIC_IO_READ_CALLS, 1);
	set_metric(f, FACT_READ_SIZE, r, METRIC_IO_READ_BYTES, f->value[FACT_READ_CALLS]);
}

static void set_gpus(struct advice_facts *f, const struct record *r)
{
	double gpus;

	if (gpus_of(r->tres_alloc, &gpus))
		set(f, FACT_GPUS, gpus);
	set_derived(f, FACT_GPU_BUSY, r, DERIVED_GPU_UTILIZATION);
	set_derived(f, FACT_GPU_NO_PROCESS, r, DERIVED_GPU_NO_PROCESS_RATE);
	if (values_has(&r->values, METRIC_GPU_HELD))
		set_metric(f, FACT_GPU_HEAT, r, METRIC_GPU_THROTTLED_HEAT,
			   (double)r->values.value[METRIC_GPU_HELD]);
	set_metric(f, FACT_GPU_MEMORY_PEAK, r, METRIC_GPU_MEMORY_PEAK, 1);
	set_quotient(f, FACT_CPUS_PER_GPU, FACT_CPUS, FACT_GPUS);
	set_quotient(f, FACT_GPUS_PER_NODE, FACT_GPUS, FACT_NODES);
	set_quotient(f, FACT_MEMORY_PER_GPU, FACT_MEMORY_ALLOCATED, FACT_GPUS_PER_NODE);
}

static void set_energy(struct advice_facts *f, const struct record *r)
{
	struct idle_energy idle;

	if (idle_energy_of(&r->values, &idle) && idle.is_whole)
		set(f, FACT_IDLE_SHARE, (double)idle.idle_uj / (double)idle.of_uj);
}

static void set_cleaner_hour(struct advice_facts *f, const struct record *r, const struct factor_chain *chain)
{
	struct cleaner_hour hour;

	if (!cleaner_hour_find(chain, r, &hour))
		return;
	set(f, FACT_CLEANER_SHARE, hour.saved);
	set(f, FACT_CLEANER_BEGIN, (double)hour.begin);
}

void advice_facts_of(const struct record *r, const struct factor_chain *chain, uint64_t now,
		     struct advice_facts *ret)
{
	struct record ended = *r; /* a shallow copy: all its pointers belong to R */

	*ret = (struct advice_facts){ 0 };
	set_state(ret, r);
	if (!r->end && ret->value[FACT_IS_RUNNING])
		ended.end = now;
	set_time(ret, r, now);
	set_cpus(ret, r, &ended);
	set_steps(ret, r);
	set_memory(ret, r);
	set_gpus(ret, r);
	set_energy(ret, r);
	set_cleaner_hour(ret, r, chain);
}

const char *advice_fact_name(enum advice_fact fact)
{
	return table[fact].name;
}

enum advice_fact advice_fact_find(const char *name, size_t len)
{
	unsigned int i;

	for (i = 0; i < FACT_N; i++)
		if (strlen(table[i].name) == len && !memcmp(table[i].name, name, len))
			break;
	return (enum advice_fact)i;
}

/* Writes S as sbatch --time takes it. */
static void time_option(double s, char *buf, size_t size)
{
	unsigned long long minutes = (unsigned long long)(s / S_PER_MIN + 0.5);

	if (minutes >= 1440)
		(void)snprintf(buf, size, "%llu-%02llu:%02llu:00", minutes / 1440, minutes % 1440 / 60,
			       minutes % 60);
	else
		(void)snprintf(buf, size, "%02llu:%02llu:00", minutes / 60, minutes % 60);
}

/* Writes the time of day of AT as sbatch --begin takes it: the next time the clock shows it. */
static void day_time(double at, char *buf, size_t size)
{
	time_t t = (time_t)at;
	struct tm tm;

	if (!localtime_r(&t, &tm) || !strftime(buf, size, "%H:%M", &tm))
		(void)snprintf(buf, size, "n/a");
}

const char *advice_fact_text(const struct advice_facts *f, enum advice_fact fact,
			     char buf[ADVICE_FACT_TEXT_MAX])
{
	double v = f->value[fact];
	char text[METRIC_TEXT_MAX];

	if (!f->known[fact]) {
		(void)snprintf(buf, ADVICE_FACT_TEXT_MAX, "n/a");
		return buf;
	}
	switch (table[fact].unit) {
	case COUNT:
		(void)snprintf(buf, ADVICE_FACT_TEXT_MAX, "%.0f", v);
		break;
	case NUMBER:
		(void)snprintf(buf, ADVICE_FACT_TEXT_MAX, "%.1f", v);
		break;
	case SHARE:
		(void)snprintf(buf, ADVICE_FACT_TEXT_MAX, "%.0f %%", 100 * v);
		break;
	case TIME:
		metric_text_value(UNIT_NS, round_u64(v * NSEC_PER_SEC), text, sizeof(text));
		(void)snprintf(buf, ADVICE_FACT_TEXT_MAX, "%s", text);
		break;
	case TIME_OPTION:
		time_option(v, buf, ADVICE_FACT_TEXT_MAX);
		break;
	case DAY_TIME:
		day_time(v, buf, ADVICE_FACT_TEXT_MAX);
		break;
	case BYTES:
		metric_text_value(UNIT_BYTES, round_u64(v), text, sizeof(text));
		(void)snprintf(buf, ADVICE_FACT_TEXT_MAX, "%s", text);
		break;
	case BYTES_OPTION:
		if (v < GIB)
			(void)snprintf(buf, ADVICE_FACT_TEXT_MAX, "%.0fM", v / MIB);
		else
			(void)snprintf(buf, ADVICE_FACT_TEXT_MAX, "%.0fG", v / GIB);
		break;
	}
	return buf;
}
