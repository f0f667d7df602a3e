/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libnode/textfile.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/libnode/prom.h"
#include "src/libnode/textfile_emissions.h"
#include "src/libnode/textfile_gpu.h"
#include "src/libutil/clock.h"
#include "src/libutil/fileio.h"
#include "src/libutil/pages.h"

/* One job on this node: its gone steps and those still there. */
struct job_sum {
	struct account energy;
	uint64_t busy_ns;
	struct figures figures;
};

struct writer {
	FILE *out;
	char host[2 * 256]; /* escaped, as every label value has to be */
	const struct ledger_page *page;
	const struct textfile_input *in;
	struct job_sum *job; /* page->njobs of them */
};

/* --- text format ------------------------------------------------------------------------ */

static void put_node(struct writer *w, const char *name, const char *type, const char *help,
		     uint64_t value, uint64_t units)
{
	prom_head(w->out, name, type, help);
	fprintf(w->out, "%s{hostname=\"%s\"}", name, w->host);
	prom_value(w->out, value, units);
}

/* --- the node --------------------------------------------------------------------------- */

static bool has_domain(const struct writer *w, unsigned int d)
{
	return w->page->domain_source[d] < SOURCE_N;
}

static const char *domain_source(const struct writer *w, unsigned int d)
{
	return source_name((enum source_id)w->page->domain_source[d]);
}

/* The next domain from *D on that is measured; HELP and TYPE precede the first. false: no more. */
static bool next_domain(struct writer *w, unsigned int *d, bool *has_head, const char *name,
			const char *type, const char *help)
{
	while (*d < DOMAIN_N && !has_domain(w, *d))
		(*d)++;
	if (*d == DOMAIN_N)
		return false;
	if (!*has_head)
		prom_head(w->out, name, type, help);
	*has_head = true;
	return true;
}

static void put_domains(struct writer *w, const char *name, const char *type, const char *help,
			const uint64_t *value, uint64_t units)
{
	bool has_head = false;
	unsigned int d;

	for (d = 0; next_domain(w, &d, &has_head, name, type, help); d++) {
		fprintf(w->out, "%s{hostname=\"%s\",domain=\"%s\",source=\"%s\"}", name, w->host,
			domain_name((enum domain)d), domain_source(w, d));
		prom_value(w->out, value[d], units);
	}
}

static void put_part_labels(struct writer *w, const char *name, const struct ledger_part *p)
{
	fprintf(w->out, "%s{hostname=\"%s\",domain=\"%s\",unit=\"%u\",source=\"%s\"", name,
		w->host, domain_name((enum domain)p->domain), p->unit,
		source_name((enum source_id)p->source));
}

static void put_parts(struct writer *w)
{
	static const char energy[] = "ceems_node_part_energy_joules_total";
	static const char power[] = "ceems_node_part_power_watts";
	static const char idle[] = "ceems_node_part_idle_power_watts";
	const struct ledger_part *part = w->page->part;
	uint32_t n = w->page->nparts < READING_PARTS_MAX ? w->page->nparts : READING_PARTS_MAX;
	uint32_t i;

	if (!n)
		return;
	prom_head(w->out, energy, "counter", "Energy of a socket, its memory, a GPU or the node's rest");
	for (i = 0; i < n; i++) {
		put_part_labels(w, energy, &part[i]);
		fputc('}', w->out);
		prom_value(w->out, part[i].energy_uj, 1000000);
	}
	prom_head(w->out, power, "gauge", "Power of the same over the last sampling interval");
	for (i = 0; i < n; i++) {
		put_part_labels(w, power, &part[i]);
		fputc('}', w->out);
		prom_value(w->out, part[i].power_mw, 1000);
	}
	prom_head(w->out, idle, "gauge", "Idle power of the same, where it is known, and how");
	for (i = 0; i < n; i++) {
		if (part[i].idle == LEDGER_IDLE_NONE)
			continue;
		put_part_labels(w, idle, &part[i]);
		fprintf(w->out, ",idle=\"%s\"}", ledger_idle_name((enum ledger_idle)part[i].idle));
		prom_value(w->out, part[i].idle_mw, 1000);
	}
}

