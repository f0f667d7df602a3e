/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libnode/textfile_gpu.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>

#include "src/libnode/prom.h"

#define PPM 1000000

/* NULL: the source of its energy does not say more of it. */
static const struct gpu_reading *reading_of(const struct textfile_gpus *g, unsigned int unit)
{
	size_t i;

	for (i = 0; i < g->ngpus; i++)
		if (g->gpu[i].unit == unit)
			return &g->gpu[i];
	return NULL;
}

static const char *uuid_of(const struct textfile_gpus *g, unsigned int unit)
{
	const struct gpu_reading *r = reading_of(g, unit);

	return r ? r->uuid : "";
}

/* The end of a label list. What a library says may hold anything, and one quote spoils the file. */
static void put_uuid(const struct textfile_gpus *g, unsigned int unit)
{
	char uuid[2 * sizeof(g->gpu->uuid)];

	prom_escape(uuid_of(g, unit), uuid, sizeof(uuid));
	fprintf(g->out, "gpuuuid=\"%s\"}", uuid);
}

static void put_labels(const struct textfile_gpus *g, const char *name, unsigned int unit)
{
	fprintf(g->out, "%s{hostname=\"%s\",gpu=\"%u\",", name, g->host, unit);
	put_uuid(g, unit);
}

static void put_info(const struct textfile_gpus *g)
{
	static const char name[] = "ceems_gpu_info";
	char model[2 * sizeof(g->gpu->model)];
	size_t i;

	for (i = 0; i < g->ngpus; i++) {
		if (!i)
			prom_head(g->out, name, "gauge", "A GPU of the node");
		prom_escape(g->gpu[i].model, model, sizeof(model));
		fprintf(g->out, "%s{hostname=\"%s\",gpu=\"%u\",model=\"%s\",", name, g->host,
			g->gpu[i].unit, model);
		put_uuid(g, g->gpu[i].unit);
		prom_value(g->out, 1, 1);
	}
}

static void put_energy(const struct textfile_gpus *g)
{
	static const char name[] = "ceems_gpu_energy_joules_total";
	bool has_head = false;
	uint32_t i;

	for (i = 0; i < g->page->nparts && i < READING_PARTS_MAX; i++) {
		const struct ledger_part *p = &g->page->part[i];

		if (p->domain != DOMAIN_GPU)
			continue;
		if (!has_head)
			prom_head(g->out, name, "counter",
				  "Energy of a GPU since the ledger began, held by a job or not");
		has_head = true;
		put_labels(g, name, p->unit);
		prom_value(g->out, p->energy_uj, 1000000);
	}
}

/* One gauge of all GPUs that know it; FIELD is its offset in struct gpu_reading. */
static void put_gauge(const struct textfile_gpus *g, const char *name, const char *help,
		      size_t field, uint64_t units)
{
	bool has_head = false;
	size_t i;

	for (i = 0; i < g->ngpus; i++) {
		const uint64_t *value =
			(const uint64_t *)((const char *)&g->gpu[i] + field);

		if (*value == UINT64_MAX)
			continue;
		if (!has_head)
			prom_head(g->out, name, "gauge", help);
		has_head = true;
		put_labels(g, name, g->gpu[i].unit);
		prom_value(g->out, *value, units);
	}
}

/*
 * CEEMS joins a job to the exporters of GPU metrics by this one. Its value is the part of the GPU
 * that the job holds.
 */
static void put_holders(const struct textfile_gpus *g)
{
	static const char name[] = "ceems_compute_unit_gpu_index_flag";
	bool has_head = false;
	unsigned int unit;
	uint32_t i;

	for (i = 0; i < g->page->njobs; i++) {
		const struct ledger_job_account *j = &g->page->job[i];

		for (unit = 0; unit < GPUS_MAX; unit++) {
			if (!j->job_id || !j->open_slots || !j->gpu_ppm[unit])
				continue;
			if (!has_head)
				prom_head(g->out, name, "gauge",
					  "A value > 0 indicates the job using current GPU");
			has_head = true;
			fprintf(g->out,
				"%s{hostname=\"%s\",manager=\"slurm\",uuid=\"%" PRIu32
				"\",index=\"%u\",",
				name, g->host, j->job_id, unit);
			put_uuid(g, unit);
			prom_value(g->out, j->gpu_ppm[unit], PPM);
		}
	}
}

void textfile_gpus_put(const struct textfile_gpus *g)
{
	put_info(g);
	put_energy(g);
	put_gauge(g, "ceems_gpu_power_watts", "Power of a GPU, as it says itself",
		  offsetof(struct gpu_reading, power_mw), 1000);
	put_gauge(g, "ceems_gpu_utilization_ratio", "Share of time in which a GPU was busy",
		  offsetof(struct gpu_reading, busy_ppm), PPM);
	put_gauge(g, "ceems_gpu_memory_used_bytes", "Memory of a GPU that is in use",
		  offsetof(struct gpu_reading, mem_used_bytes), 1);
	put_gauge(g, "ceems_gpu_memory_total_bytes", "Memory of a GPU",
		  offsetof(struct gpu_reading, mem_total_bytes), 1);
	put_holders(g);
}
