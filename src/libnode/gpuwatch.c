/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libnode/gpuwatch.h"

#include <errno.h>
#include <string.h>

#include "src/libutil/muldiv.h"
#include "src/libutil/pages.h"

/* The last reading of a GPU. */
struct gpu_last {
	uint64_t until_ns; /* 0: there was none */
	uint64_t xids;	   /* as it last told them; it may not tell each time */
	uint64_t value[GPU_VALUE_N];
};

struct gpuwatch {
	struct gpu_last last[GPUS_MAX]; /* by unit */
	uint64_t held[LEDGER_STEPS + 1];
};

int gpuwatch_create(struct gpuwatch **ret)
{
	struct gpuwatch *w = pages_alloc(sizeof(*w));

	if (!w)
		return -ENOMEM;
	*ret = w;
	return 0;
}

void gpuwatch_destroy(struct gpuwatch *w)
{
	if (w)
		pages_free(w, sizeof(*w));
}

/* --- time ----------------------------------------------------------------------------------- */

/* Books the last reading from FROM_NS to UNTIL_NS. TAILS: only for steps that end in this tick and that had a reading. */
static void book_window(struct gpuwatch *w, struct ledger_book *b, struct ledger_page *page,
			const struct book_line *line, size_t n, unsigned int unit, uint64_t from_ns, uint64_t until_ns,
			bool tails)
{
	const struct gpu_last *last = &w->last[unit];
	size_t i;

	if (from_ns >= until_ns)
		return;
	ledger_book_gpu_held(b, page, unit, from_ns, until_ns, w->held);
	for (i = 0; i < n; i++)
		if (w->held[i] && (!tails || (line[i].is_last && line[i].s->t_open_mono_ns < last->until_ns)))
			ledger_gpu_book(&page->step[line[i].slot].gpu, w->held[i], last->value);
}

/* --- errors --------------------------------------------------------------------------------- */

/* Of each job the step that held most of the GPU, so that a job's steps add up to its errors. */
static bool is_most(const struct gpuwatch *w, const struct book_line *line, size_t n, size_t i)
{
	size_t k;

	for (k = 0; k < n; k++)
		if (line[k].s->id.job_id == line[i].s->id.job_id &&
		    (w->held[k] > w->held[i] || (w->held[k] == w->held[i] && k < i)))
			return false;
	return true;
}

/* SINCE_NS: the reading before, also of a GPU that is lost, whose readings are of no time. */
static void book_xids(struct gpuwatch *w, struct ledger_book *b, struct ledger_page *page,
		      const struct book_line *line, size_t n, unsigned int unit, uint64_t since_ns, uint64_t xids)
{
	size_t i;

	if (!xids || !since_ns)
		return;
	ledger_book_gpu_held(b, page, unit, since_ns, w->last[unit].until_ns, w->held);
	for (i = 0; i < n; i++)
		if (w->held[i] && is_most(w, line, n, i))
			ledger_gpu_count_xids(&page->step[line[i].slot].gpu, xids);
}

/* --- memory --------------------------------------------------------------------------------- */

/* The share of each GPU that the step may use: an srun step's own, else its job's. */
static const uint32_t *may_use(const struct ledger_identity *id)
{
	return id->step_id < LEDGER_STEP_INTERACTIVE ? id->step_gpu_ppm : id->job_gpu_ppm;
}

static void add_share(uint64_t *sum, uint64_t bytes, uint32_t ppm)
{
	if (bytes != GPU_VALUE_UNKNOWN)
		*sum += muldiv(bytes, ppm, LEDGER_GPU_PPM);
}

static void book_memory(const struct gpuwatch *w, struct ledger_page *page, const struct book_line *line)
{
	struct ledger_gpu *g = &page->step[line->slot].gpu;
	const uint32_t *ppm = may_use(&line->s->id);
	uint64_t used = 0, total = 0;
	unsigned int unit;

	for (unit = 0; unit < GPUS_MAX; unit++) {
		const struct gpu_last *last = &w->last[unit];

		if (!ppm[unit] || last->until_ns < line->s->t_open_mono_ns)
			continue;
		add_share(&used, last->value[GPU_VALUE_MEM_USED_BYTES], ppm[unit]);
		add_share(&total, last->value[GPU_VALUE_MEM_TOTAL_BYTES], ppm[unit]);
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

/* Since the reading before. ceems-gpu counts anew when it or the driver was started anew. */
static uint64_t new_xids(struct gpu_last *last, uint64_t xids)
{
	uint64_t before = last->xids;

	if (xids == GPU_VALUE_UNKNOWN)
		return 0;
	last->xids = xids;
	return xids >= before ? xids - before : xids;
}

/* *RET_FROM_NS: where the reading begins. Time that no reading covers is left out. */
static void take(struct gpuwatch *w, const struct gpu_reading *gpu, uint64_t *ret_from_ns)
{
	struct gpu_last *last = &w->last[gpu->unit];

	*ret_from_ns = gpu->from_ns > last->until_ns ? gpu->from_ns : last->until_ns;
	last->until_ns = gpu->until_ns;
	memcpy(last->value, gpu->value, sizeof(last->value));
}

void gpuwatch_read(struct gpuwatch *w, struct ledger_book *b, struct ledger_page *page, const struct book_line *line,
		   size_t n, const struct gpu_reading *gpu, size_t ngpus, uint64_t now_mono_ns)
{
	bool is_held = false, is_last = false, is_new = false;
	uint64_t since_ns, from_ns, xids;
	size_t i;

	for (i = 0; i < n && ngpus; i++) {
		bool holds = any_held(line[i].s->id.job_gpu_ppm);

		is_held |= holds;
		is_last |= holds && line[i].is_last;
	}
	for (i = 0; i < ngpus; i++) {
		unsigned int unit = gpu[i].unit;

		if (gpu[i].until_ns > w->last[unit].until_ns) {
			is_new = true;
			since_ns = w->last[unit].until_ns;
			take(w, &gpu[i], &from_ns);
			xids = new_xids(&w->last[unit], gpu[i].value[GPU_VALUE_XID_ERRORS]);
			if (is_held) {
				book_window(w, b, page, line, n, unit, from_ns, gpu[i].until_ns, /* tails= */ false);
				book_xids(w, b, page, line, n, unit, since_ns, xids);
			}
		}
		if (is_last && w->last[unit].until_ns)
			book_window(w, b, page, line, n, unit, w->last[unit].until_ns, now_mono_ns, /* tails= */ true);
	}
	for (i = 0; i < n && is_held && is_new; i++)
		book_memory(w, page, &line[i]);
}
