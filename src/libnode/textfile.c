/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libnode/textfile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/libmeter/activity/probes.h"
#include "src/libnode/textfile_internal.h"
#include "src/libutil/clock.h"
#include "src/libutil/pages.h"
#include "src/libutil/util.h"

#define LAST_TICK_HELP "Time of the last sample"

enum memory { MEMORY_USED, MEMORY_RSS, MEMORY_CACHE, MEMORY_HELD, MEMORY_SWAP, MEMORY_N };

/* The sums of one job on this node, over its ended and running steps. */
struct job_sum {
	struct account energy;
	uint64_t busy_ns;
	struct values values;
	uint64_t memory[MEMORY_N]; /* of running steps; UINT64_MAX: not known */
};

struct writer {
	struct prom prom;
	const struct ledger_page *page;
	const struct textfile_input *in;
	struct job_sum *job; /* array of page->njobs */
};

/* --- the node --------------------------------------------------------------------------- */

static bool has_domain(const struct writer *w, unsigned int d)
{
	return w->page->domain_source[d] < SOURCE_N;
}

static const char *domain_source(const struct writer *w, unsigned int d)
{
	return source_name((enum source_id)w->page->domain_source[d]);
}

static void put_domain(struct writer *w, const struct prom_family *f, unsigned int d, uint64_t value)
{
	prom_put(&w->prom, f, value, ",domain=\"%s\",source=\"%s\"", domain_name((enum domain)d),
		 domain_source(w, d));
}

static void put_domains(struct writer *w, const struct prom_family *f, const uint64_t *value)
{
	unsigned int d;

	for (d = 0; d < DOMAIN_N; d++)
		if (has_domain(w, d))
			put_domain(w, f, d, value[d]);
}

/* Writes a value of a part. IDLE is the source of an idle power; NULL: it is another value. */
static void put_part(struct writer *w, const struct prom_family *f, const struct ledger_part *p,
		     uint64_t value, const char *idle)
{
	char unit[8];

	prom_put(&w->prom, f, value, ",domain=\"%s\",unit=\"%s\",source=\"%s\"%s%s%s",
		 domain_name((enum domain)p->domain), domain_unit_name(p->domain, p->unit, unit),
		 source_name((enum source_id)p->source), idle ? ",idle=\"" : "", idle ? idle : "",
		 idle ? "\"" : "");
}

static void put_parts(struct writer *w)
{
	static const struct prom_family energy = { "ceems_node_part_energy_joules_total", "counter",
						   "Energy of a socket, its memory, a GPU or the node's rest",
						   UJ_PER_J };
	static const struct prom_family power = { "ceems_node_part_power_watts", "gauge",
						  "Power of the same over the last sampling interval", 1000 };
	static const struct prom_family idle = { "ceems_node_part_idle_power_watts", "gauge",
						 "Idle power of the same, where it is known, and how", 1000 };
	static const struct prom_family doubt = {
		"ceems_node_part_doubt", "gauge",
		"Why the energy of the same is not known or too low; 0: it is known", 1
	};
	const struct ledger_part *part = w->page->part;
	uint32_t n = w->page->nparts < PARTS_MAX ? w->page->nparts : PARTS_MAX;
	uint32_t i;

	if (!n)
		return;
	for (i = 0; i < n; i++)
		put_part(w, &energy, &part[i], part[i].energy_uj, NULL);
	for (i = 0; i < n; i++)
		put_part(w, &power, &part[i], part[i].power_mw, NULL);
	for (i = 0; i < n; i++)
		put_part(w, &doubt, &part[i], part[i].doubt, NULL);
	prom_head(&w->prom, &idle); /* written even if the idle power of no part is known */
	for (i = 0; i < n; i++)
		if (part[i].idle != LEDGER_IDLE_NONE)
			put_part(w, &idle, &part[i], part[i].idle_mw,
				 ledger_idle_name((enum ledger_idle)part[i].idle));
}

/* Returns true if the idle power of all parts of the domain is known (none is 0). */
static bool is_idle_known(const struct writer *w, unsigned int d)
{
	const struct ledger_page *p = w->page;
	bool any = false;
	uint32_t i;

	for (i = 0; i < p->nparts; i++) {
		if (p->part[i].domain != d)
			continue;
		if (p->part[i].idle == LEDGER_IDLE_NONE)
			return false;
		any = true;
	}
	return any && has_domain(w, d);
}

