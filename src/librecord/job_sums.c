/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/librecord/job_sums.h"

#include <inttypes.h>

#include "src/libcore/idle_energy.h"
#include "src/libutil/clock.h"

void job_id_text(const struct record *r, char *buf, size_t size)
{
	if (r->array_job_id.known && r->array_task_id.known)
		(void)snprintf(buf, size, "%" PRIu64 "_%" PRIu64, r->array_job_id.value,
			       r->array_task_id.value);
	else if (r->array_job_id.known)
		(void)snprintf(buf, size, "%" PRIu64 "_[%s]", r->array_job_id.value,
			       r->array_tasks ? r->array_tasks : "");
	else if (r->het_job_id.known && r->het_job_offset.known)
		(void)snprintf(buf, size, "%" PRIu64 "+%" PRIu64, r->het_job_id.value,
			       r->het_job_offset.value);
	else
		(void)snprintf(buf, size, "%" PRIu32, r->job_id);
}

static bool is_running(const struct record *r)
{
	return r->start && !r->end;
}

uint64_t job_elapsed_s(const struct job_screen *s, const struct record *r)
{
	uint64_t ran_s;

	return record_run_s(r, s->now, &ran_s) ? ran_s : 0;
}

static uint64_t gpus_of(const struct record *r)
{
	uint64_t n;

	return record_tres(r->tres_alloc, "gres/gpu", &n) ? n : 0;
}

static void add_idle(const struct values *f, struct job_sums *sum)
{
	struct idle_energy idle = { .is_whole = !f->value[METRIC_ENERGY] };

	if (idle_energy_of(f, &idle)) {
		sum->idle_uj += (double)idle.idle_uj;
		sum->idle_of_uj += (double)idle.of_uj;
	}
	sum->idle_lacks |= !idle.is_whole;
}

static void add_part(const struct job_screen *s, const struct record *r, struct job_sums *sum)
{
	uint64_t elapsed = job_elapsed_s(s, r);
	double elapsed_ns = s->elapsed_ns ? (double)s->elapsed_ns : (double)elapsed * NSEC_PER_SEC;
	uint64_t cpu_ns;

	values_fold(&sum->f, &r->values);
	sum->gpus += gpus_of(r);
	if (!r->start)
		return;
	sum->started++;
	sum->running += is_running(r);
	if (!sum->first_start || r->start < sum->first_start)
		sum->first_start = r->start;
	sum->elapsed_s += elapsed;
	sum->longest_s = elapsed > sum->longest_s ? elapsed : sum->longest_s;
	if (record_cpu_time(r, &cpu_ns) && r->total_cpus) {
		sum->cpu_ns += (double)cpu_ns;
		sum->cpu_held_ns += elapsed_ns * r->total_cpus;
		sum->cpu_n++;
	}
	if (values_has(&r->values, METRIC_ENERGY)) {
		sum->energy_n++;
		sum->energy_ns += elapsed_ns;
		add_idle(&r->values, sum);
	}
	sum->co2e_n += values_has(&r->values, METRIC_CO2E);
}

void job_sums_add(const struct job_screen *s, struct job_sums *sum)
{
	size_t i;

	*sum = (struct job_sums){ 0 };
	values_init(&sum->f);
	for (i = 0; i < s->n; i++)
		add_part(s, s->part[i], sum);
}

double job_cpu_share(const struct job_screen *s, const struct record *r)
{
	double held = (double)job_elapsed_s(s, r) * NSEC_PER_SEC * r->total_cpus;
	uint64_t ns;

	return held > 0 && record_cpu_time(r, &ns) ? (double)ns / held : -1;
}

static uint64_t largest_rss(const struct record *r)
{
	uint64_t largest = 0;
	size_t i;

	for (i = 0; i < r->nsteps; i++)
		if (r->steps[i].max_rss_bytes.known && r->steps[i].max_rss_bytes.value > largest)
			largest = r->steps[i].max_rss_bytes.value;
	return largest;
}

void job_memory_find(const struct record *r, struct job_memory *m)
{
	const struct values *f = &r->values;
	uint64_t bytes;

	*m = (struct job_memory){ 0 };
	if (values_has(f, METRIC_MEMORY_PEAK))
		m->peak = f->value[METRIC_MEMORY_PEAK];
	if (!m->peak && values_has(f, METRIC_MEMORY_KERNEL_PEAK)) {
		m->peak = f->value[METRIC_MEMORY_KERNEL_PEAK];
		m->kind = JOB_MEMORY_KERNEL;
	}
	if (!m->peak) {
		m->peak = largest_rss(r);
		m->kind = JOB_MEMORY_TASK;
	}
	if (values_has(f, METRIC_MEMORY_ALLOCATED))
		m->allocated = f->value[METRIC_MEMORY_ALLOCATED];
	else if (record_tres(r->tres_alloc, "mem", &bytes))
		m->allocated = bytes / (r->total_nodes ? r->total_nodes : 1);
	m->share = m->allocated ? (double)m->peak / (double)m->allocated : 0;
}
