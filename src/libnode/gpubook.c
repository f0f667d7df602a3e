/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libnode/gpubook.h"

#include <errno.h>
#include <string.h>

#include "src/libutil/muldiv.h"
#include "src/libutil/pages.h"

/* The last reading of a GPU. */
struct gpu_last {
	uint64_t until_ns; /* end of the time that it covers; 0: there was no reading */
	uint64_t xids;	   /* the last known number; not all readings have it */
	uint64_t value[GPU_VALUE_N];
};

struct gpubook {
	struct gpu_last last[GPUS_MAX]; /* by unit */
	/* the last known number of errors of each MIG instance */
	uint64_t instance_xids[GPUS_MAX][GPU_INSTANCES_MAX];
	const struct gpu_instance_reading *instance; /* readings of MIG instances in this tick */
	size_t ninstances;
	uint64_t held[LEDGER_STEPS + 1];
};

int gpubook_create(struct gpubook **ret)
{
	struct gpubook *w = pages_alloc(sizeof(*w));

	if (!w)
		return -ENOMEM;
	*ret = w;
	return 0;
}

void gpubook_destroy(struct gpubook *w)
{
	if (w)
		pages_free(w, sizeof(*w));
}

/* --- instances ------------------------------------------------------------------------------ */

static bool is_own_step(const struct ledger_identity *id)
{
	return id->step_id < LEDGER_STEP_INTERACTIVE;
}

/*
 * Returns the MIG instances or parts of GPU UNIT that the step may use, as bits. Batch and extern step
 * may use those of the job.
 */
static uint16_t instances_of(const struct ledger_identity *id, unsigned int unit)
{
	return is_own_step(id) ? id->step_gpu_instances[unit] : id->job_gpu_instances[unit];
}

/* Finds the reading of an instance. NULL: there is none, or it has no values. */
static const struct gpu_instance_reading *find_instance(const struct gpubook *w, unsigned int unit,
							unsigned int gi)
{
	size_t i;

	for (i = 0; i < w->ninstances; i++)
		if (w->instance[i].unit == unit && w->instance[i].gi == gi)
			return &w->instance[i];
	return NULL;
}

/*
 * Returns the sum of value V over the instances in HELD, or with IS_MEAN the mean, weighted by their slices.
 * It is unknown if it is unknown for one of them.
 */
static uint64_t instances_value(const struct gpubook *w, unsigned int unit, uint16_t held, enum gpu_value v,
				bool is_mean)
{
	uint64_t sum = 0, slices = 0;
	unsigned int gi;

	for (gi = 0; held >> gi; gi++) {
		const struct gpu_instance_reading *r;

		if (!(held & 1u << gi))
			continue;
		r = find_instance(w, unit, gi);
		if (!r || r->value[v] == GPU_VALUE_UNKNOWN)
			return GPU_VALUE_UNKNOWN;
		sum += is_mean ? r->value[v] * r->slices : r->value[v];
		slices += r->slices;
	}
	if (!is_mean)
		return sum;
	return slices ? sum / slices : GPU_VALUE_UNKNOWN;
}

/*
 * Returns the values of GPU UNIT for a step. If the step holds MIG instances, these are
 * theirs, computed in BUF.
 */
static const uint64_t *values_of(const struct gpubook *w, const struct ledger_identity *id, unsigned int unit,
				 uint64_t buf[GPU_VALUE_N])
{
	static const enum gpu_value shares[] = {
		GPU_VALUE_BUSY_PPM, GPU_VALUE_SM_PPM,	GPU_VALUE_OCCUPANCY_PPM, GPU_VALUE_TENSOR_PPM,
		GPU_VALUE_FP64_PPM, GPU_VALUE_FP32_PPM, GPU_VALUE_FP16_PPM,	 GPU_VALUE_DRAM_PPM,
	};
	uint16_t held = instances_of(id, unit);
	size_t i;

	if (!held)
		return w->last[unit].value;
	memcpy(buf, w->last[unit].value, sizeof(w->last[unit].value));
	for (i = 0; i < ARRAY_SIZE(shares); i++)
		buf[shares[i]] = instances_value(w, unit, held, shares[i], /* is_mean= */ true);
	buf[GPU_VALUE_PROCESSES] = instances_value(w, unit, held, GPU_VALUE_PROCESSES, /* is_mean= */ false);
	buf[GPU_VALUE_MEM_USED_BYTES] = instances_value(w, unit, held, GPU_VALUE_MEM_USED_BYTES, false);
	buf[GPU_VALUE_MEM_TOTAL_BYTES] = instances_value(w, unit, held, GPU_VALUE_MEM_TOTAL_BYTES, false);
	return buf;
}

