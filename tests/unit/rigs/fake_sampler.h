/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fake_sampler.h - a sampler without sensors: the test says what was measured and who computed.
 */
#ifndef CEEMS_FAKE_SAMPLER_H
#define CEEMS_FAKE_SAMPLER_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/libcore/doubt.h"
#include "src/libledger/ledger_book.h"
#include "src/libledger/ledger_map.h"
#include "src/libutil/clock.h"

struct fake_sampler {
	struct ledger *l;
	struct ledger_book *b;
	bool fresh;
	uint64_t node_busy_ns;
	const struct factor_chain *chain; /* NULL: 50 g/kWh for ever */
	uint64_t cpu_ns;		  /* the time that the CPU's energy is of; 0: of the tick */
	bool has_market;
	uint64_t market_mg_per_kwh;
	uint64_t wall_ns;		/* of the next tick; 0: the clock's */
	uint64_t busy_ns[LEDGER_STEPS]; /* by slot: what its cgroup would say */
	struct book_line *line;		/* of the last tick */
	size_t nlines;
	bool is_lost;	/* a source is */
	bool is_due;	/* steps that end lack the energy of 3 s */
	bool is_silent; /* the CPU's sensor shows nothing */
	uint64_t lag_ns;
	uint64_t dram_idle_mw;
};

static inline int fake_start(struct fake_sampler *f, const char *dir, const char *node, struct errmsg *err)
{
	int rc;

	memset(f, 0, sizeof(*f));
	rc = ledger_create(dir, node, &f->l, &f->fresh, err);
	if (rc < 0)
		return rc;
	return ledger_book_create(f->l, &f->b);
}

static inline void fake_stop(struct fake_sampler *f)
{
	ledger_book_destroy(f->b);
	ledger_close(f->l);
	f->b = NULL;
	f->l = NULL;
}

/* Ticks that did not begin with the jobs of the page before, or not with a list of their keys. */
static unsigned int fake_miscopied;

static inline bool fake_has_keys(const struct fake_sampler *f, const struct ledger_page *page)
{
	size_t i;

	for (i = 0; i < LEDGER_JOBS; i++) {
		const struct ledger_job_key *key = &f->l->maker->key[i];
		const struct ledger_job_account *job = &page->job[i];

		if (key->job_id != job->job_id || key->open_slots != job->open_slots ||
		    key->last_seen_mono_ns != job->last_seen_mono_ns)
			return false;
	}
	return true;
}

/* All of a tick but the turning of the page. NOW 0: the clock's. */
static inline int fake_book(struct fake_sampler *f, uint64_t now, uint64_t cpu_uj, uint64_t dram_uj)
{
	struct ledger_page *page = ledger_begin(f->l);
	static const struct factor_chain always = { .fixed = { .mg_per_kwh = 50000,
							       .kind = EMISSION_STATIC } };
	struct book_tick tick = { .t_wall_ns = f->wall_ns ? f->wall_ns : clock_wall_ns(),
				  .chain = f->chain ? f->chain : &always,
				  .node_cpus = 8,
				  .node_mem_mb = 8000,
				  .node_busy_ns = f->node_busy_ns,
				  .doubt = { f->is_lost ? DOUBT_LOST : DOUBT_NONE },
				  .lag_ns = f->lag_ns };
	struct part part[] = {
		{ .domain = DOMAIN_CPU,
		  .source = SOURCE_RAPL,
		  .idle_mw = 10000,
		  .used_ns = f->cpu_ns,
		  .end_doubt = f->is_due ? DOUBT_SILENT : DOUBT_NONE,
		  .end_lack_ns = f->is_due ? 3 * NSEC_PER_SEC : 0 },
		{ .domain = DOMAIN_DRAM, .source = SOURCE_MODEL, .idle_mw = f->dram_idle_mw },
	};
	size_t i;

	fake_miscopied += memcmp(page->job, ledger_current(f->l)->job, sizeof(page->job)) != 0 ||
			  !fake_has_keys(f, page);
	tick.t_mono_ns = now ? now : clock_mono_ns();
	tick.part = part;
	tick.nparts = 2;
	if (page->t_mono_ns) { /* the first reading is the base */
		part[0].energy_uj = f->is_silent ? 0 : cpu_uj;
		part[1].energy_uj = dram_uj;
	}
	page->domain_source[DOMAIN_CPU] = SOURCE_RAPL;
	page->domain_source[DOMAIN_DRAM] = SOURCE_MODEL;
	page->pue_milli = 1200;
	page->market_known = f->has_market;
	page->market_mg_per_kwh = f->market_mg_per_kwh;
	f->nlines = ledger_book_collect(f->b, page, tick.t_mono_ns, &f->line);
	tick.cpu_weight[0] = tick.mem_weight = f->node_busy_ns - page->node_busy_ns;
	for (i = 0; i < f->nlines; i++) {
		struct book_line *line = &f->line[i];

		if (!line->busy_is_final && f->busy_ns[line->slot]) {
			line->busy_ns = f->busy_ns[line->slot];
			line->is_told = true;
		}
		line->cpu_weight[0] = line->mem_weight = line->busy_ns - line->booked_ns;
	}
	return ledger_book_apply(f->b, page, &tick);
}

static inline int fake_tick(struct fake_sampler *f, uint64_t now, uint64_t cpu_uj, uint64_t dram_uj)
{
	int rc = fake_book(f, now, cpu_uj, dram_uj);

	if (rc == 0)
		ledger_turn(f->l);
	return rc;
}

#endif