static void put_idle(struct writer *w)
{
	static const struct prom_family f = { "ceems_node_idle_power_watts", "gauge",
					      "Idle power, which is split by allocation, where it is known",
					      1000 };
	unsigned int d;

	for (d = 0; d < DOMAIN_N; d++)
		if (is_idle_known(w, d))
			put_domain(w, &f, d, w->page->idle_mw[d]);
}

/* The energy of a GPU is split by allocation, also without its idle power. */
static void put_unallocated(struct writer *w)
{
	static const struct prom_family f = {
		"ceems_node_unallocated_joules_total", "counter",
		"Idle energy of what no job had allocated, where idle power is known; of GPUs, all energy",
		UJ_PER_J
	};
	unsigned int d;

	for (d = 0; d < DOMAIN_N; d++)
		if (is_idle_known(w, d) || (d == DOMAIN_GPU && has_domain(w, d)))
			put_domain(w, &f, d, w->page->unallocated.total_uj[d]);
}

/* Returns the quality of the domain's first part; other units are read in the same way. "": unknown. */
static const char *domain_quality(const struct writer *w, unsigned int d)
{
	const struct ledger_page *p = w->page;
	uint32_t i;

	for (i = 0; i < p->nparts; i++)
		if (p->part[i].domain == d && p->part[i].source == p->domain_source[d])
			return reading_quality_name((enum reading_quality)p->part[i].quality);
	return "";
}

/*
 * Returns by what most of the domain's dynamic energy was split. (Idle energy is always split by allocation.)
 */
static const char *domain_method(const struct writer *w, unsigned int d)
{
	const struct account *a = &w->page->measured;
	uint64_t dynamic_uj = a->total_uj[DOMAIN_CPU] - a->static_uj[DOMAIN_CPU];

	if (d == DOMAIN_GPU) /* activity: of MIG instances */
		return a->by_activity_uj > (a->total_uj[d] - a->static_uj[d]) / 2 ? "activity" : "allocation";
	/* memory and the rest of the node are split as the CPUs are */
	return a->by_counters_uj > dynamic_uj / 2 ? "counters" : "cpu-time";
}

static void put_source_info(struct writer *w)
{
	static const struct prom_family f = { "ceems_energy_source_info", "gauge",
					      "Where a domain's energy is read and how it is attributed", 1 };
	unsigned int d;

	for (d = 0; d < DOMAIN_N; d++) {
		if (!has_domain(w, d))
			continue;
		prom_put(&w->prom, &f, 1,
			 ",domain=\"%s\",source=\"%s\",quality=\"%s\",method=\"%s\",estimate=\"%s\"",
			 domain_name((enum domain)d), domain_source(w, d), domain_quality(w, d),
			 domain_method(w, d), w->page->domain_source[d] == SOURCE_MODEL ? "true" : "false");
	}
}

static const struct prom_family *rapl_family(const char *kind)
{
	static const struct {
		const char *kind;
		struct prom_family family;
	} rapl[] = {
		{ "package",
		  { "ceems_rapl_package_joules_total", "counter", "Current RAPL package value in joules",
		    UJ_PER_J } },
		{ "dram",
		  { "ceems_rapl_dram_joules_total", "counter", "Current RAPL dram value in joules",
		    UJ_PER_J } },
		{ "psys",
		  { "ceems_rapl_psys_joules_total", "counter",
		    "Current RAPL value of the platform, packages and memory included, in joules",
		    UJ_PER_J } },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rapl); i++)
		if (!strcmp(rapl[i].kind, kind))
			return &rapl[i].family;
	return NULL;
}

static const struct source_counter *find_counter(const struct source_state *st, const char *name)
{
	uint32_t i;

	for (i = 0; i < st->ncounters && i < SOURCE_MAX_COUNTERS; i++)
		if (!strncmp(st->counter[i].name, name, sizeof(st->counter[i].name)))
			return &st->counter[i];
	return NULL;
}

/*
 * Writes RAPL's raw counters, zone by zone, as CEEMS does. Frequent readings of them can reveal
 * other users' secrets, so the kernel shows them to root only (CVE-2020-8694).
 */
static void put_rapl(struct writer *w)
{
	size_t i;

	for (i = 0; w->in->has_rapl && i < w->in->nzones; i++) {
		const struct source_zone *z = &w->in->zone[i];
		const struct prom_family *f = rapl_family(z->kind);
		const struct source_counter *c = find_counter(&w->page->state[SOURCE_RAPL], z->name);

		if (f && c)
			prom_put(&w->prom, f, c->raw, ",index=\"%u\",path=\"%s%s\"", z->index, z->folder,
				 z->name);
	}
}

