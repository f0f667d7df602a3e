/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libledger/split.h"

#include <errno.h>
#include <string.h>

#include "src/libledger/split_static.h"
#include "src/libutil/apportion.h"
#include "src/libutil/wide_math.h"

/* a microjoule is 10^6 mW x ns */
#define MW_NS_PER_UJ UINT64_C(1000000)
/*
 * Dynamic energy serves as a weight in units of 2^-16 uJ. With whole microjoules, rounding would give two
 * equal lines with little energy different weights.
 */
#define ENERGY_WEIGHT_SHIFT 16
#define ENERGY_WEIGHT_MAX (UINT64_C(1) << 57) /* most of one part, so that 64 parts sum to less than 2^64 */

/* An activity serves as a weight in units of 2^-24, so that 128 instances sum to less than 2^64. */
#define ACTIVITY_SHIFT 24

/* Index of each sharer in the weight arrays: first the lines, then `unallocated`, then `system`. */
#define UNALLOCATED(in) ((in)->nlines)
#define SYSTEM(in) ((in)->nlines + 1)
#define SHARERS(in) ((in)->nlines + 2)

struct split_work {
	const struct split_input *in;
	struct account *line, *unallocated, *system;
	/* scratch memory; each array has SHARERS elements */
	uint64_t *weight;
	uint64_t *share;
	uint64_t *dynamic; /* dynamic energy of the parts split so far; weights for the rest of the node */
	bool by_activity;  /* the weights for the dynamic energy are those of MIG instances' activity */
	void *claims;
};

size_t split_work_size(size_t njobs, size_t nlines)
{
	return 3 * (nlines + 2) * sizeof(uint64_t) + split_static_work_size(njobs);
}

/* --- sharing ----------------------------------------------------------------------------- */

static struct account *sharer(const struct split_work *t, size_t i)
{
	if (i < t->in->nlines)
		return &t->line[i];
	return i == UNALLOCATED(t->in) ? t->unallocated : t->system;
}

static bool is_by_counters(const struct split_input *in, size_t sharer)
{
	return in->by_counters && (sharer >= in->nlines || in->line[sharer].by_counters);
}

/* Shares TOTAL uJ of part P by t->weight. If all weights are 0, sharer OTHERWISE gets TOTAL. */
static void share_out(struct split_work *t, const struct part *p, uint64_t total, bool is_static,
		      size_t otherwise)
{
	size_t n = SHARERS(t->in);
	uint64_t rest;
	size_t i;

	if (!total)
		return;
	rest = apportion(total, t->weight, n, t->share);
	t->share[otherwise] += rest;
	for (i = 0; i < n; i++) {
		struct account *s = sharer(t, i);

		s->total_uj[p->domain] += t->share[i];
		s->source_uj[p->source] += t->share[i];
		if (!p->idle_mw)
			s->no_idle_uj[p->domain] += t->share[i];
		if (is_static)
			s->static_uj[p->domain] += t->share[i];
		else if (p->domain == DOMAIN_CPU && is_by_counters(t->in, i))
			s->by_counters_uj += t->share[i];
		else if (t->by_activity)
			s->by_activity_uj += t->share[i];
	}
}

static uint64_t static_energy(const struct split_input *in, const struct part *p)
{
	uint64_t window_ns = in->until_ns - in->from_ns;
	uint64_t ns = p->used_ns > window_ns ? p->used_ns : window_ns;
	u128 idle = (u128)p->idle_mw * ns / MW_NS_PER_UJ;

	return idle < p->energy_uj ? (uint64_t)idle : p->energy_uj;
}

/* --- activity ---------------------------------------------------------------------------- */

static u128 weight_on(const uint64_t cpu_weight[SOCKETS_MAX], unsigned int unit)
{
	u128 sum = 0;
	unsigned int i;

	if (unit < SPLIT_ALL_SOCKETS)
		return cpu_weight[unit];
	for (i = 0; i < SOCKETS_MAX; i++)
		sum += cpu_weight[i];
	return sum;
}

static uint64_t cut(u128 weight)
{
	return weight >> 64 ? UINT64_MAX : (uint64_t)weight;
}

/* Returns the node's activity less that of the lines; 0 if the lines have more than the node. */
static uint64_t rest_of(u128 node, u128 lines)
{
	return lines < node ? cut(node - lines) : 0;
}

