/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libjob/split.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

typedef unsigned __int128 u128;

/* mW x ns in a microjoule */
#define MW_NS_PER_UJ UINT64_C(1000000)

static uint64_t mul_div(uint64_t a, uint64_t b, uint64_t divisor)
{
	return (uint64_t)((u128)a * b / divisor);
}

static unsigned int bits_above(u128 v, unsigned int bits)
{
	unsigned int shift = 0;

	while (v >> bits) {
		v >>= 1;
		shift++;
	}
	return shift;
}

/* --- apportioning ----------------------------------------------------------------------- */

/* The largest T of which at least K of the N remainders are not below. */
static uint64_t kth_largest(const uint64_t *rest, size_t n, uint64_t k)
{
	uint64_t threshold = 0;
	uint64_t bit;
	size_t i;

	for (bit = UINT64_C(1) << 63; bit; bit >>= 1) {
		uint64_t count = 0;

		for (i = 0; i < n; i++)
			count += rest[i] >= (threshold | bit);
		if (count >= k)
			threshold |= bit;
	}
	return threshold;
}

/*
 * SHARE first holds the remainders, which saves a scratch array, and then the shares: dividing
 * twice is cheaper than sorting.
 */
uint64_t split_apportion(uint64_t total, const uint64_t *weight, size_t n, uint64_t *share)
{
	unsigned int shift;
	uint64_t threshold;
	uint64_t ties; /* how many of those at the threshold get a unit */
	uint64_t left = total;
	uint64_t sum;
	u128 wide = 0;
	size_t i;

	for (i = 0; i < n; i++)
		wide += weight[i];
	shift = bits_above(wide, 64);
	for (i = 0, sum = 0; i < n; i++)
		sum += weight[i] >> shift;
	if (!sum) {
		for (i = 0; i < n; i++)
			share[i] = 0;
		return total;
	}
	for (i = 0; i < n; i++) {
		u128 part = (u128)total * (weight[i] >> shift);

		left -= (uint64_t)(part / sum);
		share[i] = (uint64_t)(part % sum);
	}
	threshold = kth_largest(share, n, left);
	ties = left;
	for (i = 0; i < n && left; i++)
		ties -= share[i] > threshold;
	for (i = 0; i < n; i++) {
		bool extra = left && share[i] > threshold;

		if (left && share[i] == threshold && ties) {
			extra = true;
			ties--;
		}
		share[i] = mul_div(total, weight[i] >> shift, sum) + extra;
	}
	return 0;
}

/* --- the static part -------------------------------------------------------------------- */

/* What the lines of a job hold together; times in ns, claims in units x ns. */
struct job_claims {
	uint64_t from_ns, until_ns; /* from its first line's beginning to its last one's end */
	uint64_t steps;		    /* claims of its srun steps */
	uint64_t steps_ns;	    /* presence: of srun steps, */
	uint64_t batch_ns;	    /* of batch and interactive, */
	uint64_t extern_ns;	    /* of extern */
	uint64_t whole;		    /* claim of the job */
};

/* A resource that is allocated: cores, or MiB of memory. */
struct resource {
	bool is_memory;
	unsigned int shift; /* claims are cut by so many bits to fit; 0 for any usual window */
};

/*
 * Memory that is not known is taken to follow the cores: a job that asked for no memory has, in
 * Slurm, no limit to it.
 */
static uint64_t by_cpus(uint64_t mem_mb, uint32_t cpus, uint32_t all_cpus)
{
	return all_cpus ? mul_div(mem_mb, cpus, all_cpus) : 0;
}

static uint64_t job_holds(const struct split_input *in, struct resource r,
			  const struct split_job *job)
{
	if (!r.is_memory)
		return job->cpus;
	return job->mem_mb ? job->mem_mb : by_cpus(in->node_mem_mb, job->cpus, in->node_cpus);
}

