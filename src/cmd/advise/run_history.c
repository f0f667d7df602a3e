/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/advise/run_history.h"

#include <errno.h>
#include <string.h>

#include "src/libcore/metric_text.h"
#include "src/librecord/screen_text.h"
#include "src/libutil/round.h"
#include "src/libutil/util.h"

#define MILLI 1000
#define PPM 1000000

const struct run_value_info run_value_table[RUN_N] = {
	[RUN_ELAPSED] = { "elapsed_s", "run time", 1 },
	[RUN_MEMORY] = { "memory_peak_bytes", "memory of a node", 1 },
	[RUN_CPUS] = { "cpus_busy", "CPUs busy", MILLI },
	[RUN_GPU] = { "gpu_utilization", "GPU busy", PPM },
	[RUN_ENERGY] = { "energy_j", "energy", 1000000 },
	[RUN_CO2E] = { "co2e_g", "CO2e", NG_PER_G },
};

const char *run_value_text(enum run_value v, uint64_t value, char *buf)
{
	switch (v) {
	case RUN_ELAPSED:
		return screen_seconds(value, buf);
	case RUN_MEMORY:
		return metric_text_value(UNIT_BYTES, value, buf, SCREEN_TEXT_MAX);
	case RUN_CPUS:
		(void)snprintf(buf, SCREEN_TEXT_MAX, "%.1f", (double)value / MILLI);
		return buf;
	case RUN_GPU:
		return screen_share((double)value / PPM, buf);
	case RUN_ENERGY:
		return screen_wh(value, buf);
	case RUN_CO2E:
		return metric_text_value(UNIT_NG, value, buf, SCREEN_TEXT_MAX);
	case RUN_N:
		break;
	}
	return "";
}

/* --- runs -------------------------------------------------------------------------------------- */

void run_history_free(struct run_history *h)
{
	free(h->run);
	*h = (struct run_history){ 0 };
}

static void set_value(struct run *run, enum run_value v, bool known, uint64_t value)
{
	run->known[v] = known;
	run->value[v] = known ? value : 0;
}

static void set_fact(struct run *run, enum run_value v, enum advice_fact fact)
{
	const double scaled = run->facts.value[fact] * (double)run_value_table[v].scale;

	set_value(run, v, run->facts.known[fact] && scaled >= 0 && scaled < 0x1p63, round_u64(scaled));
}

static void run_init(struct run *run, const struct record *r)
{
	const struct values *f = &r->values;

	*run = (struct run){ .start = r->start, .end = r->end };
	(void)snprintf(run->state, sizeof(run->state), "%s", r->state ? r->state : "n/a");
	advice_facts_of(r, /* chain= */ NULL, r->end, &run->facts);
	run->is_completed = run->facts.value[FACT_IS_COMPLETED] > 0;
	set_fact(run, RUN_ELAPSED, FACT_ELAPSED);
	set_fact(run, RUN_MEMORY, FACT_MEMORY_PEAK);
	set_fact(run, RUN_CPUS, FACT_CPUS_BUSY);
	set_fact(run, RUN_GPU, FACT_GPU_BUSY);
	set_value(run, RUN_ENERGY, values_has(f, METRIC_ENERGY), f->value[METRIC_ENERGY]);
	set_value(run, RUN_CO2E, values_has(f, METRIC_CO2E), f->value[METRIC_CO2E]);
}