static void cpu_weights(struct split_work *t, unsigned int unit)
{
	const struct split_input *in = t->in;
	u128 lines = 0;
	size_t i;

	for (i = 0; i < in->nlines; i++) {
		const struct split_line *line = &in->line[i];
		u128 w = line->busy_ns ? weight_on(line->cpu_weight, unit) : 0;

		t->weight[i] = cut(w);
		lines += w;
	}
	t->weight[UNALLOCATED(in)] = 0;
	t->weight[SYSTEM(in)] = rest_of(weight_on(in->cpu_weight, unit), lines);
}

/*
 * Returns the part of MEM_WEIGHT on socket UNIT. Memory is assumed to be on the sockets whose CPUs use it,
 * because Linux allocates it there.
 */
static uint64_t memory_on(const struct split_input *in, const struct split_alloc *holder,
			  const uint64_t cpu_weight[SOCKETS_MAX], uint64_t mem_weight, unsigned int unit)
{
	u128 all = weight_on(cpu_weight, SPLIT_ALL_SOCKETS);

	if (unit >= SPLIT_ALL_SOCKETS)
		return mem_weight;
	return all ? wide_fraction(mem_weight, cpu_weight[unit], all) :
		     split_on_socket(in, holder, unit, mem_weight);
}

static void memory_weights(struct split_work *t, unsigned int unit)
{
	const struct split_input *in = t->in;
	u128 lines_cpu[SOCKETS_MAX] = { 0 };
	uint64_t system_cpu[SOCKETS_MAX];
	u128 lines = 0;
	unsigned int s;
	size_t i;

	for (i = 0; i < in->nlines; i++) {
		const struct split_line *line = &in->line[i];

		t->weight[i] = 0;
		if (!line->busy_ns)
			continue;
		t->weight[i] = memory_on(in, &line->alloc, line->cpu_weight, line->mem_weight, unit);
		lines += line->mem_weight;
		for (s = 0; s < SOCKETS_MAX; s++)
			lines_cpu[s] += line->cpu_weight[s];
	}
	for (s = 0; s < SOCKETS_MAX; s++)
		system_cpu[s] = rest_of(in->cpu_weight[s], lines_cpu[s]);
	t->weight[UNALLOCATED(in)] = 0;
	t->weight[SYSTEM(in)] = memory_on(in, &in->node, system_cpu, rest_of(in->mem_weight, lines), unit);
}

/* Adds the activity of instance G to the weights of those who hold it, or of `unallocated` if nobody does. */
static void add_instance(struct split_work *t, const struct split_instance *g)
{
	const struct split_input *in = t->in;
	const struct split_resource r = { SPLIT_INSTANCE, g->unit, g };
	uint64_t activity = (uint64_t)g->activity << ACTIVITY_SHIFT;
	u128 held = 0;
	size_t i;

	(void)split_static_weights(in, r, t->claims, t->share);
	for (i = 0; i < in->nlines; i++)
		held += t->share[i];
	for (i = 0; i < in->nlines; i++)
		t->weight[i] += wide_fraction(activity, t->share[i], held);
	t->weight[UNALLOCATED(in)] += held ? 0 : activity;
}

/* Sets the weights by the activity of GPU UNIT's instances. False: there is none, no weight is changed. */
static bool instance_weights(struct split_work *t, unsigned int unit)
{
	const struct split_input *in = t->in;
	bool any = false;
	size_t i;

	for (i = 0; i < in->ninstances; i++)
		any |= in->instance[i].unit == unit && in->instance[i].activity;
	if (!any)
		return false;
	memset(t->weight, 0, SHARERS(in) * sizeof(*t->weight));
	for (i = 0; i < in->ninstances; i++)
		if (in->instance[i].unit == unit && in->instance[i].activity)
			add_instance(t, &in->instance[i]);
	return true;
}

/* Adds TOTAL_UJ of dynamic energy, shared by t->weight, to t->dynamic. */
static void note_dynamic(struct split_work *t, uint64_t total_uj, size_t otherwise)
{
	uint64_t fine = total_uj < ENERGY_WEIGHT_MAX >> ENERGY_WEIGHT_SHIFT ?
				total_uj << ENERGY_WEIGHT_SHIFT :
				ENERGY_WEIGHT_MAX;
	u128 sum = 0;
	size_t i;

	for (i = 0; i < SHARERS(t->in); i++)
		sum += t->weight[i];
	if (!sum) {
		t->dynamic[otherwise] += fine;
		return;
	}
	for (i = 0; i < SHARERS(t->in); i++)
		t->dynamic[i] += wide_fraction(fine, t->weight[i], sum);
}

/*
 * Sets the weights for the rest of the node: dynamic energy of the other parts, or CPU
 * activity if there is none.
 */
