/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libnode/partbook.h"
#include "src/libutil/apportion.h"

#include <string.h>

/* The least length of a window, in intervals of a counter that moves seldom. */
#define WINDOW_COUNTER_INTERVALS 10

/*
 * Returns the index of the part in the page, a new one if necessary. If another source measures this unit
 * now, the entry is reset, because another sensor shows another idle power.
 */
static uint32_t find_part(struct partbook *p, struct ledger_page *page, const struct part *in)
{
	struct ledger_part *part;
	uint64_t held_uj = 0;
	uint32_t i;

	for (i = 0; i < page->nparts; i++)
		if (page->part[i].domain == in->domain && page->part[i].unit == in->unit)
			break;
	if (i == PARTS_MAX)
		i--;
	part = &page->part[i];
	if (i < page->nparts && part->domain == in->domain && part->unit == in->unit &&
	    part->source == in->source)
		return i;
	if (i < page->nparts)
		held_uj = part->held_uj;
	else
		page->nparts++;
	*part = (struct ledger_part){
		.domain = in->domain,
		.unit = in->unit,
		.source = in->source,
		.held_uj = held_uj,
	};
	p->window[i] = (struct idle_window){ 0 };
	p->fit[i] = (struct idlefit){ 0 };
	p->pace[i] = (struct pace){ 0 };
	return i;
}

/* Returns true if another source has the domain now, and it has no such unit. */
static bool is_replaced(const struct ledger_part *part, const struct sources_reading *r)
{
	uint32_t i;

	if (r->from[part->domain] == SOURCE_N || r->from[part->domain] == part->source)
		return false;
	for (i = 0; i < r->nparts; i++)
		if (r->part[i].domain == part->domain && r->part[i].unit == part->unit)
			return false;
	return true;
}

/* Has the energy that is held of PART booked with a part that is measured now. False: there is none. */
static bool give_held(struct ledger_part *part, struct sources_reading *r)
{
	uint32_t i;

	for (i = 0; i < r->nparts && r->part[i].domain != part->domain; i++)
		;
	if (part->held_uj && i == r->nparts)
		return false;
	if (part->held_uj)
		r->part[i].energy_uj += part->held_uj;
	part->held_uj = 0;
	return true;
}

static void drop_replaced(struct partbook *p, struct ledger_page *page, struct sources_reading *r)
{
	uint32_t n = 0;
	uint32_t i;

	for (i = 0; i < page->nparts; i++) {
		if (is_replaced(&page->part[i], r) && give_held(&page->part[i], r))
			continue;
		page->part[n] = page->part[i];
		p->window[n] = p->window[i];
		p->pace[n] = p->pace[i];
		p->fit[n++] = p->fit[i];
	}
	page->nparts = n;
}

/* Returns the idle power of part I as idlefit.h estimates it. 0: unknown. */
static uint64_t estimate_idle(const struct partbook *p, const struct ledger_page *page, uint32_t i)
{
	const struct idlefit *like[PARTS_MAX];
	size_t own = 0;
	size_t n = 0;
	uint32_t k;

	for (k = 0; k < page->nparts; k++) {
		if (page->part[k].domain != page->part[i].domain)
			continue;
		if (k == i)
			own = n;
		like[n++] = &p->fit[k];
	}
	return idlefit_mw(like, n, own);
}

/* Sets the idle power to use without IdleWatts: stated, learned or estimated, in this order. */
static void set_idle(struct ledger_part *part, uint64_t stated_mw, uint64_t estimated_mw)
{
	if (stated_mw)
		part->idle = LEDGER_IDLE_STATED;
	else if (part->learned_mw)
		part->idle = LEDGER_IDLE_LEARNED;
	else
		part->idle = estimated_mw ? LEDGER_IDLE_ESTIMATED : LEDGER_IDLE_NONE;
	part->idle_mw = stated_mw ? stated_mw : part->learned_mw ? part->learned_mw : estimated_mw;
}

