/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/librecord/record.h"

#include "src/libutil/clock.h"

static bool run_s(uint64_t start, uint64_t end, const struct maybe_u64 *suspended_s, uint64_t *ret_s)
{
	if (!start || end < start)
		return false;
	/* sacct, too, has 0 where a clock was set back meanwhile */
	*ret_s = suspended_s->value < end - start ? end - start - suspended_s->value : 0;
	return true;
}

bool record_run_s(const struct record *r, uint64_t now, uint64_t *ret_s)
{
	return run_s(r->start, r->end ? r->end : now, &r->suspended_s, ret_s);
}

bool record_step_run_s(const struct record_step *s, uint64_t *ret_s)
{
	return run_s(s->start, s->end, &s->suspended_s, ret_s);
}

static uint64_t nanoseconds(uint64_t s)
{
	uint64_t ns;

	return __builtin_mul_overflow(s, NSEC_PER_SEC, &ns) ? 0 : ns;
}

/*
 * Slurm's CPU time of a step in ns; 0: unknown. Slurm stores 0 if it did not measure, and no
 * process uses less than a microsecond.
 */
static uint64_t slurm_cpu_ns(const struct record_step *s)
{
	uint64_t us;
	uint64_t ns;

	if (!s->user_cpu_us.known || !s->system_cpu_us.known ||
	    __builtin_add_overflow(s->user_cpu_us.value, s->system_cpu_us.value, &us) ||
	    __builtin_mul_overflow(us, UINT64_C(1000), &ns))
		return 0;
	return ns;
}

static uint64_t slurm_job_cpu_ns(const struct record *r)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < r->nsteps; i++)
		if (__builtin_add_overflow(sum, slurm_cpu_ns(&r->steps[i]), &sum))
			return 0;
	return sum;
}

/* METRIC_CPU_TIME, else SLURM_NS unless that is 0. False: both are unknown. */
static bool cpu_time_of(const struct values *f, uint64_t slurm_ns, uint64_t *ret_ns)
{
	if (!values_has(f, METRIC_CPU_TIME) && !slurm_ns)
		return false;
	*ret_ns = values_has(f, METRIC_CPU_TIME) ? f->value[METRIC_CPU_TIME] : slurm_ns;
	return true;
}

bool record_cpu_time(const struct record *r, uint64_t *ret_ns)
{
	return cpu_time_of(&r->values, slurm_job_cpu_ns(r), ret_ns);
}

bool record_step_cpu_time(const struct record_step *s, uint64_t *ret_ns)
{
	return cpu_time_of(&s->values, slurm_cpu_ns(s), ret_ns);
}

static bool value_of(enum derived d, const struct values *f, uint64_t slurm_ns, uint64_t elapsed,
		     uint32_t cpus, double *ret)
{
	struct values with;

	if (!slurm_ns)
		return derived_value(d, f, elapsed, cpus, ret);
	with = *f;
	values_set(&with, METRIC_CPU_TIME, slurm_ns);
	return derived_value(d, &with, elapsed, cpus, ret);
}

bool record_derived(const struct record *r, enum derived d, double *ret)
{
	uint64_t ns = values_has(&r->values, METRIC_CPU_TIME) ? 0 : slurm_job_cpu_ns(r);
	uint64_t s = 0;

	(void)record_run_s(r, /* now= */ 0, &s);
	return value_of(d, &r->values, ns, nanoseconds(s), r->total_cpus, ret);
}

bool record_step_derived(const struct record_step *s, enum derived d, double *ret)
{
	uint64_t ns = values_has(&s->values, METRIC_CPU_TIME) ? 0 : slurm_cpu_ns(s);
	uint64_t ran_s = 0;

	(void)record_step_run_s(s, &ran_s);
	return value_of(d, &s->values, ns, nanoseconds(ran_s), s->ncpus, ret);
}

bool record_step_imbalance(const struct record_step *s, enum metric m, double *ret)
{
	const struct record_spread *spread = m == METRIC_ENERGY ? &s->energy : &s->cpu_time;

	if (!spread->max.known || s->nnodes < 2 || !values_has(&s->values, m) || !s->values.value[m])
		return false;
	*ret = (double)spread->max.value * s->nnodes / (double)s->values.value[m] - 1;
	return true;
}