static void rest_weights(struct split_work *t)
{
	size_t n = SHARERS(t->in);
	uint64_t any = 0;
	size_t i;

	for (i = 0; i < n; i++)
		any |= t->dynamic[i];
	if (any)
		memcpy(t->weight, t->dynamic, n * sizeof(*t->weight));
	else
		cpu_weights(t, SPLIT_ALL_SOCKETS);
}

/* --- the tick ---------------------------------------------------------------------------- */

/* Returns the socket of P, or SPLIT_ALL_SOCKETS if P stands for all sockets (part.unit). */
static unsigned int socket_of(const struct split_input *in, const struct part *p)
{
	unsigned int same = 0;
	size_t i;

	for (i = 0; i < in->nparts; i++)
		same += in->part[i].domain == p->domain;
	if (same == 1 || p->unit >= SOCKETS_MAX || !in->node.socket_cpus[p->unit])
		return SPLIT_ALL_SOCKETS;
	return p->unit;
}

static struct split_resource resource_of(const struct split_input *in, const struct part *p)
{
	struct split_resource r = { SPLIT_CPUS, SPLIT_ALL_SOCKETS, NULL };

	switch ((enum domain)p->domain) {
	case DOMAIN_CPU:
		r.unit = socket_of(in, p);
		break;
	case DOMAIN_DRAM:
		r.kind = in->node.mem_mb ? SPLIT_MEMORY : SPLIT_CPUS;
		r.unit = socket_of(in, p);
		break;
	case DOMAIN_GPU:
		r.kind = SPLIT_GPU;
		r.unit = p->unit < GPUS_MAX ? p->unit : GPUS_MAX - 1;
		break;
	case DOMAIN_OTHER:
	case DOMAIN_N:
		break;
	}
	return r;
}

static void split_part(struct split_work *t, const struct part *p)
{
	const struct split_input *in = t->in;
	struct split_resource r = resource_of(in, p);
	uint64_t static_uj = static_energy(in, p);
	uint64_t dynamic_uj = p->energy_uj - static_uj;
	size_t otherwise = r.kind == SPLIT_GPU ? UNALLOCATED(in) : SYSTEM(in);

	if (!p->energy_uj)
		return;
	split_static_weights(in, r, t->claims, t->weight);
	t->weight[SYSTEM(in)] = 0;
	t->by_activity = false;
	share_out(t, p, static_uj, /* is_static= */ true, UNALLOCATED(in));
	if (!dynamic_uj)
		return;
	if (p->domain == DOMAIN_CPU)
		cpu_weights(t, r.unit);
	else if (p->domain == DOMAIN_DRAM)
		memory_weights(t, r.unit);
	else if (p->domain == DOMAIN_OTHER)
		rest_weights(t);
	else if (p->idle_mw) /* else most of it may be idle energy, which is not split by activity */
		t->by_activity = instance_weights(t, r.unit);
	share_out(t, p, dynamic_uj, /* is_static= */ false, otherwise);
	if (p->domain != DOMAIN_OTHER)
		note_dynamic(t, dynamic_uj, otherwise);
}

static bool is_sound(const struct split_input *in)
{
	size_t i;

	if (in->from_ns >= in->until_ns)
		return false;
	for (i = 0; i < in->nlines; i++)
		if (in->line[i].job >= in->njobs)
			return false;
	for (i = 0; i < in->nparts; i++)
		if (in->part[i].domain >= DOMAIN_N || in->part[i].source >= SOURCE_N)
			return false;
	for (i = 0; i < in->ninstances; i++)
		if (in->instance[i].unit >= GPUS_MAX || in->instance[i].gi >= GPU_INSTANCES_MAX)
			return false;
	return true;
}

int split_tick(const struct split_input *in, void *work, struct account *line, struct account *unallocated,
	       struct account *system)
{
	struct split_work t = { in, line, unallocated, system, .weight = work };
	size_t i;

	if (!is_sound(in))
		return -EINVAL;
	t.share = t.weight + SHARERS(in);
	t.dynamic = t.share + SHARERS(in);
	t.claims = t.dynamic + SHARERS(in);
	for (i = 0; i < SHARERS(in); i++)
		memset(sharer(&t, i), 0, sizeof(struct account));
	memset(t.dynamic, 0, SHARERS(in) * sizeof(*t.dynamic));
	for (i = 0; i < in->nparts; i++)
		if (in->part[i].domain != DOMAIN_OTHER)
			split_part(&t, &in->part[i]);
	for (i = 0; i < in->nparts; i++)
		if (in->part[i].domain == DOMAIN_OTHER)
			split_part(&t, &in->part[i]);
	return 0;
}