/* The sum of a domain's parts, if it is known of all of them: no machine idles at 0. */
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
	static const char name[] = "ceems_node_idle_power_watts";
	static const char help[] = "Idle power, which is split by allocation, where it is known";
	bool has_head = false;
	unsigned int d;

	for (d = 0; d < DOMAIN_N; d++) {
		if (!is_idle_known(w, d))
			continue;
		if (!has_head)
			prom_head(w->out, name, "gauge", help);
		has_head = true;
		fprintf(w->out, "%s{hostname=\"%s\",domain=\"%s\",source=\"%s\"}", name, w->host,
			domain_name((enum domain)d), domain_source(w, d));
		prom_value(w->out, w->page->idle_mw[d], 1000);
	}
}

/* Of its first part: the units of a domain are read alike. "": not known. */
static const char *domain_quality(const struct writer *w, unsigned int d)
{
	const struct ledger_page *p = w->page;
	uint32_t i;

	for (i = 0; i < p->nparts; i++)
		if (p->part[i].domain == d && p->part[i].source == p->domain_source[d])
			return reading_quality_name((enum reading_quality)p->part[i].quality);
	return "";
}

/* How the domain's dynamic energy was split, for the most part; the static one goes by allocation. */
static const char *domain_method(const struct writer *w, unsigned int d)
{
	const struct account *a = &w->page->measured;
	uint64_t dynamic_uj = a->total_uj[DOMAIN_CPU] - a->static_uj[DOMAIN_CPU];

	if (d == DOMAIN_GPU)
		return "allocation";
	/* memory and the node's rest follow the CPUs */
	return a->by_counters_uj > dynamic_uj / 2 ? "counters" : "cpu-time";
}

static void put_source_info(struct writer *w)
{
	static const char name[] = "ceems_energy_source_info";
	static const char help[] = "Where a domain's energy is read and how it is attributed";
	bool has_head = false;
	unsigned int d;

	for (d = 0; next_domain(w, &d, &has_head, name, "gauge", help); d++) {
		fprintf(w->out,
			"%s{hostname=\"%s\",domain=\"%s\",source=\"%s\",quality=\"%s\","
			"method=\"%s\",estimate=\"%s\"} 1\n",
			name, w->host, domain_name((enum domain)d), domain_source(w, d),
			domain_quality(w, d), domain_method(w, d),
			w->page->domain_source[d] == SOURCE_MODEL ? "true" : "false");
	}
}

/*
 * CEEMS shows the counters themselves, zone by zone. RAPL's zones that we count are packages
 * ("intel-rapl:0") and, below them, their memory ("intel-rapl:0:1").
 */
static bool is_dram_zone(const char *zone)
{
	const char *colon = strchr(zone, ':');

	return colon && strchr(colon + 1, ':');
}

static void put_rapl(struct writer *w, const char *name, const char *help, bool dram)
{
	const struct source_state *st = &w->page->state[SOURCE_RAPL];
	bool has_head = false;
	uint32_t i;

	for (i = 0; i < st->ncounters && i < SOURCE_MAX_COUNTERS; i++) {
		const char *zone = st->counter[i].name;
		const char *colon = strchr(zone, ':');

		if (is_dram_zone(zone) != dram || !colon)
			continue;
		if (!has_head)
			prom_head(w->out, name, "counter", help);
		has_head = true;
		fprintf(w->out,
			"%s{hostname=\"%s\",index=\"%s\",path=\"/sys/class/powercap/%s\"}", name,
			w->host, colon + 1, zone);
		prom_value(w->out, st->counter[i].raw, 1000000);
	}
}

static void put_emissions(struct writer *w)
{
	const struct textfile_emissions e = {
		.out = w->out,
		.host = w->host,
		.page = w->page,
		.series = w->in->series,
		.region = w->in->region,
	};

	textfile_emissions_put(&e);
}

static void put_node_energy(struct writer *w)
{
	const struct ledger_page *p = w->page;

	put_source_info(w);
	put_domains(w, "ceems_node_energy_joules_total", "counter",
		    "Energy of the node since the ledger began, jobs or not",
		    p->measured.total_uj, 1000000);
	put_domains(w, "ceems_node_power_watts", "gauge",
		    "Power of the node over the last sampling interval", p->power_mw, 1000);
	put_idle(w);
	put_parts(w);
	put_rapl(w, "ceems_rapl_package_joules_total", "Current RAPL package value in joules",
		 /* dram= */ false);
	put_rapl(w, "ceems_rapl_dram_joules_total", "Current RAPL dram value in joules",
		 /* dram= */ true);
	put_node(w, "ceems_node_unallocated_joules_total", "counter",
		 "Idle energy of what no job had allocated", account_total_uj(&p->unallocated),
		 1000000);
	put_node(w, "ceems_node_system_joules_total", "counter",
		 "Energy of processes outside of jobs", account_total_uj(&p->system), 1000000);
	put_node(w, "ceems_node_retired_joules_total", "counter",
		 "Energy of jobs that are no longer listed", account_total_uj(&p->retired),
		 1000000);
	put_node(w, "ceems_node_conservation_error_joules_total", "counter",
		 "Measured energy that the accounts miss or have too much; anything but 0 is a bug",
		 p->conservation_error_uj, 1000000);
	put_node(w, "ceems_node_sensor_disagreement_joules_total", "counter",
		 "Energy of the parts beyond what the node's own sensor shows", p->disagreement_uj,
		 1000000);
	put_emissions(w);
}

