/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sources_modules.c - superchips, whose modules have a sensor of their own: Grace Hopper, GB200. What is
 * measured inside is subtracted from the module's energy. The rest is that of the only GPU without a value
 * of its own, or else of regulators and of what nobody measures: OTHER.
 */
#include <stdio.h>
#include <string.h>

#include "src/libnode/sources_internal.h"

struct module_name {
	char text[16];
};

static struct module_name module_name(unsigned int module)
{
	struct module_name n;

	(void)snprintf(n.text, sizeof(n.text), "module %u", module);
	return n;
}

/* Returns the module on which PART is; 0: none. Numbered as in struct part. */
static unsigned int module_of(const struct part *part)
{
	return part->domain == DOMAIN_CPU || part->domain == DOMAIN_DRAM ? part->unit + 1u : part->module;
}

void sources_modules_add(struct sources *s, const struct part *part, uint64_t uj)
{
	unsigned int module = module_of(part);

	if (module && module <= SOCKETS_MAX)
		s->module[module - 1].parts_uj += uj;
}

/* --- which source -------------------------------------------------------------------------- */

/*
 * Returns what entry E shows of the module; NULL: nothing. All such parts show the same. DOMAIN_GPU: that GPU
 * is the only one without a value of its own.
 */
static const struct part *module_part(const struct sources_entry *e, unsigned int module,
				      enum domain *ret_rest)
{
	const struct part *found = NULL;
	unsigned int gpus = 0;
	uint32_t i;

	for (i = 0; e->source && i < e->last.nparts; i++) {
		const struct part *p = &e->last.part[i];

		if (p->scope != SCOPE_MODULE || p->module != module + 1)
			continue;
		if (!found || (p->domain == DOMAIN_GPU && !gpus))
			found = p;
		gpus += p->domain == DOMAIN_GPU;
	}
	*ret_rest = gpus == 1 ? DOMAIN_GPU : DOMAIN_OTHER;
	return found;
}

/* A counter is better than power that is integrated. Of two equals, the first is taken, once. */
static void choose_source(struct sources *s, unsigned int module, bool is_awaiting,
			  struct source_state *state)
{
	struct sources_module *m = &s->module[module];
	uint8_t best = QUALITY_ESTIMATE;
	enum domain rest;
	size_t i;

	if (m->from)
		return;
	for (i = 0; i < s->n; i++) {
		struct sources_entry *e = &s->entry[i];
		const struct part *p = module_part(e, module, &rest);
		bool was_used = remainder_is_kept(module_name(module).text, &state[e->id]);

		if (!p || p->quality >= best || (is_awaiting && !was_used))
			continue;
		best = p->quality;
		m->from = e;
	}
	s->nmodules += m->from != NULL;
	/* a remainder saved with another source is no longer valid */
	for (i = 0; i < s->n && m->from; i++)
		if (&s->entry[i] != m->from)
			remainder_forget(module_name(module).text, &state[s->entry[i].id]);
}

void sources_modules_choose(struct sources *s, bool is_awaiting, struct source_state *state)
{
	unsigned int module;

	for (module = 0; module < SOCKETS_MAX; module++)
		choose_source(s, module, is_awaiting, state);
}

bool sources_modules_use(const struct sources *s, const struct sources_entry *e)
{
	unsigned int module;

	for (module = 0; module < SOCKETS_MAX; module++)
		if (s->module[module].from == e)
			return true;
	return false;
}

/* --- the rest ------------------------------------------------------------------------------ */

static bool has_part(const struct sources *s, enum domain d, unsigned int unit)
{
	uint32_t i;

	for (i = 0; i < s->nparts; i++)
		if (s->part[i].domain == d && s->part[i].unit == unit &&
		    !source_is_estimate(s->part[i].source))
			return true;
	return false;
}

/* The only CPU or memory part of a node stands for all sockets, so it is on no single one of many modules. */
static bool is_spread(const struct sources *s, enum domain d)
{
	unsigned int n = 0;
	uint32_t i;

	for (i = 0; i < s->nparts; i++)
		n += s->part[i].domain == d;
	return n == 1 && s->nmodules > 1;
}

/* Returns the energy of the GPU that is the rest of the module; 0: the rest is not a GPU's. */
static uint64_t read_module(struct sources *s, unsigned int module, struct remainder_tick *tick,
			    struct source_state *state, struct sources_reading *ret)
{
	struct sources_module *m = &s->module[module];
	struct source_state *own = &state[m->from->id];
	struct module_name name = module_name(module);
	struct remainder_share share;
	enum domain rest;
	struct part *part;

	tick->node = module_part(m->from, module, &rest);
	tick->parts_uj = m->parts_uj;
	if (tick->node) {
		m->rest = has_part(s, DOMAIN_CPU, module) && has_part(s, DOMAIN_DRAM, module) ? rest :
												DOMAIN_OTHER;
		m->unit = m->rest == DOMAIN_GPU ? tick->node->unit : 0;
		m->quality = tick->node->quality;
	}
	tick->is_at_once = m->rest == DOMAIN_GPU;
	/* the rest of the node has the rest of the module */
	if (m->rest == DOMAIN_OTHER && s->node) {
		remainder_forget(name.text, own);
		return 0;
	}
	remainder_load(&m->remainder, name.text, own, tick->now_ns);
	remainder_tick(&m->remainder, tick, &share);
	if (remainder_save(&m->remainder, name.text, own) < 0)
		ret->rejected++;
	ret->late += share.fell_silent;
	ret->disagreement_uj += share.disagreement_uj;
	m->from->is_late |= m->remainder.is_silent;
	if (!sources_takes_domain(s, m->from, m->rest))
		return 0;
	part = sources_part_of(s, m->rest, m->unit, m->from->id);
	part->quality = m->quality;
	part->energy_uj += share.other_uj;
	return m->rest == DOMAIN_GPU ? share.other_uj : 0;
}

uint64_t sources_modules_read(struct sources *s, const struct remainder_tick *tick,
			      struct source_state *state, struct sources_reading *ret)
{
	bool is_unclear = is_spread(s, DOMAIN_CPU) || is_spread(s, DOMAIN_DRAM);
	uint64_t gpus_uj = 0;
	unsigned int module;

	if (is_unclear)
		logger_log_once(
			&s->log_spread, LOGGER_INFO,
			"what the modules use beyond their parts is not known: there are %u modules, and "
			"only one sensor of CPUs or memory",
			s->nmodules);
	for (module = 0; module < SOCKETS_MAX; module++) {
		struct remainder_tick t = *tick;

		if (s->module[module].from && !is_unclear)
			gpus_uj += read_module(s, module, &t, state, ret);
		s->module[module].parts_uj = 0;
	}
	return gpus_uj;
}
