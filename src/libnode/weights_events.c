/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libnode/weights_internal.h"

#include <string.h>

#include "src/libutil/clock.h"
#include "src/libutil/muldiv.h"

/* The shortest window to learn from; sensors are too coarse for shorter ones. */
#define LEARN_NS NSEC_PER_SEC

/* --- reading ---------------------------------------------------------------------------- */

/* Reads the counters of SET and sums their events by socket. False: a counter of a busy CPU did not run. */
static bool read_events(const struct weights *w, struct cgcounters_set *set, const bool *is_busy,
			struct events *ret)
{
	const struct cgcounters_cpu *cpu = cgcounters_read(set, is_busy);
	bool is_whole = true;
	unsigned int e;
	size_t i;

	memset(ret, 0, sizeof(*ret));
	for (i = 0; i < cgcounters_ncpus(set); i++) {
		uint64_t *to = ret->n[w->setup.topology->cpu_socket[cpu[i].cpu]];

		for (e = 0; e < EVENT_N; e++)
			to[e] += e == EVENT_CYCLES ?
					 muldiv(cpu[i].events[e], smt_worth(w->smt, cpu[i].cpu), SMT_ONE) :
					 cpu[i].events[e];
		is_whole = is_whole && !(cpu[i].is_lost && w->delta_ns[cpu[i].cpu]);
	}
	return is_whole;
}

static bool has_cycles(const struct events *e)
{
	unsigned int s;

	for (s = 0; s < SOCKETS_MAX; s++)
		if (e->n[s][EVENT_CYCLES])
			return true;
	return false;
}

/*
 * Reads the counters. A tick may be so short that /proc/stat does not move. It then has no events, but its
 * counts are complete: the next tick has its activity.
 */
bool weights_count(struct weights *w, const struct tick *t)
{
	size_t i;

	w->is_whole = read_events(w, w->node, w->is_busy, &w->events) && w->ticks;
	for (i = 0; i < t->nlines; i++) {
		struct weights_step *st = t->step[i];

		if (st)
			st->is_counted = false;
		if (!st || !st->counters)
			continue;
		/* the step's last tick, so read all its CPUs */
		st->is_counted = read_events(w, st->counters, t->line[i].is_last ? NULL : w->is_busy,
					     &st->events) &&
				 !st->is_new && has_cycles(&st->events);
		st->is_new = false;
	}
	return w->is_whole && has_cycles(&w->events);
}

static const struct fit *fit_of(const struct weights *w, unsigned int socket)
{
	return &w->socket[w->is_one_part ? 0 : socket].fit;
}

/* --- weighing --------------------------------------------------------------------------- */

static bool is_counted(const struct weights_step *step)
{
	return step && step->is_counted;
}

/* The activity of all lines with counters, measured in two ways. */
struct counted {
	uint64_t weight;
	uint64_t ns;
};

/*
 * Estimates the weight of a line without counters from its CPU time NS, by the ratio in
 * the lines with counters.
 */
static uint64_t weights_events_estimate(uint64_t ns, const struct counted *c)
{
	return muldiv(ns, c->weight, c->ns);
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* A kind of activity is the number of a socket, or MEMORY for the memory of all sockets. */
#define MEMORY SOCKETS_MAX

/* Returns the weight of events E as activity of KIND. */
static uint64_t worth_of(const struct weights *w, const struct events *e, unsigned int kind)
{
	uint64_t sum = 0;
	unsigned int s;

	if (kind != MEMORY)
		return fit_weight(fit_of(w, kind), e->n[kind]);
	for (s = 0; s < SOCKETS_MAX; s++)
		sum += e->n[s][EVENT_LLC_MISSES];
	return sum;
}

static uint64_t *weight_of(struct book_line *line, unsigned int kind)
{
	return kind == MEMORY ? &line->mem_weight : &line->cpu_weight[kind];
}

/* Replaces the weights of one kind of activity. OF_TICK must have the CPU time of all processes. */
static void weigh_kind(const struct weights *w, struct tick *t, unsigned int kind, uint64_t *of_tick)
{
	struct weights_step *const *step = t->step;
	struct book_line *line = t->line;
	uint64_t all = worth_of(w, &w->events, kind);
	struct counted c = { 0 };
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < t->nlines; i++)
		if (is_counted(step[i])) {
			c.ns += *weight_of(&line[i], kind);
			*weight_of(&line[i], kind) = worth_of(w, &step[i]->events, kind);
			c.weight += *weight_of(&line[i], kind);
		}
	if (!c.ns) /* no line with counters was active here: use the ratio of all processes */
		c = (struct counted){ .weight = all, .ns = *of_tick };
	for (i = 0; i < t->nlines; i++) {
		uint64_t *weight = weight_of(&line[i], kind);

		if (!is_counted(step[i]))
			*weight = weights_events_estimate(*weight, &c);
		sum += *weight;
	}
	*of_tick = larger(all, sum);
}