static void set_configured(struct ledger_part *part, uint64_t mw)
{
	part->idle = mw ? LEDGER_IDLE_CONFIGURED : LEDGER_IDLE_NONE;
	part->idle_mw = mw;
}

/*
 * Splits IdleWatts, which is the idle power of the whole node, among the parts in proportion to the
 * energy that each part used in this tick. The share of a part without energy is unknown. If no part has
 * energy, because the sensors are slower than the tick, the shares of the last tick stay.
 */
static void set_idle_configured(const struct partbook *p, struct ledger_page *page,
				const struct sources_reading *r, uint64_t configured_mw)
{
	uint64_t used[PARTS_MAX];
	uint64_t share[PARTS_MAX];
	bool is_silent = true;
	uint32_t i;

	for (i = 0; i < r->nparts; i++) {
		used[i] = r->part[i].energy_uj;
		is_silent = is_silent && !used[i];
	}
	(void)apportion(configured_mw, used, r->nparts, share);
	for (i = 0; i < r->nparts; i++) {
		struct ledger_part *part = &page->part[p->index[i]];

		if (!is_silent)
			set_configured(part, share[i]);
		else if (part->idle != LEDGER_IDLE_CONFIGURED)
			set_configured(part, 0);
	}
}

/*
 * Returns the time in which a part's energy was used, which for a sensor slower than the tick is the time
 * since its last reading. 0: the time of the window; also if the sensor was silent for too long.
 */
static uint64_t energy_time(const struct ledger_part *part, uint64_t now_mono_ns, uint64_t interval_ns)
{
	uint64_t ns = part->t_energy_mono_ns && part->t_energy_mono_ns < now_mono_ns ?
			      now_mono_ns - part->t_energy_mono_ns :
			      0;

	return ns <= IDLE_SILENT_INTERVALS * interval_ns ? ns : 0;
}

static void sum_domains(struct ledger_page *page)
{
	uint32_t i;

	memset(page->power_mw, 0, sizeof(page->power_mw));
	memset(page->idle_mw, 0, sizeof(page->idle_mw));
	for (i = 0; i < page->nparts; i++) {
		page->power_mw[page->part[i].domain] += page->part[i].power_mw;
		page->idle_mw[page->part[i].domain] += page->part[i].idle_mw;
	}
}

void partbook_note(struct partbook *p, const struct partbook_setup *cf, struct tick *t)
{
	struct sources_reading *r = &t->sources;
	struct ledger_page *page = t->page;
	uint32_t i;

	drop_replaced(p, page, r);
	for (i = 0; i < r->nparts; i++) {
		p->index[i] = find_part(p, page, &r->part[i]);
		page->part[p->index[i]].quality = r->part[i].quality;
		page->part[p->index[i]].doubt = r->part[i].doubt;
		if (!cf->configured_mw)
			set_idle(&page->part[p->index[i]], r->part[i].idle_mw,
				 estimate_idle(p, page, p->index[i]));
	}
	if (cf->configured_mw)
		set_idle_configured(p, page, r, cf->configured_mw);
	for (i = 0; i < r->nparts; i++) {
		const struct ledger_part *part = &page->part[p->index[i]];

		r->part[i].idle_mw = part->idle_mw;
		r->part[i].used_ns = energy_time(part, t->book.t_mono_ns, cf->interval_ns);
	}
	t->book.part = r->part;
	t->book.nparts = r->nparts;
	sum_domains(page);
}

static void add_energy(struct partbook *p, struct ledger_page *page, const struct book_tick *tick)
{
	size_t i;

	for (i = 0; i < tick->nparts; i++) {
		struct ledger_part *part = &page->part[p->index[i]];
		uint64_t uj = tick->part[i].energy_uj;

		part->energy_uj += uj;
		p->window[p->index[i]].energy_uj += uj;
		if (uj)
			part->t_energy_mono_ns = tick->t_mono_ns;
	}
}

/* --- activity --------------------------------------------------------------------------- */