static void put_node_energy(struct writer *w)
{
	static const struct prom_family energy = { "ceems_node_energy_joules_total", "counter",
						   "Energy of the node since the ledger began, jobs or not",
						   UJ_PER_J };
	static const struct prom_family power = { "ceems_node_power_watts", "gauge",
						  "Power of the node over the last sampling interval", 1000 };
	const struct ledger_page *p = w->page;

	put_source_info(w);
	put_domains(w, &energy, p->measured.total_uj);
	put_domains(w, &power, p->power_mw);
	put_idle(w);
	put_parts(w);
	put_rapl(w);
	put_unallocated(w);
	prom_put_node(&w->prom, "ceems_node_system_joules_total", "counter",
		      "Energy of processes outside of jobs", account_total_uj(&p->system), UJ_PER_J);
	prom_put_node(&w->prom, "ceems_node_retired_joules_total", "counter",
		      "Energy of jobs that are no longer listed", account_total_uj(&p->retired), UJ_PER_J);
	prom_put_node(&w->prom, "ceems_node_conservation_error_joules_total", "counter",
		      "Measured energy that the accounts miss or have too much; anything but 0 is a bug",
		      p->conservation_error_uj, UJ_PER_J);
	prom_put_node(&w->prom, "ceems_node_sensor_disagreement_joules_total", "counter",
		      "Energy of the parts beyond what the node's own sensor shows", p->disagreement_uj,
		      UJ_PER_J);
	textfile_emissions_put(&w->prom, p, w->in);
}

static void put_ledger(struct writer *w)
{
	const struct ledger_page *p = w->page;
	uint64_t used = 0;
	uint32_t i;

	for (i = 0; i < p->nsteps && i < LEDGER_STEPS; i++)
		used += p->step[i].until_mono_ns != 0;
	prom_put_node(&w->prom, "ceems_ledger_ticks_total", "counter", "Samples taken", p->ticks, 1);
	prom_put_node(&w->prom, "ceems_ledger_last_tick_timestamp_seconds", "gauge", LAST_TICK_HELP,
		      p->t_wall_ns / NSEC_PER_MSEC, 1000);
	prom_put_node(&w->prom, "ceems_ledger_gaps_total", "counter",
		      "Samples that came so late that steps in between cannot be told apart", p->gaps, 1);
	prom_put_node(&w->prom, "ceems_ledger_steps", "gauge", "Steps in the node ledger", used, 1);
	prom_put_node(&w->prom, "ceems_ledger_steps_max", "gauge", "Steps that the node ledger has room for",
		      LEDGER_STEPS, 1);
	prom_put_node(&w->prom, "ceems_ledger_lost_steps_total", "counter",
		      "Steps whose slurmstepd died before it closed them", p->lost_steps, 1);
	prom_put_node(&w->prom, "ceems_ledger_refused_steps_total", "counter",
		      "Steps that found no room in the node ledger", p->slots_full, 1);
	prom_put_node(&w->prom, "ceems_sensor_rejected_readings_total", "counter",
		      "Counter readings that failed or were implausible", p->rejected, 1);
	prom_put_node(&w->prom, "ceems_sensor_late_readings_total", "counter",
		      "Readings that were too old to be used", p->late, 1);
	prom_put_node(&w->prom, "ceems_sensor_wraps_total", "counter", "Counters that began again at 0",
		      p->wraps, 1);
}

static void put_groups(struct writer *w, const struct prom_family *f, const uint64_t value[PROBES_GROUP_N])
{
	unsigned int g;

	for (g = 0; g < PROBES_GROUP_N; g++)
		prom_put(&w->prom, f, value[g], ",group=\"%s\"", probes_group_name((enum probes_group)g));
}

static void put_lost(struct writer *w)
{
	static const struct prom_family lost = { "ceems_bpf_lost_events_total", "counter",
						 "Events that BPF programs had no room to count", 1 };
	static const struct prom_family skipped = { "ceems_bpf_skipped_events_total", "counter",
						    "Events for which the kernel skipped a BPF program", 1 };

	if (!w->in->lost)
		return;
	put_groups(w, &lost, w->in->lost->lost);
	put_groups(w, &skipped, w->in->lost->skipped);
}

/* --- jobs ------------------------------------------------------------------------------- */

