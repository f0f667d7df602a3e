/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libnode/weights_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/libmeter/activity/cpuset.h"
#include "src/libutil/logger.h"
#include "src/libutil/muldiv.h"
#include "src/libutil/pages.h"

/* Counters of an idle CPU are read only every so many ticks. */
#define IDLE_CPU_TICKS 16
/* --- setting up ------------------------------------------------------------------------- */

static int open_counters(struct weights *w)
{
	const struct topology *t = w->setup.topology;
	uint32_t *cpu;
	uint32_t i;
	int rc;

	if (!w->setup.pmu)
		return errmsg_set(&w->why, -ENODEV, "not asked for");
	rc = cgcounters_create(w->setup.pmu, /* cpu= */ 0, cgcounters_max_fds(), &w->counters, &w->why);
	if (rc < 0)
		return rc;
	cpu = calloc(t->ncpus, sizeof(*cpu));
	if (!cpu)
		return errmsg_errno(&w->why, -ENOMEM, "hardware counters");
	for (i = 0; i < t->ncpus; i++)
		cpu[i] = i;
	rc = cgcounters_open(w->counters, /* paths= */ NULL, cpu, t->ncpus, &w->node);
	free(cpu);
	return rc < 0 ? errmsg_errno(&w->why, rc, "hardware counters of the node") : 0;
}

/* Returns the size of struct weights with its arrays for NCPUS CPUs, which are in the same memory block. */
static size_t size_for(uint32_t ncpus)
{
	const struct weights *w = NULL;

	return sizeof(*w) + ncpus * (sizeof(*w->cpu_ns) + sizeof(*w->delta_ns) + sizeof(*w->is_busy));
}

static struct weights *allocate(const struct weights_setup *setup)
{
	uint32_t n = setup->topology->ncpus;
	struct weights *w = pages_alloc(size_for(n));
	unsigned int s;

	if (!w)
		return NULL;
	w->setup = *setup;
	w->cpu_ns = (uint64_t *)(w + 1);
	w->delta_ns = w->cpu_ns + n;
	w->is_busy = (bool *)(w->delta_ns + n);
	for (s = 0; s < SOCKETS_MAX; s++)
		fit_init(&w->socket[s].fit);
	return w;
}

int weights_create(const struct weights_setup *setup, struct weights **ret)
{
	struct weights *w = allocate(setup);
	int rc;

	if (!w)
		return -ENOMEM;
	memweights_open(&w->mem, setup->sys_root);
	rc = smt_open(setup->sys_root, setup->topology->ncpus, &w->smt);
	if (rc < 0) {
		weights_destroy(w);
		return rc;
	}
	if (open_counters(w) < 0) {
		cgcounters_destroy(w->counters);
		w->counters = NULL;
	}
	*ret = w;
	return 0;
}

void weights_destroy(struct weights *w)
{
	if (!w)
		return;
	cgcounters_close(w->node);
	cgcounters_destroy(w->counters);
	memweights_close(&w->mem);
	smt_close(w->smt);
	pages_free(w, size_for(w->setup.topology->ncpus));
}

void weights_describe(const struct weights *w, char *buf, size_t size)
{
	if (w->counters)
		(void)snprintf(buf, size, "CPU energy by hardware counters (cycles%s%s)",
			       cgcounters_has(w->counters, EVENT_INSTRUCTIONS) ? ", instructions" : "",
			       cgcounters_has(w->counters, EVENT_LLC_MISSES) ? ", cache misses" : "");
	else
		(void)snprintf(buf, size, "CPU energy by CPU time (%s)", w->why.text);
}

bool weights_has_counters(const struct weights *w)
{
	return w->counters;
}

static void open_step_counters(struct weights *w, struct weights_step *step, const struct cgroup_paths *paths)
{
	int rc;

	if (!w->counters)
		return;
	rc = cgcounters_open(w->counters, paths, step->cpu, step->ncpus, &step->counters);
	if (rc < 0)
		logger_debug("no counters of cgroup %s: %s",
			     paths->v2[0] ? paths->v2 : cgroup_paths_v1(paths), strerror(-rc));
}

/* Finds the CPUs that the step may use: those of its cpuset, or all CPUs. */
static int find_cpus(const struct weights *w, struct weights_step *step, const struct cgroup_paths *paths)
{
	const uint32_t n = w->setup.topology->ncpus;
	uint32_t i;

	step->cpu = calloc(n, sizeof(*step->cpu));
	if (!step->cpu)
		return -ENOMEM;
	step->is_limited = cpuset_of_step(paths, n, step->cpu, &step->ncpus) == 0 && step->ncpus &&
			   step->ncpus < n;
	if (step->is_limited)
		return 0;
	for (i = 0; i < n; i++)
		step->cpu[i] = i;
	step->ncpus = n;
	return 0;
}

/*
 * Returns false if CPU time has the same weight on all CPUs, because no two are threads of a core,
 * and there are no counters.
 */
static bool needs_cpus(const struct weights *w)
{
	return w->counters || smt_is_there(w->smt);
}

