/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libnode/standing.h"

#include <string.h>

#include "src/libutil/clock.h"

/* --- the parts -------------------------------------------------------------------------- */

/* Returns the index of the part; s->n: it is not known. */
static uint32_t find_part(const struct standing *s, const struct part *in)
{
	uint32_t i;

	for (i = 0; i < s->n; i++) {
		const struct standing_part *p = &s->part[i];

		if (p->domain == in->domain && p->unit == in->unit && p->source == in->source &&
		    p->scope == in->scope)
			break;
	}
	return i;
}

static struct standing_part *add_part(struct standing *s, const struct part *in)
{
	struct standing_part *p;

	if (s->n == PARTS_MAX)
		return NULL;
	p = &s->part[s->n++];
	*p = (struct standing_part){
		.domain = in->domain,
		.unit = in->unit,
		.source = in->source,
		.scope = in->scope,
	};
	return p;
}

void standing_restore(struct standing *s, const struct part *part, bool has_counted, enum doubt doubt)
{
	struct standing_part *p = find_part(s, part) < s->n ? NULL : add_part(s, part);

	if (!p)
		return;
	p->has_counted = has_counted;
	p->doubt = (uint8_t)doubt;
}

void standing_forget(struct standing *s, enum source_id source)
{
	uint32_t n = 0;
	uint32_t i;

	for (i = 0; i < s->n; i++)
		if (s->part[i].source != source)
			s->part[n++] = s->part[i];
	s->n = n;
}

enum doubt standing_doubt(const struct standing *s, enum domain d, unsigned int unit, enum source_id source,
			  enum part_scope scope)
{
	const struct part in = { .domain = (uint8_t)d,
				 .unit = (uint8_t)unit,
				 .source = (uint8_t)source,
				 .scope = (uint8_t)scope };
	uint32_t i = find_part(s, &in);

	return i < s->n ? (enum doubt)s->part[i].doubt : DOUBT_NONE;
}

static void mark_by(const struct standing *s, struct part *part, enum part_scope scope)
{
	const struct standing_part *p;
	struct part in = *part;
	uint32_t i;

	in.scope = (uint8_t)scope;
	i = find_part(s, &in);
	if (i == s->n)
		return;
	p = &s->part[i];
	if (p->doubt > part->doubt)
		part->doubt = p->doubt;
	if (p->end_doubt > part->end_doubt)
		part->end_doubt = p->end_doubt;
	if (p->end_ns > part->end_lack_ns)
		part->end_lack_ns = p->end_ns;
}

void standing_mark(const struct standing *s, struct part *part)
{
	part->doubt = part->end_doubt = DOUBT_NONE;
	part->end_lack_ns = 0;
	mark_by(s, part, SCOPE_UNIT);
	mark_by(s, part, SCOPE_NODE);
}

static bool is_node(const struct standing_part *p)
{
	return p->scope == SCOPE_NODE;
}

/* --- what must have been used ------------------------------------------------------------- */

/* A sensor that may count slowly: in kWh, or as often as a BMC likes. */
static bool is_slow(const struct standing_part *p)
{
	return source_table[p->source].kind == SENSOR_BMC || p->source == SOURCE_EXTERNAL;
}

/* Returns how long the CPUs worked that the part belongs to. */
static uint64_t busy_of(const struct standing_tick *t, const struct standing_part *p)
{
	size_t same = 0;
	size_t i;

	for (i = 0; i < t->nparts; i++)
		same += t->part[i].domain == p->domain && t->part[i].scope == SCOPE_UNIT;
	if (is_node(p) || same < 2 || p->unit >= SOCKETS_MAX || !t->socket_cpus[p->unit])
		return t->busy_ns;
	return t->socket_ns[p->unit];
}

/* Returns the energy of the part's siblings or, of the whole node, of all parts. */
static uint64_t others_uj(const struct standing_tick *t, const struct standing_part *p)
{
	uint64_t uj = 0;
	size_t i;

	for (i = 0; i < t->nparts; i++) {
		const struct part *o = &t->part[i];

		if (o->scope != SCOPE_UNIT || (o->domain == p->domain && o->unit == p->unit))
			continue;
		/* GPUs may sleep while others work */
		if (is_node(p) ||
		    (p->domain != DOMAIN_GPU && o->domain == p->domain && o->source == p->source))
			uj += o->energy_uj;
	}
	return uj;
}

/* Returns true if the GPU worked in the tick or was awake, by its newest reading. */
static bool gpu_works(const struct standing_tick *t, struct standing_part *p)
{
	const uint64_t *value;
	size_t i;

	for (i = 0; i < t->ngpus && t->gpu[i].unit != p->unit; i++)
		;
	if (i == t->ngpus || t->gpu[i].until_ns <= p->told_ns)
		return false; /* no newer reading */
	p->told_ns = t->gpu[i].until_ns;
	value = t->gpu[i].value;
	return (value[GPU_VALUE_BUSY_PPM] != GPU_VALUE_UNKNOWN &&
		value[GPU_VALUE_BUSY_PPM] >= STANDING_GPU_BUSY_PPM) ||
	       (value[GPU_VALUE_POWER_MW] != GPU_VALUE_UNKNOWN &&
		value[GPU_VALUE_POWER_MW] >= STANDING_GPU_MW);
}