static void put_ledger(struct writer *w)
{
	const struct ledger_page *p = w->page;
	uint64_t used = 0;
	uint32_t i;

	for (i = 0; i < p->nsteps && i < LEDGER_STEPS; i++)
		used += p->step[i].until_mono_ns != 0;
	put_node(w, "ceems_ledger_ticks_total", "counter", "Samples taken", p->ticks, 1);
	put_node(w, "ceems_ledger_last_tick_timestamp_seconds", "gauge", "Time of the last sample",
		 p->t_wall_ns / NSEC_PER_MSEC, 1000);
	put_node(w, "ceems_ledger_gaps_total", "counter",
		 "Samples that came too late to tell steps of the meantime apart", p->gaps, 1);
	put_node(w, "ceems_ledger_steps", "gauge", "Steps in the node ledger", used, 1);
	put_node(w, "ceems_ledger_steps_max", "gauge", "Steps that the node ledger has room for",
		 LEDGER_STEPS, 1);
	put_node(w, "ceems_ledger_lost_steps_total", "counter",
		 "Steps whose slurmstepd died before it closed them", p->lost_steps, 1);
	put_node(w, "ceems_ledger_refused_steps_total", "counter",
		 "Steps that found no room in the node ledger", p->slots_full, 1);
	put_node(w, "ceems_sensor_rejected_readings_total", "counter",
		 "Counter readings that failed or were implausible", p->rejected, 1);
	put_node(w, "ceems_sensor_late_readings_total", "counter",
		 "Readings that were too old to be used", p->late, 1);
	put_node(w, "ceems_sensor_wraps_total", "counter", "Counters that began again at 0",
		 p->wraps, 1);
}

/* --- jobs ------------------------------------------------------------------------------- */

/* EXTRA: more labels, ",name=\"value\""; may be empty. */
static void put_job_labels(struct writer *w, const char *name, const struct ledger_job_account *j,
			   const char *extra)
{
	fprintf(w->out, "%s{hostname=\"%s\",manager=\"slurm\",uuid=\"%" PRIu32 "\"%s}", name,
		w->host, j->job_id, extra);
}

static void sum_jobs(struct writer *w)
{
	const struct ledger_page *p = w->page;
	uint32_t i;

	for (i = 0; i < p->njobs; i++) {
		w->job[i].energy = p->job[i].closed;
		w->job[i].busy_ns = p->job[i].closed_busy_ns;
		w->job[i].figures = p->job[i].figures;
	}
	for (i = 0; i < p->nsteps && i < LEDGER_STEPS; i++) {
		const struct ledger_step_account *s = &p->step[i];

		if (!s->job || s->job > p->njobs)
			continue;
		account_add(&w->job[s->job - 1].energy, &s->energy);
		w->job[s->job - 1].busy_ns += s->busy_ns;
	}
	for (i = 0; i < p->njobs; i++) {
		ledger_account_figures(p, &w->job[i].energy, &w->job[i].figures);
		figures_set(&w->job[i].figures, METRIC_CPU_TIME, w->job[i].busy_ns);
	}
}

static uint64_t prom_units(enum metric_unit unit)
{
	switch (unit) {
	case UNIT_UJ:
		return 1000000;
	case UNIT_NG: /* grams */
	case UNIT_NS:
		return 1000000000;
	default:
		return 1;
	}
}

static void put_job_values(struct writer *w, enum metric m, bool *has_head)
{
	const struct metric_info *info = &metric_table[m];
	uint32_t i;

	for (i = 0; i < w->page->njobs; i++) {
		if (!w->page->job[i].job_id || !figures_has(&w->job[i].figures, m))
			continue;
		if (!*has_head)
			prom_head(w->out, info->prom, "counter",
				  info->prom_labels[0] ? "Payload bytes of ended steps by protocol" :
						      info->help);
		*has_head = true;
		put_job_labels(w, info->prom, &w->page->job[i],
			       info->prom_labels);
		prom_value(w->out, w->job[i].figures.value[m], prom_units(info->unit));
	}
}