/* Writes a value of a job. EXTRA has more labels, as ",name=\"value\"", or is empty. */
static void put_job(struct writer *w, const struct prom_family *f, const struct ledger_job_account *j,
		    const char *extra, uint64_t value)
{
	prom_put(&w->prom, f, value, ",manager=\"slurm\",uuid=\"%" PRIu32 "\"%s", j->job_id, extra);
}

static void add_memory(uint64_t *sum, uint64_t bytes)
{
	if (bytes != UINT64_MAX)
		*sum = *sum == UINT64_MAX ? bytes : *sum + bytes;
}

static void add_memory_kinds(struct job_sum *job, const struct memuse_kinds *p)
{
	add_memory(&job->memory[MEMORY_USED], p->used);
	add_memory(&job->memory[MEMORY_RSS], p->rss);
	add_memory(&job->memory[MEMORY_CACHE], p->cache);
	add_memory(&job->memory[MEMORY_HELD], p->held);
	add_memory(&job->memory[MEMORY_SWAP], p->swap);
}

static void sum_jobs(struct writer *w)
{
	const struct ledger_page *p = w->page;
	const struct memuse_kinds *kinds;
	const struct values *live;
	uint32_t i;

	for (i = 0; i < p->njobs; i++) {
		w->job[i].energy = p->job[i].closed;
		w->job[i].busy_ns = p->job[i].closed_busy_ns;
		w->job[i].values = p->job[i].values;
		memset(w->job[i].memory, 0xff, sizeof(w->job[i].memory));
	}
	for (i = 0; i < p->nsteps && i < LEDGER_STEPS; i++) {
		const struct ledger_step_account *s = &p->step[i];

		if (!s->job || s->job > p->njobs)
			continue;
		account_add(&w->job[s->job - 1].energy, &s->energy);
		w->job[s->job - 1].busy_ns += s->busy_ns;
		ledger_gpu_add(&s->gpu, &w->job[s->job - 1].values);
		live = w->in->ledger ? ledger_live(w->in->ledger, i, s->claim) : NULL;
		if (live)
			values_fold(&w->job[s->job - 1].values, live);
		kinds = membook_find(w->in->memory, i, s->claim);
		if (kinds)
			add_memory_kinds(&w->job[s->job - 1], kinds);
	}
	for (i = 0; i < p->njobs; i++) {
		ledger_account_values(p, &w->job[i].energy, &w->job[i].values);
		values_set(&w->job[i].values, METRIC_CPU_TIME, w->job[i].busy_ns);
	}
}

/* Returns the help text of a family, to which several metrics may belong. */
static const char *family_help(const struct metric_info *info)
{
	if (!info->prom_labels[0])
		return info->help;
	if (info->kind == KIND_ENERGY && info->side == SIDE_OUT)
		return "Part of that energy that is idle power, split by allocation, by domain";
	return info->kind == KIND_ENERGY ? "Energy attributed to the job on this node by domain" :
					   "Payload bytes by protocol";
}

static void put_job_values(struct writer *w, enum metric m)
{
	const struct metric_info *info = &metric_table[m];
	const struct prom_family f = { info->prom, "counter", family_help(info),
				       unit_table[info->unit].scale };
	uint32_t i;

	for (i = 0; i < w->page->njobs; i++)
		if (w->page->job[i].job_id && values_has(&w->job[i].values, m))
			put_job(w, &f, &w->page->job[i], info->prom_labels, w->job[i].values.value[m]);
}

/*
 * Writes all metrics with M's name, since the text format wants them together. Writes nothing if an
 * earlier metric had the name.
 */
static void put_job_metric(struct writer *w, enum metric m)
{
	const char *name = metric_table[m].prom;
	unsigned int k;

	for (k = 0; k < m; k++)
		if (!strcmp(metric_table[k].prom, name))
			return;
	for (; k < METRIC_N; k++)
		if (!strcmp(metric_table[k].prom, name))
			put_job_values(w, (enum metric)k);
}

static void put_job_gauge(struct writer *w, const char *name, const char *help, bool memory)
{
	const struct prom_family f = { name, "gauge", help, 1 };
	uint32_t i;

	for (i = 0; i < w->page->njobs; i++) {
		const struct ledger_job_account *j = &w->page->job[i];
		uint64_t v = memory ? j->mem_mb * 1048576 : j->cpus;

		if (j->job_id && j->open_slots && v)
			put_job(w, &f, j, "", v);
	}
}