/* Returns PACES of the longest pause that the sensor made, at least LEAST_NS. */
static uint64_t patience_ns(const struct standing_tick *t, const struct standing_part *p, unsigned int paces,
			    uint64_t least_ns)
{
	uint64_t pace_ns = p->pace_ns > t->lag_ns[p->source] ? p->pace_ns : t->lag_ns[p->source];

	return paces * pace_ns > least_ns ? paces * pace_ns : least_ns;
}

static bool must_have_moved(const struct standing_part *p, uint64_t step_uj)
{
	uint64_t limit_uj = step_uj && 2 * step_uj > STANDING_SLOW_UJ ? 2 * step_uj : STANDING_SLOW_UJ;
	uint64_t least_uj;

	if (p->domain == DOMAIN_GPU)
		return !step_uj;
	if (is_slow(p) || step_uj) {
		least_uj = is_node(p) ? p->still_ns / NSEC_PER_MSEC * STANDING_NODE_MW : 0;
		return (p->others_uj > least_uj ? p->others_uj : least_uj) >= limit_uj;
	}
	return p->busy_ns >= STANDING_BUSY_NS || p->others_uj >= STANDING_UJ;
}

/* --- one tick ----------------------------------------------------------------------------- */

static void restart_wait(struct standing_part *p)
{
	p->still_ns = p->busy_ns = p->others_uj = 0;
	p->ticks = 0;
}

/* Notes a tick in which the sensor showed energy. */
static void note_move(struct standing_part *p)
{
	uint64_t pace_ns = p->still_ns < STANDING_PACE_MAX_NS ? p->still_ns : STANDING_PACE_MAX_NS;

	if (p->has_counted && pace_ns > p->pace_ns)
		p->pace_ns = pace_ns;
	p->has_counted = true;
	p->moves += p->moves < STANDING_END_MOVES;
	restart_wait(p);
}

/* Returns true if the node was nearly idle and busy for long, and the power shown is still the same. */
static bool is_power_stuck(struct standing_part *p, const struct standing_tick *t, const struct part *in)
{
	uint64_t all_ns = t->dt_ns * t->cpus;
	uint64_t ppm = all_ns / 1000000 ? t->busy_ns / (all_ns / 1000000) : 0;
	uint64_t least_ns = STANDING_PACES * t->lag_ns[p->source] > STANDING_SWING_NS ?
				    STANDING_PACES * t->lag_ns[p->source] :
				    STANDING_SWING_NS;

	if (in->quality != QUALITY_INTEGRATED || p->domain == DOMAIN_GPU || p->domain == DOMAIN_DRAM)
		return false;
	if (!in->shown || in->shown != p->shown)
		p->idle_ns = p->load_ns = 0;
	p->shown = in->shown;
	p->idle_ns += ppm <= STANDING_IDLE_PPM ? t->dt_ns : 0;
	p->load_ns += ppm >= STANDING_LOAD_PPM ? t->dt_ns : 0;
	return in->shown && p->idle_ns >= least_ns && p->load_ns >= least_ns;
}

static void note_still(struct standing_part *p, const struct standing_tick *t)
{
	bool is_gpu = p->domain == DOMAIN_GPU;
	bool works = is_gpu && gpu_works(t, p);
	uint64_t busy_ns = is_gpu ? 0 : busy_of(t, p);
	uint64_t uj = is_gpu ? 0 : others_uj(t, p);

	p->still_ns += works || !is_gpu ? t->dt_ns : 0;
	p->ticks += works || uj || is_node(p) || busy_ns >= t->dt_ns / STANDING_BUSY_SHARE;
	p->busy_ns += busy_ns;
	p->others_uj += uj;
}

/*
 * Returns how to call a counter that stands still. Memory or a whole node that never counted is as if it had
 * no sensor, if the CPUs have one.
 */
static enum doubt standing_kind(const struct standing *s, const struct standing_part *p)
{
	bool has_cpu = false;
	uint32_t i;

	if (p->has_counted || (p->domain != DOMAIN_DRAM && !is_node(p)))
		return DOUBT_STANDING;
	for (i = 0; i < s->n; i++) {
		const struct standing_part *o = &s->part[i];

		if (o->has_counted && o->domain == p->domain && o->scope == p->scope)
			return DOUBT_STANDING;
		has_cpu |= o->has_counted && o->domain == DOMAIN_CPU;
	}
	return has_cpu ? DOUBT_DEAD : DOUBT_STANDING;
}

static bool is_still_kind(unsigned int doubt)
{
	return doubt == DOUBT_STANDING || doubt == DOUBT_DEAD;
}

/* Sets what steps that end now lack. BAD: DOUBT_NONE, or why the sensor cannot be read. */
static void assess_end(struct standing_part *p, const struct standing_tick *t, uint64_t step_uj,
		       enum doubt bad)
{
	uint64_t least_ns = p->domain == DOMAIN_GPU ? STANDING_END_GPU_NS : STANDING_END_NS;
	uint64_t lack_ns = bad ? p->bad_ns : p->still_ns;

