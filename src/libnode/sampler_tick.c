/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libnode/sampler_internal.h"

#include <string.h>

#include "src/libemission/factor_feed.h"
#include "src/libmeter/activity/frozen.h"
#include "src/libnode/gpubook.h"
#include "src/libnode/membook.h"
#include "src/libnode/nodecpu.h"
#include "src/libutil/apportion.h"
#include "src/libutil/clock.h"

void sampler_publish(struct sampler *s, const struct ledger_page *page)
{
	uint64_t mw = 0;
	bool has = false;
	unsigned int d;

	for (d = 0; d < DOMAIN_N; d++) {
		has |= page->t_mono_ns && page->domain_source[d] < SOURCE_N;
		mw += page->power_mw[d];
	}
	atomic_store(&s->energy_uj, account_total_uj(&page->measured));
	atomic_store(&s->power_mw, mw);
	atomic_store(&s->has_energy, has);
}

static const struct factor_chain *follow_series(struct sampler *s, uint64_t now_mono_ns)
{
	if (s->feed) {
		(void)factor_feed_poll(s->feed, now_mono_ns);
		s->chain.series = factor_feed_series(s->feed);
	}
	return s->has_factor ? &s->chain : NULL;
}

/*
 * Writes the sizes of MIG instances to the ledger if they have changed. The first tick writes also an empty
 * list, because the ledger may have a list by an earlier slurmd.
 */
static void tell_slices(struct sampler *s, const struct gpu_slices *now)
{
	static const struct gpu_slices none;

	if (!now)
		now = &none;
	if (s->has_slices && !memcmp(now, &s->slices, sizeof(*now)))
		return;
	s->slices = *now;
	s->has_slices = true;
	ledger_set_slices(s->ledger, now);
}