static void put_job_memory(struct writer *w)
{
	static const struct prom_family f[MEMORY_N] = {
		[MEMORY_USED] = { "ceems_compute_unit_memory_used_bytes", "gauge",
				  "Memory used in bytes, page cache included", 1 },
		[MEMORY_RSS] = { "ceems_compute_unit_memory_rss_bytes", "gauge", "Memory RSS used in bytes",
				 1 },
		[MEMORY_CACHE] = { "ceems_compute_unit_memory_cache_bytes", "gauge",
				   "Memory cache used in bytes", 1 },
		[MEMORY_HELD] = { "ceems_compute_unit_memory_working_set_bytes", "gauge",
				  "Anonymous and shared memory in bytes, without page cache", 1 },
		[MEMORY_SWAP] = { "ceems_compute_unit_memory_swap_bytes", "gauge",
				  "Memory that is swapped out in bytes", 1 },
	};
	unsigned int m;
	uint32_t i;

	for (m = 0; m < MEMORY_N; m++)
		for (i = 0; i < w->page->njobs; i++)
			if (w->page->job[i].job_id && w->job[i].memory[m] != UINT64_MAX)
				put_job(w, &f[m], &w->page->job[i], "", w->job[i].memory[m]);
}

static void put_jobs(struct writer *w)
{
	static const struct prom_family units = { "ceems_compute_units", "gauge", "Total number of jobs", 1 };
	uint64_t running = 0;
	unsigned int m;
	uint32_t i;

	sum_jobs(w);
	for (i = 0; i < w->page->njobs; i++)
		running += w->page->job[i].job_id && w->page->job[i].open_slots;
	prom_put(&w->prom, &units, running, ",manager=\"slurm\"");
	put_job_gauge(w, "ceems_compute_unit_cpus", "Total number of job CPUs",
		      /* memory= */ false);
	put_job_gauge(w, "ceems_compute_unit_memory_total_bytes", "Memory total in bytes",
		      /* memory= */ true);
	put_job_memory(w);
	metric_foreach(m)
		if (metric_table[m].prom[0])
			put_job_metric(w, (enum metric)m);
}

/* ---------------------------------------------------------------------------------------- */

static void put_running(struct writer *w)
{
	prom_put_node(
		&w->prom, "ceems_sampler_running", "gauge",
		"1 while slurmd samples; 0: it has ended, and with it all other series but its last tick",
		!w->in->has_ended, 1);
}

static void put_end(struct writer *w)
{
	put_running(w);
	prom_put_node(&w->prom, "ceems_ledger_last_tick_timestamp_seconds", "gauge", LAST_TICK_HELP,
		      w->page->t_wall_ns / NSEC_PER_MSEC, 1000);
}

static void put_all(struct writer *w)
{
	put_running(w);
	put_node_energy(w);
	textfile_gpus_put(&w->prom, w->page, w->in);
	put_ledger(w);
	put_lost(w);
	if (!w->in->no_jobs)
		put_jobs(w);
}

static int textfile_format_page(struct writer *w, const char *hostname, char **ret, size_t *ret_len)
{
	char *text = NULL;
	size_t len = 0;
	bool is_bad;

	w->prom.out = open_memstream(&text, &len);
	if (!w->prom.out)
		return -ENOMEM;
	prom_escape(hostname, w->prom.host, sizeof(w->prom.host));
	if (w->in->has_ended)
		put_end(w);
	else
		put_all(w);
	is_bad = ferror(w->prom.out) != 0;
	if (fclose(w->prom.out) || is_bad) {
		free(text);
		return -ENOMEM;
	}
	*ret = text;
	*ret_len = len;
	return 0;
}

int textfile_format(const char *hostname, const struct ledger_page *page, const struct textfile_input *in,
		    char **ret, size_t *ret_len, struct errmsg *err)
{
	struct writer w = { .page = page, .in = in };
	size_t size;
	int rc;

	if (page->njobs > LEDGER_JOBS)
		return errmsg_set(err, -EINVAL, "ledger lists %" PRIu32 " jobs", page->njobs);
	size = (page->njobs + 1) * sizeof(*w.job);
	w.job = pages_alloc(size);
	rc = w.job ? textfile_format_page(&w, hostname, ret, ret_len) : -ENOMEM;
	pages_free(w.job, size);
	return rc < 0 ? errmsg_errno(err, rc, "ceems.prom") : 0;
}

int textfile_make(const struct textfile_input *in, char **ret, size_t *ret_len, struct errmsg *err)
{
	return textfile_format(ledger_node(in->ledger), ledger_current(in->ledger), in, ret, ret_len, err);
}