/* All metrics of M's name, which the text format wants in one place; nothing if an earlier one was M's. */
static void put_job_metric(struct writer *w, enum metric m)
{
	const char *name = metric_table[m].prom;
	bool has_head = false;
	unsigned int k;

	for (k = 0; k < m; k++)
		if (!strcmp(metric_table[k].prom, name))
			return;
	for (; k < METRIC_N; k++)
		if (!strcmp(metric_table[k].prom, name))
			put_job_values(w, (enum metric)k, &has_head);
}

static void put_job_gauge(struct writer *w, const char *name, const char *help, bool memory)
{
	bool has_head = false;
	uint32_t i;

	for (i = 0; i < w->page->njobs; i++) {
		const struct ledger_job_account *j = &w->page->job[i];
		uint64_t v = memory ? j->mem_mb * 1048576 : j->cpus;

		if (!j->job_id || !j->open_slots || !v)
			continue;
		if (!has_head)
			prom_head(w->out, name, "gauge", help);
		has_head = true;
		put_job_labels(w, name, j, "");
		prom_value(w->out, v, 1);
	}
}

static void put_gpus(struct writer *w)
{
	const struct textfile_gpus gpus = {
		.out = w->out,
		.host = w->host,
		.page = w->page,
		.gpu = w->in->gpu,
		.ngpus = w->in->ngpus,
	};

	textfile_gpus_put(&gpus);
}

static void put_jobs(struct writer *w)
{
	uint64_t running = 0;
	unsigned int m;
	uint32_t i;

	for (i = 0; i < w->page->njobs; i++)
		running += w->page->job[i].job_id && w->page->job[i].open_slots;
	prom_head(w->out, "ceems_compute_units", "gauge", "Total number of jobs");
	fprintf(w->out, "ceems_compute_units{hostname=\"%s\",manager=\"slurm\"} %" PRIu64 "\n",
		w->host, running);
	put_job_gauge(w, "ceems_compute_unit_cpus", "Total number of job CPUs",
		      /* memory= */ false);
	put_job_gauge(w, "ceems_compute_unit_memory_total_bytes", "Memory total in bytes",
		      /* memory= */ true);
	metric_foreach(m)
		if (metric_table[m].prom[0])
			put_job_metric(w, (enum metric)m);
}

/* ---------------------------------------------------------------------------------------- */

static int textfile_format_page(struct writer *w, const char *hostname, char **ret, size_t *ret_len)
{
	char *text = NULL;
	size_t len = 0;
	bool is_bad;

	w->out = open_memstream(&text, &len);
	if (!w->out)
		return -ENOMEM;
	prom_escape(hostname, w->host, sizeof(w->host));
	sum_jobs(w);
	put_node_energy(w);
	put_gpus(w);
	put_ledger(w);
	put_jobs(w);
	is_bad = ferror(w->out) != 0;
	if (fclose(w->out) || is_bad) {
		free(text);
		return -ENOMEM;
	}
	*ret = text;
	*ret_len = len;
	return 0;
}

int textfile_format(const char *hostname, const struct ledger_page *page,
		    const struct textfile_input *in, char **ret, size_t *ret_len,
		    struct errmsg *err)
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

int textfile_write(const char *dir, const struct textfile_input *in, struct errmsg *err)
{
	_cleanup_free_ char *text = NULL;
	struct ledger_page *page;
	char path[PATH_MAX];
	size_t len;
	int rc;

	if (snprintf(path, sizeof(path), "%s/ceems.prom", dir) >= (int)sizeof(path))
		return errmsg_errno(err, -ENAMETOOLONG, "%s", dir);
	/* not from the heap, which would keep it: slurmd, which forks for each step, copies what it has */
	page = pages_alloc(sizeof(*page));
	if (!page)
		return errmsg_errno(err, -ENOMEM, "ceems.prom");
	rc = ledger_snapshot(in->ledger, page);
	if (rc < 0)
		(void)errmsg_errno(err, rc, "ledger");
	else
		rc = textfile_format(ledger_node(in->ledger), page, in, &text, &len, err);
	pages_free(page, sizeof(*page));
	if (rc < 0)
		return rc;
	return fileio_write_atomic(path, text, len, 0644, err);
}
