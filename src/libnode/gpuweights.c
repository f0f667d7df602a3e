/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libnode/gpuweights.h"

#include <string.h>

#include "src/libmeter/sensor/gpumap.h"

#define PPM UINT64_C(1000000)

/*
 * A reading says how a GPU is used for so many times its own length, from its begin. In a row of ticks of the
 * same length, it began two ticks before the end of the tick in which it is used.
 */
#define LENGTHS_MAX 4

/* Who holds the instances of each GPU in a tick. */
struct holders {
	uint64_t job_ns[LEDGER_JOBS]; /* by index of the job: when its first step there began */
	uint16_t all[GPUS_MAX];	      /* instances that a job held in the tick, as bits */
	uint16_t now[GPUS_MAX];	      /* and holds at its end */
	bool has_other[GPUS_MAX];     /* a job holds a part of the GPU that is not an instance */
	uint64_t came_ns[GPUS_MAX][GPU_INSTANCES_MAX]; /* when the last of them began to hold it */
};

static bool has_instances(const struct tick *t)
{
	return t->slices && t->slices->n && t->ninstances;
}

static void note_job(const struct tick *t, const struct book_line *line, struct holders *h)
{
	uint32_t job = t->page->step[line->slot].job;

	if (job && (!h->job_ns[job - 1] || line->s->t_open_mono_ns < h->job_ns[job - 1]))
		h->job_ns[job - 1] = line->s->t_open_mono_ns;
}

static void note_line(const struct tick *t, const struct book_line *line, struct holders *h)
{
	const struct ledger_identity *id = &line->s->id;
	uint32_t job = t->page->step[line->slot].job;
	uint64_t begin_ns = job ? h->job_ns[job - 1] : line->s->t_open_mono_ns;
	unsigned int unit, gi;

	for (unit = 0; unit < GPUS_MAX; unit++) {
		uint16_t held = id->job_gpu_instances[unit];

		h->has_other[unit] |= id->job_gpu_ppm[unit] && !held;
		h->all[unit] |= held;
		h->now[unit] |= line->is_last ? 0 : held;
		for (gi = 0; held >> gi; gi++)
			if (held & 1u << gi && begin_ns > h->came_ns[unit][gi])
				h->came_ns[unit][gi] = begin_ns;
	}
}

/* Notes which instances were left by the jobs that held them. */
static void note_left(struct gpuweights *w, const struct tick *t, const struct holders *h)
{
	unsigned int unit, gi;

	for (unit = 0; unit < GPUS_MAX; unit++) {
		uint16_t left = (uint16_t)((w->held[unit] | h->all[unit]) & ~h->now[unit]);

		for (gi = 0; left >> gi; gi++)
			if (left & 1u << gi)
				w->left_ns[unit][gi] = t->book.t_mono_ns;
		w->held[unit] = h->now[unit];
	}
}

static const struct gpu_instance_reading *reading_of(const struct tick *t, unsigned int unit, unsigned int gi)
{
	size_t i;

	for (i = 0; i < t->ninstances; i++)
		if (t->instance[i].unit == unit && t->instance[i].gi == gi)
			return &t->instance[i];
	return NULL;
}

/* Gives the activity of the instance of slice S. False: it is not known. */
static bool find_activity(const struct tick *t, const struct gpu_slice *s, struct split_instance *ret)
{
	const struct gpumap_file f = { .kind = GPUMAP_INSTANCE, .unit = s->unit, .gi = s->gi };
	const struct gpu_instance_reading *r = reading_of(t, s->unit, s->gi);
	struct gpumap_size size;
	uint64_t sm, dram;

	if (!r || s->gi >= GPU_INSTANCES_MAX || !gpumap_find_size(t->slices, &f, NULL, &size))
		return false;
	sm = r->value[GPU_VALUE_SM_PPM];
	dram = r->value[GPU_VALUE_DRAM_PPM];
	if (sm > PPM || dram > PPM) /* GPU_VALUE_UNKNOWN, too */
		return false;
	*ret = (struct split_instance){
		.unit = s->unit,
		.gi = s->gi,
		.size_ppm = gpumap_share(t->slices, &f, NULL),
		.activity = (uint32_t)((2 * sm * size.compute_ppm + dram * size.memory_ppm) / (3 * PPM)),
	};
	return true;
}

/* Returns true if the reading was of the jobs that held the instance in this tick, or of nobody. */
static bool is_of_holders(const struct gpuweights *w, const struct holders *h, const struct gpu_reading *gpu,
			  unsigned int gi)
{
	return h->came_ns[gpu->unit][gi] <= gpu->from_ns && w->left_ns[gpu->unit][gi] <= gpu->from_ns;
}

/* Writes the instances of a GPU to RET, and returns how many; 0: it has none, or one is not known. */
static size_t find_instances(const struct gpuweights *w, const struct tick *t, const struct holders *h,
			     const struct gpu_reading *gpu, struct split_instance *ret)
{
	uint64_t length_ns = gpu->until_ns - gpu->from_ns;
	uint16_t seen = 0;
	size_t n = 0;
	uint32_t i;

	if (gpu->unit >= GPUS_MAX || h->has_other[gpu->unit] || !length_ns ||
	    t->book.t_mono_ns - gpu->from_ns > LENGTHS_MAX * length_ns)
		return 0;
	for (i = 0; i < t->slices->n; i++) {
		const struct gpu_slice *s = &t->slices->slice[i];

		if (s->unit != gpu->unit || s->gi == GPU_SLICE_WHOLE)
			continue;
		if (s->gi < GPU_INSTANCES_MAX && seen & 1u << s->gi)
			continue; /* another compute instance */
		if (!find_activity(t, s, &ret[n]) || !is_of_holders(w, h, gpu, s->gi))
			return 0;
		seen |= (uint16_t)(1u << s->gi);
		n++;
	}
	return h->all[gpu->unit] & ~seen ? 0 : n;
}

void gpuweights_fill(struct gpuweights *w, struct tick *t)
{
	struct holders h;
	uint64_t seen = 0; /* GPUs whose number is above the limit share the last one */
	size_t n = 0;
	size_t i;

	t->book.instance = w->instance;
	t->book.ninstances = 0;
	if (!has_instances(t))
		return;
	memset(&h, 0, sizeof(h));
	for (i = 0; i < t->nlines; i++)
		note_job(t, &t->line[i], &h);
	for (i = 0; i < t->nlines; i++)
		note_line(t, &t->line[i], &h);
	for (i = 0; i < t->ngpus; i++) {
		uint64_t bit = UINT64_C(1) << t->gpu[i].unit % GPUS_MAX;

		if (!(seen & bit))
			n += find_instances(w, t, &h, &t->gpu[i], &w->instance[n]);
		seen |= bit;
	}
	note_left(w, t, &h);
	t->book.ninstances = n;
}