int run_history_add(struct run_history *h, const struct record *r)
{
	if (!r->start || r->end < r->start)
		return 0;
	if (h->n == h->room) {
		size_t room = h->room ? 2 * h->room : 64;
		struct run *more = realloc(h->run, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		h->run = more;
		h->room = room;
	}
	run_init(&h->run[h->n++], r);
	return 0;
}

/* --- sizes ------------------------------------------------------------------------------------- */

static double size_fact(const struct run *run, enum advice_fact fact)
{
	return run->facts.known[fact] ? run->facts.value[fact] : -1;
}

static struct run_size size_of(const struct run *run)
{
	return (struct run_size){ .nodes = size_fact(run, FACT_NODES),
				  .cpus = size_fact(run, FACT_CPUS),
				  .gpus = size_fact(run, FACT_GPUS) };
}

static int compare_doubles(double a, double b)
{
	return (a > b) - (a < b);
}

static int compare_sizes(const void *x, const void *y)
{
	const struct run_size *a = x;
	const struct run_size *b = y;
	int rc = compare_doubles(a->cpus, b->cpus);

	rc = rc ? rc : compare_doubles(a->gpus, b->gpus);
	return rc ? rc : compare_doubles(a->nodes, b->nodes);
}

/*
 * Returns true if RUN has completed and had the nodes, CPUs and GPUs of SIZE. If SIZE
 * is NULL, any size counts.
 */
static bool is_of(const struct run *run, const struct run_size *size)
{
	struct run_size own = size_of(run);

	return run->is_completed && (!size || !compare_sizes(&own, size));
}

static int compare_values(const void *x, const void *y)
{
	const uint64_t *a = x;
	const uint64_t *b = y;

	return (*a > *b) - (*a < *b);
}

static size_t rank_of(size_t percent, size_t n)
{
	return (percent * n + 99) / 100 - 1;
}

/* Computes the spreads over completed runs of SIZE. SORTED has room for all runs. */
static void find_spreads(const struct run_history *h, const struct run_size *size, uint64_t *sorted,
			 struct run_size *ret)
{
	unsigned int v;
	size_t i;

	ret->n = 0;
	for (i = 0; i < h->n; i++)
		ret->n += is_of(&h->run[i], size);
	for (v = 0; v < RUN_N; v++) {
		struct run_spread *s = &ret->spread[v];

		s->n = 0;
		for (i = 0; i < h->n; i++)
			if (is_of(&h->run[i], size) && h->run[i].known[v])
				sorted[s->n++] = h->run[i].value[v];
		if (!s->n)
			continue;
		qsort(sorted, s->n, sizeof(*sorted), compare_values);
		s->median = sorted[rank_of(50, s->n)];
		s->p90 = sorted[rank_of(90, s->n)];
		s->max = sorted[s->n - 1];
	}
}

static void find_sizes(const struct run_history *h, uint64_t *sorted, struct run_advice *a)
{
	size_t i, k;

	for (i = 0; i < h->n; i++) {
		struct run_size size = size_of(&h->run[i]);

		for (k = 0; k < a->nsizes && compare_sizes(&size, &a->size[k]); k++)
			;
		if (!h->run[i].is_completed || k < a->nsizes)
			continue;
		find_spreads(h, &size, sorted, &size);
		a->size[a->nsizes++] = size;
	}
	if (a->nsizes)
		qsort(a->size, a->nsizes, sizeof(*a->size), compare_sizes);
}

static void find_least(struct run_advice *a)
{
	size_t enough = 0;
	size_t i;

	for (i = 0; i < a->nsizes; i++) {
		const struct run_spread *s = &a->size[i].spread[RUN_ENERGY];

		if (s->n < RUN_HISTORY_ENOUGH)
			continue;
		enough++;
		if (!a->least || s->median < a->least->spread[RUN_ENERGY].median)
			a->least = &a->size[i];
	}
	if (enough < 2)
		a->least = NULL;
}

/* --- what to type ------------------------------------------------------------------------------ */

/*
 * Returns the run with the largest FACT, among the runs that ended with STATE and are of SIZE (NULL: any
 * size). NULL: no such run has FACT.
 */
static const struct run *largest(const struct run_history *h, const struct run_size *size,
				 enum advice_fact state, enum advice_fact fact)
{
	const struct run *best = NULL;
	size_t i;

	for (i = 0; i < h->n; i++) {
		const struct run *run = &h->run[i];
		struct run_size own = size_of(run);

		if (run->facts.value[state] > 0 && run->facts.known[fact] &&
		    (!size || !compare_sizes(&own, size)) &&
		    (!best || run->facts.value[fact] > best->facts.value[fact]))
			best = run;
	}
	return best;
}

/*
 * Writes OPTION with the largest FACT of completed runs. But if a run failed with FAILED although it had
 * requested as much, writes the larger value MORE of that run.
 */
static void type_most(const struct run_history *h, const struct run_size *size, enum advice_fact fact,
		      enum advice_fact failed, enum advice_fact more, const char *option, char *ret)
{
	const struct run *a = largest(h, size, FACT_IS_COMPLETED, fact);
	const struct run *b = largest(h, size, failed, more);
	char text[ADVICE_FACT_TEXT_MAX];

	if (b && (!a || b->facts.value[more] > a->facts.value[fact])) {
		a = b;
		fact = more;
	}
	if (a)
		(void)snprintf(ret, RUN_HISTORY_TYPE_MAX, "#SBATCH --%s=%s", option,
			       advice_fact_text(&a->facts, fact, text));
}

/*
 * Writes the option for CPUs, for jobs of one node only: on several nodes, it is not known which
 * node needs fewer.
 */
static void type_cpus(const struct run_history *h, const struct run_size *size, char *ret)
{
	const struct run *most = largest(h, size, FACT_IS_COMPLETED, FACT_CPUS_USED);
	const struct run *all = largest(h, size, FACT_IS_COMPLETED, FACT_CPUS);
	const struct run *nodes = largest(h, size, FACT_IS_COMPLETED, FACT_NODES);
	const struct run *tasks = largest(h, size, FACT_IS_COMPLETED, FACT_TASKS);
	char text[ADVICE_FACT_TEXT_MAX];

	if (!most || !all || !nodes || nodes->facts.value[FACT_NODES] > 1 || !tasks ||
	    most->facts.value[FACT_CPUS_USED] >= all->facts.value[FACT_CPUS])
		return;
	(void)snprintf(ret, RUN_HISTORY_TYPE_MAX, "#SBATCH --%s=%s",
		       tasks->facts.value[FACT_TASKS] > 1 ? "ntasks" : "cpus-per-task",
		       advice_fact_text(&most->facts, FACT_CPUS_USED, text));
}

/* --- advice ------------------------------------------------------------------------------------ */

void run_advice_free(struct run_advice *a)
{
	free(a->size);
	*a = (struct run_advice){ 0 };
}

static void count_state(struct run_advice *a, const char *state)
{
	size_t i;

	for (i = 0; i < a->nstates && strcmp(a->states[i].name, state) != 0; i++)
		;
	if (i == RUN_HISTORY_STATES)
		return;
	if (i == a->nstates)
		(void)snprintf(a->states[a->nstates++].name, sizeof(a->states[0].name), "%s", state);
	a->states[i].n++;
	for (; i && a->states[i].n > a->states[i - 1].n; i--) {
		const struct run_state swap = a->states[i];

		a->states[i] = a->states[i - 1];
		a->states[i - 1] = swap;
	}
}

static void count_runs(const struct run_history *h, struct run_advice *a)
{
	size_t i;

	a->runs = h->n;
	for (i = 0; i < h->n; i++) {
		const struct run *run = &h->run[i];

		a->completed += run->is_completed;
		if (!a->first_start || run->start < a->first_start)
			a->first_start = run->start;
		a->last_end = run->end > a->last_end ? run->end : a->last_end;
		count_state(a, run->state);
	}
}

/* Sorts runs by their end, the last one first. */
static int compare_runs(const void *x, const void *y)
{
	const struct run *a = x;
	const struct run *b = y;

	return (a->end < b->end) - (a->end > b->end);
}

static void find_advice(const struct run_history *h, uint64_t *sorted, struct run_advice *a)
{
	const struct run_size *size = &a->of;
	size_t last;

	a->is_enough = a->completed >= RUN_HISTORY_ENOUGH;
	if (!a->is_enough)
		return;
	for (last = 0; !h->run[last].is_completed; last++)
		;
	a->of = size_of(&h->run[last]);
	find_spreads(h, size, sorted, &a->of);
	if (a->of.n < RUN_HISTORY_ENOUGH) {
		a->is_all_sizes = true;
		size = NULL;
		find_spreads(h, size, sorted, &a->of);
	}
	find_sizes(h, sorted, a);
	find_least(a);
	type_most(h, size, FACT_LIMIT_SUGGESTED, FACT_IS_TIMEOUT, FACT_LIMIT_MORE, "time",
		  a->type[RUN_ELAPSED]);
	type_most(h, size, FACT_MEMORY_SUGGESTED, FACT_IS_OUT_OF_MEMORY, FACT_MEMORY_MORE, "mem",
		  a->type[RUN_MEMORY]);
	type_cpus(h, size, a->type[RUN_CPUS]);
}

int run_history_advise(struct run_history *h, size_t most, struct run_advice *ret)
{
	_cleanup_free_ uint64_t *sorted = NULL;
	struct run_advice a = { 0 };

	if (h->n)
		qsort(h->run, h->n, sizeof(*h->run), compare_runs);
	h->n = h->n > most ? most : h->n;
	sorted = calloc(h->n + 1, sizeof(*sorted));
	a.size = calloc(h->n + 1, sizeof(*a.size));
	if (!sorted || !a.size) {
		run_advice_free(&a);
		return -ENOMEM;
	}
	count_runs(h, &a);
	find_advice(h, sorted, &a);
	*ret = a;
	return 0;
}