static uint64_t line_holds(const struct split_input *in, struct resource r,
			   const struct split_line *line)
{
	const struct split_job *job = &in->job[line->job];

	if (!r.is_memory)
		return line->cpus;
	return line->mem_mb ? line->mem_mb : by_cpus(job_holds(in, r, job), line->cpus, job->cpus);
}

static uint64_t claim(struct resource r, uint64_t units, uint64_t ns)
{
	return (uint64_t)((u128)units * ns >> r.shift);
}

/* Clips the line's presence to the window; false: it was not there. */
static bool line_presence(const struct split_input *in, const struct split_line *line,
			  uint64_t *ret_from, uint64_t *ret_until)
{
	*ret_from = line->from_ns > in->from_ns ? line->from_ns : in->from_ns;
	*ret_until = line->until_ns < in->until_ns ? line->until_ns : in->until_ns;
	return *ret_from < *ret_until;
}

/* So many bits that all claims of the window together stay below 2^62. */
static unsigned int claim_shift(const struct split_input *in, struct resource r)
{
	u128 units = r.is_memory ? in->node_mem_mb : in->node_cpus;
	size_t i;

	for (i = 0; i < in->njobs; i++)
		units += job_holds(in, r, &in->job[i]);
	for (i = 0; i < in->nlines; i++)
		units += line_holds(in, r, &in->line[i]);
	/* 64 bits of units at most, whatever was configured: then the product has 128 */
	return bits_above((units >> 64 ? UINT64_MAX : (uint64_t)units) *
				  (u128)(in->until_ns - in->from_ns),
			  62);
}

static void add_claims(const struct split_input *in, struct resource r,
		       struct job_claims *jobs)
{
	uint64_t from;
	uint64_t until;
	size_t i;