/* --- time ----------------------------------------------------------------------------------- */

/*
 * Adds the last reading of GPU UNIT to the steps, for the time from FROM_NS to UNTIL_NS. TAILS: only to steps
 * that end in this tick and have had a reading before.
 */
static void book_window(struct gpubook *w, struct ledger_book *b, const struct tick *t, unsigned int unit,
			uint64_t from_ns, uint64_t until_ns, bool tails)
{
	const struct book_line *line = t->line;
	const struct gpu_last *last = &w->last[unit];
	uint64_t buf[GPU_VALUE_N];
	size_t i;

	if (from_ns >= until_ns)
		return;
	ledger_book_gpu_held(b, t->page, unit, from_ns, until_ns, w->held);
	for (i = 0; i < t->nlines; i++)
		if (w->held[i] && (!tails || (line[i].is_last && line[i].s->t_open_mono_ns < last->until_ns)))
			ledger_gpu_book(&t->page->step[line[i].slot].gpu, w->held[i],
					values_of(w, &line[i].s->id, unit, buf));
}

/* --- errors --------------------------------------------------------------------------------- */

/*
 * Returns true if of all steps of its job, line I held the largest share of the GPU. Errors are added only to
 * that step, so that the sum over the steps is the number of errors of the job.
 */
static bool is_most(const struct gpubook *w, const struct tick *t, size_t i)
{
	const struct book_line *line = t->line;
	size_t k;

	for (k = 0; k < t->nlines; k++)
		if (line[k].s->id.job_id == line[i].s->id.job_id &&
		    (w->held[k] > w->held[i] || (w->held[k] == w->held[i] && k < i)))
			return false;
	return true;
}

/*
 * Returns the errors since the last reading. A lower count than before means that ceems-gpu or
 * the driver was restarted.
 */
static uint64_t new_xids(uint64_t *last, uint64_t xids)
{
	uint64_t before = *last;

	if (xids == GPU_VALUE_UNKNOWN)
		return 0;
	*last = xids;
	return xids >= before ? xids - before : xids;
}

/* Errors since the last reading: of the whole GPU, and of each instance. */
struct new_xids {
	uint64_t of_gpu;
	uint64_t of_instance[GPU_INSTANCES_MAX];
	uint16_t told; /* bit N: of_instance[N] is known */
	bool is_any;
};

static void find_xids(struct gpubook *w, unsigned int unit, uint64_t of_gpu, struct new_xids *ret)
{
	size_t i;

	memset(ret, 0, sizeof(*ret));
	ret->of_gpu = new_xids(&w->last[unit].xids, of_gpu);
	ret->is_any = ret->of_gpu > 0;
	for (i = 0; i < w->ninstances; i++) {
		const struct gpu_instance_reading *r = &w->instance[i];

		if (r->unit != unit || r->gi >= GPU_INSTANCES_MAX)
			continue;
		ret->of_instance[r->gi] = new_xids(&w->instance_xids[unit][r->gi],
						   r->value[GPU_VALUE_XID_ERRORS]);
		ret->is_any |= ret->of_instance[r->gi] > 0;
		if (r->value[GPU_VALUE_XID_ERRORS] != GPU_VALUE_UNKNOWN)
			ret->told |= (uint16_t)(1u << r->gi);
	}
}

/*
 * Returns the errors of a step that holds the MIG instances HELD. The count of each instance includes errors
 * of the whole GPU, so the counts are not added but the largest is taken. If there are none (lost GPU), that
 * of the GPU is used.
 */
static uint64_t xids_of(const struct new_xids *xids, uint16_t held)
{
	uint64_t most = 0;
	unsigned int gi;

	if (!(held & xids->told))
		return xids->of_gpu;
	for (gi = 0; gi < GPU_INSTANCES_MAX; gi++)
		if (held & 1u << gi && xids->of_instance[gi] > most)
			most = xids->of_instance[gi];
	return most;
}

/*
 * Adds the errors to the steps. SINCE_NS is the time of the last reading; the readings of a lost
 * GPU have no times.
 */
