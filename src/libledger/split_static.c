/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libledger/split_static.h"

#include <string.h>

#include "src/libutil/wide_math.h"

/*
 * CPUs and MB are counted in thousandths, because a CPU whose socket is not known is divided among sockets.
 */
#define UNIT_PARTS 1000

/* What a job and its lines hold of a resource. A claim is units of the resource x ns. */
struct job_claims {
	uint64_t from_ns, until_ns; /* from the beginning of its first line to the end of its last line */
	uint64_t steps;		    /* sum of the claims of its srun steps */
	uint64_t steps_ns;	    /* how long its srun steps existed, summed */
	uint64_t batch_ns;	    /* how long its batch and interactive steps existed, summed */
	uint64_t extern_ns;	    /* how long its extern step existed */
	uint64_t whole;		    /* claim of the whole job */
};

struct claim_unit {
	struct split_resource r;
	unsigned int shift; /* claims are shifted right by so many bits to fit; usually 0 */
};

size_t split_static_work_size(size_t njobs)
{
	return njobs * sizeof(struct job_claims);
}

/* --- who holds how much ------------------------------------------------------------------ */

static uint64_t sum_sockets(const uint32_t socket_cpus[SOCKETS_MAX])
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < SOCKETS_MAX; i++)
		sum += socket_cpus[i];
	return sum;
}

uint64_t split_on_socket(const struct split_input *in, const struct split_alloc *holder, unsigned int unit,
			 uint64_t total)
{
	const uint32_t *cpus = holder->socket_cpus;
	uint64_t all = sum_sockets(cpus);

	if (unit >= SPLIT_ALL_SOCKETS)
		return total;
	if (!all) {
		cpus = in->node.socket_cpus;
		all = sum_sockets(cpus);
	}
	return all ? wide_mul_div(total, cpus[unit], all) : 0;
}

static uint64_t parts_of(uint64_t units)
{
	return units > UINT64_MAX / UNIT_PARTS ? UINT64_MAX : units * UNIT_PARTS;
}

/*
 * Returns the memory of HOLDER. If it is not known, HOLDER is assumed to have the same share of WITHIN_MB
 * as of the CPUs of WITHIN. Slurm does not allocate memory to a job that asked for none.
 */
static uint64_t memory_of(const struct split_alloc *holder, const struct split_alloc *within,
			  uint64_t within_mb)
{
	if (holder->mem_mb)
		return holder->mem_mb;
	return within->cpus ? wide_mul_div(within_mb, holder->cpus, within->cpus) : 0;
}

static uint64_t job_memory(const struct split_input *in, const struct split_alloc *job)
{
	return memory_of(job, &in->node, in->node.mem_mb);
}

/*
 * Returns which share of a GPU HOLDER has by instance G. If G is its only one, that may be less than the
 * instance: a part of its compute instances.
 */
static uint64_t instance_held(const struct split_instance *g, const struct split_alloc *holder)
{
	uint16_t held = holder->gpu_instances[g->unit];

	if (!(held & 1u << g->gi))
		return 0;
	return held == 1u << g->gi ? holder->gpu_ppm[g->unit] : g->size_ppm;
}

static uint64_t job_holds(const struct split_input *in, struct split_resource r,
			  const struct split_alloc *job)
{
	if (r.kind == SPLIT_INSTANCE)
		return instance_held(r.instance, job);
	if (r.kind == SPLIT_GPU)
		return job->gpu_ppm[r.unit];
	return split_on_socket(in, job, r.unit,
			       parts_of(r.kind == SPLIT_MEMORY ? job_memory(in, job) : job->cpus));
}

static uint64_t line_holds(const struct split_input *in, struct split_resource r,
			   const struct split_line *line)
{
	const struct split_alloc *job = &in->job[line->job];

	if (r.kind == SPLIT_MEMORY)
		return split_on_socket(in, &line->alloc, r.unit,
				       parts_of(memory_of(&line->alloc, job, job_memory(in, job))));
	return job_holds(in, r, &line->alloc);
}

static uint64_t node_holds(const struct split_input *in, struct split_resource r)
{
	if (r.kind == SPLIT_INSTANCE)
		return r.instance->size_ppm;
	return r.kind == SPLIT_GPU ? 1000000 : job_holds(in, r, &in->node);
}

/* --- claims ------------------------------------------------------------------------------ */

static uint64_t split_static_claim(const struct claim_unit *c, uint64_t held, uint64_t ns)
{
	return (uint64_t)((u128)held * ns >> c->shift);
}