bool weights_by_events(const struct weights *w, struct tick *t)
{
	struct book_tick *tick = &t->book;
	unsigned int s;
	size_t i;

	for (i = 0; i < t->nlines; i++) {
		t->line[i].by_counters = is_counted(t->step[i]);
		tick->by_counters |= t->line[i].by_counters;
	}
	for (s = 0; s < SOCKETS_MAX && tick->by_counters; s++)
		weigh_kind(w, t, s, &tick->cpu_weight[s]);
	return tick->by_counters;
}

bool weights_by_misses(const struct weights *w, struct tick *t)
{
	if (!worth_of(w, &w->events, MEMORY) || !cgcounters_has(w->counters, EVENT_LLC_MISSES))
		return false;
	weigh_kind(w, t, MEMORY, &t->book.mem_weight);
	return true;
}

/* Computes the activity. If cache misses were not counted, CPU time stands for the activity of memory. */
void weights_activity(const struct weights *w, struct tick *t)
{
	struct activity *ret = &t->activity;
	struct fit shipped;
	bool has_misses;
	unsigned int s;

	fit_init(&shipped);
	ret->by_time = !w->counters || !w->is_whole;
	has_misses = !ret->by_time && cgcounters_has(w->counters, EVENT_LLC_MISSES);
	for (s = 0; s < SOCKETS_MAX; s++) {
		const uint64_t *events = w->events.n[s];

		ret->cpu[s] = (double)(ret->by_time ? t->book.cpu_weight[s] : fit_weight(&shipped, events));
		ret->mem[s] = has_misses ? (double)events[EVENT_LLC_MISSES] : ret->cpu[s];
	}
}

/* --- learning --------------------------------------------------------------------------- */

static void clear_window(struct socket *s)
{
	s->dynamic_uj = 0;
	s->length_ns = 0;
	memset(s->events, 0, sizeof(s->events));
}

static void add_events(uint64_t to[EVENT_N], const struct events *from, unsigned int socket)
{
	unsigned int e;

	for (e = 0; e < EVENT_N; e++)
		to[e] += from->n[socket][e];
}

/*
 * Adds a part's dynamic energy to the window of its socket. The energy of a slow sensor was used over the
 * whole time since its last value, so idle energy is subtracted for that time.
 */
static void learn_part(struct weights *w, const struct part *part, uint64_t dt_ns)
{
	struct socket *socket = &w->socket[w->is_one_part ? 0 : part->unit];
	uint64_t static_uj = muldiv(part->idle_mw, part->used_ns > dt_ns ? part->used_ns : dt_ns,
				    NSEC_PER_MSEC);
	unsigned int s;

	socket->length_ns += dt_ns;
	for (s = 0; s < SOCKETS_MAX; s++)
		if (w->is_one_part || s == part->unit)
			add_events(socket->events, &w->events, s);
	if (part->energy_uj > static_uj)
		socket->dynamic_uj += part->energy_uj - static_uj;
	if (!part->energy_uj || socket->length_ns < LEARN_NS)
		return;
	(void)fit_add(&socket->fit, socket->dynamic_uj, socket->length_ns, socket->events);
	clear_window(socket);
}

/*
 * Returns true if the cost of events can be learned from the part. The model computes its
 * energy from CPU time, so not.
 */
static bool teaches(const struct part *part)
{
	return part->domain == DOMAIN_CPU && part->source != SOURCE_MODEL && part->idle_mw &&
	       part->unit < SOCKETS_MAX;
}

void weights_learn(struct weights *w, const struct tick *t)
{
	const struct book_tick *tick = &t->book;
	unsigned int cpu_parts = 0;
	size_t i;

	if (!w->counters)
		return;
	for (i = 0; i < tick->nparts; i++)
		cpu_parts += tick->part[i].domain == DOMAIN_CPU;
	w->is_one_part = cpu_parts == 1;
	for (i = 0; i < SOCKETS_MAX && (t->is_tainted || !w->is_whole); i++)
		clear_window(&w->socket[i]);
	for (i = 0; i < tick->nparts && !t->is_tainted && w->is_whole; i++)
		if (teaches(&tick->part[i]))
			learn_part(w, &tick->part[i], t->dt_ns);
}