static void book_xids(struct gpubook *w, struct ledger_book *b, const struct tick *t, unsigned int unit,
		      uint64_t since_ns, const struct new_xids *xids)
{
	const struct book_line *line = t->line;
	size_t i;

	if (!xids->is_any || !since_ns)
		return;
	ledger_book_gpu_held(b, t->page, unit, since_ns, w->last[unit].until_ns, w->held);
	for (i = 0; i < t->nlines; i++)
		if (w->held[i] && is_most(w, t, i))
			ledger_gpu_count_xids(&t->page->step[line[i].slot].gpu,
					      xids_of(xids, instances_of(&line[i].s->id, unit)));
}

/* --- memory --------------------------------------------------------------------------------- */

/* Returns the share of each GPU that the step may use. Batch and extern step may use the job's. */
static const uint32_t *may_use(const struct ledger_identity *id)
{
	return is_own_step(id) ? id->step_gpu_ppm : id->job_gpu_ppm;
}

static void add_share(uint64_t *sum, uint64_t bytes, uint32_t ppm)
{
	if (bytes != GPU_VALUE_UNKNOWN)
		*sum += muldiv(bytes, ppm, LEDGER_GPU_PPM);
}

static void book_memory(const struct gpubook *w, struct ledger_page *page, const struct book_line *line)
{
	struct ledger_gpu *g = &page->step[line->slot].gpu;
	const struct ledger_identity *id = &line->s->id;
	const uint32_t *ppm = may_use(id);
	uint64_t used = 0, total = 0;
	uint64_t buf[GPU_VALUE_N];
	unsigned int unit;

	for (unit = 0; unit < GPUS_MAX; unit++) {
		const uint64_t *value;
		uint32_t share;

		if (!ppm[unit] || w->last[unit].until_ns < line->s->t_open_mono_ns)
			continue;
		value = values_of(w, id, unit, buf);
		/* a MIG instance belongs to the step completely */
		share = value == buf ? LEDGER_GPU_PPM : ppm[unit];
		add_share(&used, value[GPU_VALUE_MEM_USED_BYTES], share);
		add_share(&total, value[GPU_VALUE_MEM_TOTAL_BYTES], share);
	}
	if (used > g->memory_peak_bytes)
		g->memory_peak_bytes = used;
	if (total > g->memory_total_bytes)
		g->memory_total_bytes = total;
}

/* -------------------------------------------------------------------------------------------- */

static bool any_held(const uint32_t ppm[GPUS_MAX])
{
	uint32_t any = 0;
	unsigned int unit;

	for (unit = 0; unit < GPUS_MAX; unit++)
		any |= ppm[unit];
	return any != 0;
}

/* Stores a new reading. *RET_FROM_NS is its begin; time that no reading covers is left out. */
static void take(struct gpubook *w, const struct gpu_reading *gpu, uint64_t *ret_from_ns)
{
	struct gpu_last *last = &w->last[gpu->unit];

	*ret_from_ns = gpu->from_ns > last->until_ns ? gpu->from_ns : last->until_ns;
	last->until_ns = gpu->until_ns;
	memcpy(last->value, gpu->value, sizeof(last->value));
}

void gpubook_read(struct gpubook *w, struct ledger_book *b, const struct tick *t)
{
	bool is_held = false, is_last = false, is_new = false;
	uint64_t since_ns, from_ns;
	struct new_xids xids;
	size_t i;

	w->instance = t->instance;
	w->ninstances = t->ninstances;
	for (i = 0; i < t->nlines && t->ngpus; i++) {
		bool holds = any_held(t->line[i].s->id.job_gpu_ppm);

		is_held |= holds;
		is_last |= holds && t->line[i].is_last;
	}
	for (i = 0; i < t->ngpus; i++) {
		const struct gpu_reading *gpu = &t->gpu[i];
		unsigned int unit = gpu->unit;

		if (gpu->until_ns > w->last[unit].until_ns) {
			is_new = true;
			since_ns = w->last[unit].until_ns;
			take(w, gpu, &from_ns);
			find_xids(w, unit, gpu->value[GPU_VALUE_XID_ERRORS], &xids);
			if (is_held) {
				book_window(w, b, t, unit, from_ns, gpu->until_ns, /* tails= */ false);
				book_xids(w, b, t, unit, since_ns, &xids);
			}
		}
		if (is_last && w->last[unit].until_ns)
			book_window(w, b, t, unit, w->last[unit].until_ns, t->book.t_mono_ns,
				    /* tails= */ true);
	}
	for (i = 0; i < t->nlines && is_held && is_new; i++)
		book_memory(w, t->page, &t->line[i]);
}