struct weights_step *weights_step_open(struct weights *w, const struct cgroup_paths *paths)
{
	struct weights_step *step = calloc(1, sizeof(*step));

	if (!step)
		return NULL;
	if (needs_cpus(w) && find_cpus(w, step, paths) < 0) {
		free(step);
		return NULL;
	}
	step->is_new = true;
	open_step_counters(w, step, paths);
	return step;
}

void weights_step_close(struct weights_step *step)
{
	if (!step)
		return;
	cgcounters_close(step->counters);
	memstep_close(&step->mem);
	free(step->cpu);
	free(step);
}

/* --- CPUs ------------------------------------------------------------------------------- */

static void note_cpus(struct weights *w, const uint64_t *cpu_ns, uint64_t now_ns)
{
	uint32_t i;

	smt_update(w->smt, cpu_ns, now_ns);
	for (i = 0; i < w->setup.topology->ncpus; i++) {
		/* in the first tick, all time since the boot would count */
		w->delta_ns[i] = w->ticks && cpu_ns[i] > w->cpu_ns[i] ? cpu_ns[i] - w->cpu_ns[i] : 0;
		w->cpu_ns[i] = cpu_ns[i];
		w->is_busy[i] = w->delta_ns[i] || w->ticks % IDLE_CPU_TICKS == 0;
	}
}

/* Computes for each socket the mean weight of CPU time, over the CPUs of STEP (NULL: over all CPUs). */
static void mean_worths(const struct weights *w, const struct weights_step *step, uint64_t ret[SOCKETS_MAX])
{
	const struct topology *t = w->setup.topology;
	size_t n = step ? step->ncpus : t->ncpus;
	uint64_t sum_ns[SOCKETS_MAX] = { 0 };
	uint64_t worth[SOCKETS_MAX] = { 0 };
	unsigned int s;
	size_t i;

	for (i = 0; i < n; i++) {
		uint32_t cpu = step ? step->cpu[i] : (uint32_t)i;

		s = t->cpu_socket[cpu];
		sum_ns[s] += w->delta_ns[cpu];
		worth[s] += w->delta_ns[cpu] * smt_worth(w->smt, cpu);
	}
	for (s = 0; s < SOCKETS_MAX; s++)
		ret[s] = sum_ns[s] ? worth[s] / sum_ns[s] : SMT_ONE;
}

/*
 * Scales CPU time: on a core whose other thread is busy, it counts less (smt.h). For a step that is bound to
 * CPUs, the mean over these CPUs is used, else the mean over all CPUs.
 */
static void weigh_threads(const struct weights *w, struct tick *t)
{
	struct book_tick *tick = &t->book;
	struct book_line *line = t->line;
	uint64_t rest[SOCKETS_MAX];
	uint64_t of_node[SOCKETS_MAX];
	unsigned int s;
	size_t i;

	mean_worths(w, NULL, of_node);
	memcpy(rest, tick->cpu_weight, sizeof(rest));
	memset(tick->cpu_weight, 0, sizeof(tick->cpu_weight));
	for (i = 0; i < t->nlines; i++) {
		const struct weights_step *step = t->step[i];
		bool is_limited = step && step->is_limited;
		uint64_t of_step[SOCKETS_MAX];

		if (is_limited)
			mean_worths(w, step, of_step);
		for (s = 0; s < SOCKETS_MAX; s++) {
			uint64_t ns = line[i].cpu_weight[s];

			rest[s] -= ns < rest[s] ? ns : rest[s];
			line[i].cpu_weight[s] = muldiv(ns, is_limited ? of_step[s] : of_node[s], SMT_ONE);
			tick->cpu_weight[s] += line[i].cpu_weight[s];
		}
	}
	for (s = 0; s < SOCKETS_MAX; s++)
		tick->cpu_weight[s] += muldiv(rest[s], of_node[s], SMT_ONE);
}

/* ---------------------------------------------------------------------------------------- */

/*
 * Returns the memory of a step. It is opened at the first call and not earlier, because most nodes have no
 * sensor for memory energy and so never need it.
 */
static struct memstep *memory_of(struct weights_step *step, const struct ledger_slot *s)
{
	if (step && !step->has_tried_memory) {
		step->has_tried_memory = true;
		memstep_open(&step->mem, &s->cgroup);
	}
	return step ? &step->mem : NULL;
}

static void weigh_memory(struct weights *w, struct tick *t)
{
	size_t i;

	for (i = 0; i < t->nlines; i++)
		w->memstep[i] = memory_of(t->step[i], t->line[i].s);
	(void)memweights_fill(&w->mem, w->memstep, t);
}

void weights_fill(struct weights *w, const uint64_t *cpu_ns, struct tick *t)
{
	bool has_dram = t->page->domain_source[DOMAIN_DRAM] < SOURCE_N;
	bool has_misses;

	note_cpus(w, cpu_ns, t->book.t_mono_ns);
	if (w->counters && weights_count(w, t) && weights_by_events(w, t)) {
		has_misses = weights_by_misses(w, t);
	} else {
		weigh_threads(w, t);
		has_misses = false;
	}
	if (has_dram && !has_misses)
		weigh_memory(w, t);
	w->ticks++;
}