	p->end_doubt = DOUBT_NONE;
	p->end_ns = 0;
	if (p->moves < STANDING_END_MOVES || is_slow(p) || step_uj ||
	    (!bad && !must_have_moved(p, step_uj)) ||
	    lack_ns < patience_ns(t, p, STANDING_END_PACES, least_ns))
		return;
	p->end_doubt = (uint8_t)(bad ? bad : DOUBT_SILENT);
	p->end_ns = lack_ns;
}

static void assess_readable(struct standing *s, struct standing_part *p, const struct standing_tick *t,
			    const struct part *in)
{
	uint64_t least_ns = is_slow(p) ? STANDING_SLOW_NS : STANDING_NS;
	bool is_stuck = is_power_stuck(p, t, in);

	if (in->energy_uj)
		note_move(p);
	else if (in->is_new_base)
		restart_wait(p);
	else
		note_still(p, t);
	assess_end(p, t, in->step_uj, DOUBT_NONE);
	if (is_stuck ||
	    (p->ticks >= STANDING_TICKS && p->still_ns >= patience_ns(t, p, STANDING_PACES, least_ns) &&
	     must_have_moved(p, in->step_uj)))
		p->doubt = (uint8_t)standing_kind(s, p);
	else if (in->energy_uj || !is_still_kind(p->doubt))
		p->doubt = in->is_partial || in->is_unsure ? DOUBT_PARTIAL : DOUBT_NONE;
}

static void assess_part(struct standing *s, const struct standing_tick *t, const struct part *in)
{
	uint32_t i = find_part(s, in);
	struct standing_part *p = i < s->n ? &s->part[i] : add_part(s, in);

	if (!p)
		return;
	p->is_seen = true;
	if (!in->is_unread && !in->is_late) {
		p->bad_ns = 0;
		assess_readable(s, p, t, in);
		return;
	}
	p->bad_ns += t->dt_ns;
	if (in->energy_uj)
		note_move(p);
	assess_end(p, t, in->step_uj, in->is_unread ? DOUBT_LOST : DOUBT_SILENT);
	if (p->bad_ns >= STANDING_LOST_NS && !is_still_kind(p->doubt))
		p->doubt = in->is_unread ? DOUBT_LOST : DOUBT_SILENT;
	else if (in->is_unsure && p->doubt < DOUBT_PARTIAL)
		p->doubt = DOUBT_PARTIAL;
}

static void assess_missing(struct standing_part *p, const struct standing_tick *t)
{
	p->bad_ns += t->dt_ns;
	assess_end(p, t, /* step_uj= */ 0, DOUBT_LOST);
	if (p->bad_ns >= STANDING_LOST_NS && !is_still_kind(p->doubt))
		p->doubt = DOUBT_LOST;
}

/* --- telling ------------------------------------------------------------------------------ */

static const char *part_label(const struct standing_part *p, char *buf, size_t size)
{
	if (is_node(p) || p->domain == DOMAIN_OTHER)
		return is_node(p) ? "the whole node" : "the rest of the node";
	(void)snprintf(buf, size, "%s %u", domain_table[p->domain].label, p->unit);
	return buf;
}

static const char *part_evidence(const struct standing_part *p)
{
	if (p->domain == DOMAIN_GPU)
		return "it works";
	if (is_node(p) && p->busy_ns < STANDING_BUSY_NS)
		return "its parts use energy";
	return p->busy_ns >= STANDING_BUSY_NS ? "CPUs work" :
	       p->others_uj		      ? "others like it move" :
						"the load changes";
}

/* Logs that a sensor stands still. That one cannot be read is logged where it is read. */
static void log_part(struct standing_part *p, uint64_t now_ns)
{
	const char *source = source_name((enum source_id)p->source);
	char buf[32];
	const char *label = part_label(p, buf, sizeof(buf));
	enum logger_news news = logger_trouble_note(&p->trouble, is_still_kind(p->doubt), now_ns);

	if (news == LOGGER_ENDS)
		logger_info("%s: the sensor of %s moves again", source, label);
	else if (news == LOGGER_BEGINS && p->doubt == DOUBT_DEAD)
		logger_error(
			"%s: the sensor of %s never moved although %s; it is not used, and what it should "
			"measure is unknown",
			source, label, part_evidence(p));
	else if (news == LOGGER_BEGINS)
		logger_error(
			"%s: the sensor of %s stands still although %s; jobs' %s energy is a lower bound "
			"until it moves",
			source, label, part_evidence(p), domain_name((enum domain)p->domain));
}

void standing_assess(struct standing *s, const struct standing_tick *t)
{
	size_t i;

	for (i = 0; i < s->n; i++)
		s->part[i].is_seen = false;
	for (i = 0; i < t->nparts; i++)
		assess_part(s, t, &t->part[i]);
	for (i = 0; i < s->n; i++) {
		if (!s->part[i].is_seen)
			assess_missing(&s->part[i], t);
		log_part(&s->part[i], t->now_ns);
	}
}