/* Gives the part of the window in which the line existed. False: it did not exist in the window. */
static bool line_presence(const struct split_input *in, const struct split_line *line, uint64_t *ret_from,
			  uint64_t *ret_until)
{
	*ret_from = line->from_ns > in->from_ns ? line->from_ns : in->from_ns;
	*ret_until = line->until_ns < in->until_ns ? line->until_ns : in->until_ns;
	return *ret_from < *ret_until;
}

/* Returns by how many bits to shift claims right, so that all claims of the window sum to less than 2^62. */
static unsigned int claim_shift(const struct split_input *in, struct split_resource r)
{
	u128 held = node_holds(in, r);
	size_t i;

	for (i = 0; i < in->njobs; i++)
		held += job_holds(in, r, &in->job[i]);
	for (i = 0; i < in->nlines; i++)
		held += line_holds(in, r, &in->line[i]);
	/* units are capped at 64 bits, so that units x ns fits into 128 bits */
	return wide_bits_above((held >> 64 ? UINT64_MAX : (uint64_t)held) *
				       (u128)(in->until_ns - in->from_ns),
			       62);
}

static void add_line(struct job_claims *j, enum line_kind kind, uint64_t held, uint64_t from, uint64_t until)
{
	if (!j->until_ns || from < j->from_ns)
		j->from_ns = from;
	if (until > j->until_ns)
		j->until_ns = until;
	switch (kind) {
	case LINE_STEP:
		j->steps += held;
		j->steps_ns += until - from;
		break;
	case LINE_BATCH:
		j->batch_ns += until - from;
		break;
	case LINE_EXTERN:
		j->extern_ns += until - from;
		break;
	}
}

static void add_claims(const struct split_input *in, const struct claim_unit *c, struct job_claims *jobs)
{
	uint64_t from;
	uint64_t until;
	size_t i;

	if (in->njobs)
		memset(jobs, 0, in->njobs * sizeof(*jobs));
	for (i = 0; i < in->nlines; i++) {
		const struct split_line *line = &in->line[i];

		if (line_presence(in, line, &from, &until))
			add_line(&jobs[line->job], line->kind,
				 split_static_claim(c, line_holds(in, c->r, line), until - from), from,
				 until);
	}
	for (i = 0; i < in->njobs; i++)
		jobs[i].whole = split_static_claim(c, job_holds(in, c->r, &in->job[i]),
						   jobs[i].until_ns - jobs[i].from_ns);
}

/* Which kind of line holds what no srun step of the job holds. Lines of that kind share it by time. */
static enum line_kind keeper_of_rest(const struct job_claims *j)
{
	if (j->batch_ns)
		return LINE_BATCH;
	return j->extern_ns ? LINE_EXTERN : LINE_STEP;
}

/* Returns which part of its job's claim LINE holds. */
static uint64_t line_weight(const struct split_input *in, const struct claim_unit *c,
			    const struct split_line *line, const struct job_claims *j)
{
	enum line_kind keeper = keeper_of_rest(j);
	uint64_t from;
	uint64_t until;
	uint64_t own;

	if (!line_presence(in, line, &from, &until))
		return 0;
	own = split_static_claim(c, line_holds(in, c->r, line), until - from);
	if (line->kind == LINE_STEP) {
		if (!j->steps)
			return keeper == LINE_STEP ? wide_mul_div(j->whole, until - from, j->steps_ns) : 0;
		/*
		 * share out the job's claim if the steps overlap and claim more, or if no
		 * other line holds the rest
		 */
		if (j->steps > j->whole || keeper == LINE_STEP)
			return wide_mul_div(j->whole, own, j->steps);
		return own;
	}
	if (line->kind != keeper || j->steps >= j->whole)
		return 0;
	return wide_mul_div(j->whole - j->steps, until - from,
			    keeper == LINE_BATCH ? j->batch_ns : j->extern_ns);
}

unsigned int split_static_weights(const struct split_input *in, struct split_resource r, void *work,
				  uint64_t *weight)
{
	struct claim_unit c = { .r = r };
	struct job_claims *jobs = work;
	u128 held = 0;
	uint64_t node;
	size_t i;

	c.shift = claim_shift(in, r);
	add_claims(in, &c, jobs);
	for (i = 0; i < in->nlines; i++)
		weight[i] = line_weight(in, &c, &in->line[i], &jobs[in->line[i].job]);
	for (i = 0; i < in->njobs; i++)
		held += jobs[i].whole;
	node = split_static_claim(&c, node_holds(in, r), in->until_ns - in->from_ns);
	weight[in->nlines] = held < node ? node - (uint64_t)held : 0;
	return c.shift;
}