/* Returns true if the part stands for one socket. The only part of a domain stands for all sockets. */
static bool is_of_a_socket(const struct ledger_page *page, const struct ledger_part *part)
{
	unsigned int same = 0;
	uint32_t i;

	for (i = 0; i < page->nparts; i++)
		same += page->part[i].domain == part->domain;
	return same > 1 && part->unit < SOCKETS_MAX;
}

/*
 * Returns the activity on which the part's power in this tick depends. 0: there is no
 * measure for this kind of part.
 */
static double activity_of(const struct ledger_page *page, const struct ledger_part *part,
			  const struct activity *a)
{
	const double *by_socket = part->domain == DOMAIN_DRAM ? a->mem : a->cpu;
	double sum = 0;
	unsigned int s;

	if (part->domain != DOMAIN_CPU && part->domain != DOMAIN_DRAM)
		return 0;
	if (is_of_a_socket(page, part))
		return by_socket[part->unit];
	for (s = 0; s < SOCKETS_MAX; s++)
		sum += by_socket[s];
	return sum;
}

/* --- counters that move seldom ---------------------------------------------------------- */

static enum pace_unit pace_unit_of(uint8_t domain, bool by_time)
{
	if (domain == DOMAIN_CPU)
		return by_time ? PACE_CPU_TIME : PACE_CPU_EVENTS;
	if (domain == DOMAIN_DRAM)
		return by_time ? PACE_MEM_TIME : PACE_MISSES;
	return PACE_NONE;
}

void partbook_pace(struct partbook *p, struct tick *t, bool holds)
{
	struct sources_reading *r = &t->sources;
	uint32_t i;

	for (i = 0; i < r->nparts; i++) {
		struct ledger_part *part = &t->page->part[p->index[i]];
		const struct pace_tick now = {
			.shown_uj = r->part[i].energy_uj,
			.dt_ns = t->dt_ns,
			.idle_mw = part->idle_mw,
			.unit = pace_unit_of(part->domain, t->activity.by_time),
			.activity = activity_of(t->page, part, &t->activity),
			.has_steps = t->nlines != 0,
			.ends = !holds || part->quality != QUALITY_COUNTER,
		};

		r->part[i].energy_uj = pace_tick(&p->pace[p->index[i]], &now, &part->held_uj);
	}
}

/* Energy at the ends of a window is uncertain by that of an interval of the counter. */
static uint64_t window_ns(const struct pace *p, uint64_t interval_ns)
{
	double ns = WINDOW_COUNTER_INTERVALS * pace_interval_ns(p);

	return ns > (double)interval_ns ? (uint64_t)ns : interval_ns;
}

static void end_window(struct partbook *p, struct ledger_page *page, uint32_t i, uint32_t cpus)
{
	struct ledger_part *part = &page->part[i];
	struct idle_window *w = &p->window[i];

	part->power_mw = idle_window_power(w);
	(void)idle_learn(w, cpus, &part->learned_mw);
	if (!w->is_tainted)
		idlefit_add(&p->fit[i], w->length_ns, part->power_mw, w->activity, w->by_time);
	*w = (struct idle_window){ 0 };
}

/* ---------------------------------------------------------------------------------------- */

void partbook_advance(struct partbook *p, const struct partbook_setup *cf, const struct tick *t)
{
	struct ledger_page *page = t->page;
	uint32_t i;

	add_energy(p, page, &t->book);
	for (i = 0; i < page->nparts; i++) {
		struct idle_window *w = &p->window[i];

		w->length_ns += t->dt_ns;
		w->busy_ns += t->busy_ns;
		w->jobs_ns += t->jobs_ns;
		w->activity += activity_of(page, &page->part[i], &t->activity);
		w->by_time |= t->activity.by_time;
		w->is_tainted |= t->is_tainted || page->part[i].doubt;
		if (idle_window_is_over(w, window_ns(&p->pace[i], cf->interval_ns)))
			end_window(p, page, i, cf->cpus);
	}
	sum_domains(page);
}