	if (in->njobs)
		memset(jobs, 0, in->njobs * sizeof(*jobs));
	for (i = 0; i < in->nlines; i++) {
		const struct split_line *line = &in->line[i];
		struct job_claims *j = &jobs[line->job];

		if (!line_presence(in, line, &from, &until))
			continue;
		if (!j->until_ns || from < j->from_ns)
			j->from_ns = from;
		if (until > j->until_ns)
			j->until_ns = until;
		switch (line->kind) {
		case LINE_STEP:
			j->steps += claim(r, line_holds(in, r, line), until - from);
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
	for (i = 0; i < in->njobs; i++)
		jobs[i].whole = claim(r, job_holds(in, r, &in->job[i]),
				      jobs[i].until_ns - jobs[i].from_ns);
}

/* Who holds what of a job's claim no srun step holds, all by presence. */
static enum line_kind keeper_of_rest(const struct job_claims *j)
{
	if (j->batch_ns)
		return LINE_BATCH;
	return j->extern_ns ? LINE_EXTERN : LINE_STEP;
}

/* What LINE holds of its job's claim. */
static uint64_t line_weight(const struct split_input *in, struct resource r,
			    const struct split_line *line, const struct job_claims *j)
{
	enum line_kind keeper = keeper_of_rest(j);
	uint64_t from;
	uint64_t until;
	uint64_t own;

	if (!line_presence(in, line, &from, &until))
		return 0;
	own = claim(r, line_holds(in, r, line), until - from);
	if (line->kind == LINE_STEP) {
		if (!j->steps)
			return keeper == LINE_STEP ? mul_div(j->whole, until - from, j->steps_ns)
						   : 0;
		/* overlapping steps hold more than the job does; without keeper they hold all */
		if (j->steps > j->whole || keeper == LINE_STEP)
			return mul_div(j->whole, own, j->steps);
		return own;
	}
	if (line->kind != keeper || j->steps >= j->whole)
		return 0;
	return mul_div(j->whole - j->steps, until - from,
		       keeper == LINE_BATCH ? j->batch_ns : j->extern_ns);
}

/* WEIGHT[nlines] is what nobody holds. */
static void static_weights(const struct split_input *in, bool is_memory,
			   struct job_claims *jobs, uint64_t *weight)
{
	struct resource r = { .is_memory = is_memory && in->node_mem_mb };
	uint64_t node;
	u128 held = 0;
	size_t i;

	r.shift = claim_shift(in, r);
	add_claims(in, r, jobs);
	for (i = 0; i < in->nlines; i++)
		weight[i] = line_weight(in, r, &in->line[i], &jobs[in->line[i].job]);
	for (i = 0; i < in->njobs; i++)
		held += jobs[i].whole;
	node = claim(r, r.is_memory ? in->node_mem_mb : in->node_cpus,
		     in->until_ns - in->from_ns);
	weight[in->nlines] = held < node ? node - (uint64_t)held : 0;
}

/* --- the tick --------------------------------------------------------------------------- */

/* WEIGHT[nlines] is the system's. */
static void dynamic_weights(const struct split_input *in, uint64_t *weight)
{
	u128 lines = 0;
	size_t i;

	for (i = 0; i < in->nlines; i++) {
		weight[i] = in->line[i].busy_ns;
		lines += weight[i];
	}
	weight[in->nlines] = lines < in->node_busy_ns ? in->node_busy_ns - (uint64_t)lines : 0;
}

static uint64_t static_energy(const struct split_input *in, enum domain d)
{
	u128 idle = (u128)in->idle_mw[d] * (in->until_ns - in->from_ns) / MW_NS_PER_UJ;

	return idle < in->measured_uj[d] ? (uint64_t)idle : in->measured_uj[d];
}

size_t split_work_size(size_t njobs, size_t nlines)
{
	return njobs * sizeof(struct job_claims) + 3 * (nlines + 1) * sizeof(uint64_t);
}

static void split_static(const struct split_input *in, enum domain d,
			 const uint64_t *weight, uint64_t *part, struct split_share *line,
			 struct split_share *unallocated)
{
	uint64_t rest = split_apportion(static_energy(in, d), weight, in->nlines + 1, part);
	size_t i;

	for (i = 0; i < in->nlines; i++)
		line[i].total_uj[d] = line[i].static_uj[d] = part[i];
	unallocated->total_uj[d] = unallocated->static_uj[d] = part[in->nlines] + rest;
}

static void split_dynamic(const struct split_input *in, enum domain d,
			  const uint64_t *weight, uint64_t *part, struct split_share *line,
			  struct split_share *system)
{
	uint64_t total = in->measured_uj[d] - static_energy(in, d);
	uint64_t rest = split_apportion(total, weight, in->nlines + 1, part);
	size_t i;

	for (i = 0; i < in->nlines; i++)
		line[i].total_uj[d] += part[i];
	system->total_uj[d] = part[in->nlines] + rest;
}

int split_tick(const struct split_input *in, void *work, struct split_share *line,
	       struct split_share *unallocated, struct split_share *system)
{
	struct job_claims *jobs = work;
	uint64_t *by_alloc = (uint64_t *)(jobs + in->njobs);
	uint64_t *by_use = by_alloc + in->nlines + 1;
	uint64_t *part = by_use + in->nlines + 1;
	unsigned int d;
	size_t i;

	if (in->from_ns >= in->until_ns)
		return -EINVAL;
	for (i = 0; i < in->nlines; i++)
		if (in->line[i].job >= in->njobs)
			return -EINVAL;
	memset(unallocated, 0, sizeof(*unallocated));
	memset(system, 0, sizeof(*system));
	dynamic_weights(in, by_use);
	static_weights(in, /* is_memory= */ true, jobs, by_alloc);
	split_static(in, DOMAIN_DRAM, by_alloc, part, line, unallocated);
	static_weights(in, /* is_memory= */ false, jobs, by_alloc);
	for (d = 0; d < DOMAIN_N; d++) {
		if (d != DOMAIN_DRAM)
			split_static(in, d, by_alloc, part, line, unallocated);
		split_dynamic(in, d, by_use, part, line, system);
	}
	return 0;
}