static uint64_t sampler_grown(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

/*
 * Reads the CPU time of the node and of each socket. The sockets' times come from other lines of
 * /proc/stat, which may be missing or a moment later, so they are scaled to sum up to the node's time.
 */
static void read_cpus(struct sampler *s, struct tick *t)
{
	const struct topology *topology = nodecpu_topology(s->cpus);
	struct ledger_page *page = t->page;
	uint64_t raw[SOCKETS_MAX];
	uint64_t where[SOCKETS_MAX];
	uint64_t any = 0;
	unsigned int i;

	t->book.node_busy_ns = page->node_busy_ns;
	memcpy(page->socket_cpus, topology->socket_cpus, sizeof(page->socket_cpus));
	if (nodecpu_read(s->cpus, &t->book.node_busy_ns, raw) < 0)
		return;
	for (i = 0; i < SOCKETS_MAX; i++) {
		where[i] = sampler_grown(raw[i], page->socket_busy_ns[i]);
		any |= where[i];
		page->socket_busy_ns[i] = raw[i];
	}
	for (i = 0; i < SOCKETS_MAX && !any; i++)
		where[i] = topology->socket_cpus[i];
	if (page->t_mono_ns)
		t->busy_ns = sampler_grown(t->book.node_busy_ns, page->node_busy_ns);
	(void)apportion(t->busy_ns, where, SOCKETS_MAX, t->socket_ns);
}

/* Computes the weights of each line in this tick, and the activity of all processes. */
static void weigh(struct sampler *s, struct tick *t)
{
	size_t i;

	readers_read(s->readers, t);
	cpuweights_fill(&s->cpuweights, t);
	weights_fill(s->weights, nodecpu_cpu_ns(s->cpus), t);
	readers_close_gone(s->readers);
	for (i = 0; i < t->nlines; i++)
		t->jobs_ns += sampler_grown(t->line[i].busy_ns, t->line[i].booked_ns);
	weights_activity(s->weights, t);
}

/* Notes which steps were suspended. Only a step that used no CPU time is looked at, so a tick stays cheap. */
static void note_suspended(struct tick *t)
{
	size_t i;

	for (i = 0; i < t->nlines; i++) {
		const struct book_line *line = &t->line[i];

		if (line->busy_ns <= line->booked_ns && line->until_ns > line->from_ns &&
		    atomic_load_explicit(&line->s->cgroup_known, memory_order_acquire) &&
		    frozen_read(&line->s->cgroup))
			t->page->step[line->slot].suspended_ns += line->until_ns - line->from_ns;
	}
}

static bool jobs_use_gpus(const struct tick *t)
{
	uint32_t held_ppm[GPUS_MAX] = { 0 };
	unsigned int g;
	size_t i;

	for (i = 0; i < t->nlines; i++)
		for (g = 0; g < GPUS_MAX; g++)
			held_ppm[g] |= t->line[i].s->id.job_gpu_ppm[g];
	return idle_gpus_work(held_ppm, t->gpu, t->ngpus);
}

static uint32_t busy_ppm(const struct tick *t, uint32_t cpus)
{
	unsigned __int128 all = (unsigned __int128)t->dt_ns * cpus;
	unsigned __int128 ppm = all ? (unsigned __int128)t->busy_ns * 1000000 / all : 0;

	return ppm > 1000000 ? 1000000 : (uint32_t)ppm;
}

/* Reads all sensors of the node. */
static void read_sources(struct sampler *s, struct tick *t, uint32_t cpus)
{
	struct sources_reading *r = &t->sources;
	struct ledger_page *page = t->page;
	struct sources_load load;

	sources_read(s->sources, t->book.t_mono_ns, t->dt_ns, busy_ppm(t, cpus), page->state, r);
	page->rejected += r->rejected;
	page->wraps += r->wraps;
	page->late += r->late;
	page->disagreement_uj += r->disagreement_uj;
	memcpy(page->domain_source, r->from, sizeof(page->domain_source));
	t->book.lag_ns = r->lag_ns;
	t->ngpus = sources_gpus(s->sources, t->gpu, GPUS_MAX);
	t->ninstances = sources_instances(s->sources, &t->instance);
	t->slices = sources_slices(s->sources);
	tell_slices(s, t->slices);
	load = (struct sources_load){
		.busy_ns = t->busy_ns,
		.socket_ns = t->socket_ns,
		.socket_cpus = page->socket_cpus,
		.cpus = cpus,
		.gpu = t->gpu,
		.ngpus = t->ngpus,
		.kept = page->part,
		.nkept = page->nparts,
	};
	sources_assess(s->sources, t->book.t_mono_ns, t->dt_ns, &load, r);
	memcpy(t->book.doubt, r->doubt, sizeof(t->book.doubt));
}

static int sampler_book(struct sampler *s, struct tick *t)
{
	struct ledger_page *page = t->page;
	int rc;

	page->pue_milli = s->settings.pue_milli;
	page->market_known = s->settings.market_mg_per_kwh != SETTINGS_NO_MARKET;
	page->market_mg_per_kwh = page->market_known ? s->settings.market_mg_per_kwh : 0;
	rc = ledger_book_apply(s->book, page, &t->book);
	if (rc < 0)
		logger_log_once(&s->tick_failed, LOGGER_ERROR,
				"ledger: cannot write this tick: %s; the next tick will include its energy",
				strerror(-rc));
	else
		(void)logger_once_reset(&s->tick_failed);
	return rc;
}

int sampler_tick(struct sampler *s)
{
	const struct partbook_setup setup = {
		.interval_ns = s->settings.sample_interval_ns,
		.configured_mw = s->settings.idle_mw,
		.cpus = nodecpu_count(s->cpus),
	};
	struct tick t = {
		.page = ledger_begin(s->ledger), /* before the time is taken, see ledger_book.h */
		.book = { .node_cpus = s->node_cpus, .node_mem_mb = s->node_mem_mb },
	};
	uint64_t now_ns = clock_mono_ns();
	bool is_gap;
	int rc;

	t.book.t_mono_ns = now_ns;
	t.book.t_wall_ns = clock_wall_ns();
	t.book.chain = follow_series(s, now_ns);
	if (t.page->t_mono_ns)
		t.dt_ns = sampler_grown(now_ns, t.page->t_mono_ns);
	is_gap = t.dt_ns > SAMPLER_GAP_INTERVALS * setup.interval_ns;
	t.page->gaps += is_gap;
	read_cpus(s, &t);
	read_sources(s, &t, setup.cpus);
	t.is_tainted = is_gap || t.sources.is_tainted;

	nodeprobes_look(s->probes, now_ns);
	t.nlines = ledger_book_collect(s->book, t.page, now_ns, &t.line);
	s->nlines = t.nlines;
	nodeprobes_salvage(s->probes, s->book, t.line, t.nlines);
	membook_read(s->memory, &t);
	gpubook_read(s->gpus, s->book, &t);
	gpuweights_fill(&s->gpuweights, &t);
	weigh(s, &t);
	note_suspended(&t);

	partbook_note(&s->parts, &setup, &t);
	partbook_pace(&s->parts, &t, /* holds= */ !is_gap && !atomic_load(&s->stop));
	rc = sampler_book(s, &t);
	if (rc < 0)
		return rc;
	weights_learn(s->weights, &t);
	t.is_tainted |= jobs_use_gpus(&t);
	partbook_advance(&s->parts, &setup, &t);
	ledger_turn(s->ledger);
	nodeprobes_clear(s->probes);
	sampler_publish(s, t.page);
	return 0;
}
