/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "src/libnode/sources_internal.h"

/* --- one source --------------------------------------------------------------------- */

/*
 * Returns true if the source has not been read yet, so its domains are unknown. Other sources must
 * not take them meanwhile.
 */
static bool is_awaited(const struct sources_entry *e)
{
	return e->source && !source_is_estimate(e->id) && !e->was_read && e->waited_ns < SOURCES_AWAIT_NS;
}

static bool awaits_any(const struct sources *s)
{
	size_t i;

	for (i = 0; i < s->n; i++)
		if (is_awaited(&s->entry[i]))
			return true;
	return false;
}

/* Returns why a source could not be read: the helper's message, or the text of the errno. */
static const char *reason_of(const struct sources_entry *e)
{
	const char *why = sources_why(e);

	return *why ? why : e->rc < 0 ? strerror(-e->rc) : "it has no new readings";
}

static void log_reading(struct sources_entry *e, uint64_t now_ns)
{
	const char *name = source_name(e->id);

	if (!e->source || is_awaited(e) || (e->ops->logs_failures && e->was_read && !e->failed.is_told) ||
	    (e->is_lost && !e->failed.is_told)) /* log_lost() logs it */
		return;
	switch (logger_trouble_note(&e->failed, e->rc < 0, now_ns)) {
	case LOGGER_BEGINS:
		logger_error("%s: cannot be read: %s; its energy is missing until it can", name,
			     reason_of(e));
		break;
	case LOGGER_ENDS:
		logger_info("%s: can be read again", name);
		break;
	case LOGGER_NO_NEWS:
		break;
	}
	/* logged only once, because a bad counter may fail again and again */
	if (e->rc == 0 && e->last.rejected)
		logger_log_once(&e->log_rejected, LOGGER_ERROR,
				"%s: a counter failed or was implausible and is not booked; later ones are "
				"counted, not logged",
				name);
}

static void log_late(struct sources_entry *e, uint64_t now_ns)
{
	switch (logger_trouble_note(&e->late, e->is_late, now_ns)) {
	case LOGGER_BEGINS:
		logger_error("%s: has no new readings; what only it measures is missing until it has",
			     source_name(e->id));
		break;
	case LOGGER_ENDS:
		logger_info("%s: has new readings again", source_name(e->id));
		break;
	case LOGGER_NO_NEWS:
		break;
	}
}

/* Marks a source as lost, if it is used or configured and has failed for SOURCES_AWAIT_NS. */
static void note_lost(struct sources_entry *e, bool is_used, uint64_t dt_ns)
{
	bool is_bad = e->rc < 0 || e->is_late || e->last.rejected;

	if (!e->source || source_is_estimate(e->id))
		return; /* is_lost stays as sources_open() has set it */
	e->bad_ns = is_bad ? e->bad_ns + dt_ns : 0;
	e->is_lost = (is_used || e->is_configured) && e->bad_ns >= SOURCES_AWAIT_NS;
}

/* Logs that a source is lost, and what is used instead. */
static void log_lost(struct sources_entry *e, bool has_estimate, uint64_t now_ns)
{
	const char *name = source_name(e->id);

	switch (logger_trouble_note(&e->lost, e->is_lost, now_ns)) {
	case LOGGER_BEGINS:
		logger_error("%s: is lost: %s; %s, and ceems check says more", name, reason_of(e),
			     has_estimate ? "the model's estimate is used meanwhile" :
			     e->source	  ? "what only it measures is missing until it is back" :
					    "it is not tried again until slurmd is restarted");
		break;
	case LOGGER_ENDS:
		logger_info("%s: is back", name);
		break;
	case LOGGER_NO_NEWS:
		break;
	}
}

/* However long a tick is, several readings without energy must come together. */
static uint64_t still_in(uint64_t dt_ns)
{
	return dt_ns < SOURCES_AWAIT_NS / 4 ? dt_ns : SOURCES_AWAIT_NS / 4;
}

/* Notes which domains the source shows energy of, and drops failures of those that it has no more. */
static void note_domains(struct sources_entry *e, uint64_t dt_ns)
{
	uint32_t i;

	for (i = 0; i < DOMAIN_N; i++)
		e->still_ns[i] += still_in(dt_ns);
	for (i = 0; i < e->last.nparts; i++) {
		const struct part *p = &e->last.part[i];

		if (p->domain >= DOMAIN_N)
			continue;
		if (p->energy_uj)
			e->still_ns[p->domain] = 0;
		e->last.rejected -= p->is_unread && e->gave & 1u << p->domain && e->last.rejected;
	}
}

/*
 * The state of a source that gave a domain away has an entry of this name. The next slurmd begins with new
 * bases, because another source had the domain meanwhile.
 */
#define GAVE "gave domains"

static void forget_given(struct sources_entry *e, struct source_state *state)
{
	if (e->was_tried || !source_state_find(state, GAVE))
		return;
	memset(state, 0, sizeof(*state));
	e->began_anew = true;
}

static void read_entry(struct sources_entry *e, uint64_t dt_ns, uint32_t busy_ppm, struct source_state *state,
		       struct sources_reading *ret)
{
	uint32_t i;

	forget_given(e, state);
	memset(&e->last, 0, sizeof(e->last));
	e->rc = e->ops->read(e->source, dt_ns, busy_ppm, state, &e->last);
	if (e->rc < 0)
		e->last.nparts = 0;
	for (i = 0; i < e->last.nparts; i++)
		e->last.part[i].is_unsure |= e->began_anew;
	e->began_anew &= !e->last.nparts;
	note_domains(e, dt_ns);
	ret->rejected += e->last.rejected;
	ret->wraps += e->last.wraps;
	ret->late += e->last.late;
	if (e->rc < 0) {
		ret->failed = e->rc;
		ret->failed_id = e->id;
	}
	e->is_late = e->last.late != 0;
	e->was_read |= e->rc == 0;
	if (!e->was_read && e->was_tried)
		e->waited_ns += dt_ns;
	e->was_tried = true;
}

/* --- who has which domain ----------------------------------------------------------- */

static bool is_gpu_library(uint32_t id)
{
	return id < SOURCE_N && source_table[id].kind == SENSOR_GPU;
}

/* Forgets the parts of a domain. */
static void drop_parts(struct sources *s, enum domain domain)
{
	uint32_t n = 0;
	uint32_t i;

	for (i = 0; i < s->nparts; i++)
		if (s->part[i].domain != domain)
			s->part[n++] = s->part[i];
	s->nparts = n;
}

bool sources_takes_domain(struct sources *s, const struct sources_entry *e, uint8_t domain)
{
	uint32_t *owner = &s->from[domain];
	enum source_id id = e->id;

	if (e->gave & 1u << domain)
		return false;
	if (source_is_estimate(*owner) && !source_is_estimate(id)) {
		drop_parts(s, (enum domain)domain);
		*owner = SOURCE_N;
	}
	if (*owner == SOURCE_N)
		*owner = id;
	return *owner == id || (domain == DOMAIN_GPU && is_gpu_library(id) && is_gpu_library(*owner));
}

/* Notes that a part that is used may lack energy. */
static void note_unsure(struct sources_entry *e, const struct part *p, struct sources_reading *ret)
{
	if (!p->is_unsure)
		return;
	ret->is_tainted = true;
	logger_log_once(&e->log_unsure, LOGGER_ERROR,
			"%s: energy of %s may be missing: a counter may have wrapped unseen or began again; "
			"the energy of what ran is a lower bound; later cases are not logged",
			source_name(e->id), domain_name((enum domain)p->domain));
}

struct part *sources_part_of(struct sources *s, uint8_t domain, uint8_t unit, enum source_id from)
{
	struct part *part;
	uint32_t i;

	for (i = 0; i < s->nparts; i++) {
		part = &s->part[i];
		if (part->domain == domain && part->unit == unit && part->source == from)
			return part;
	}
	if (s->nparts == PARTS_MAX)
		return &s->part[PARTS_MAX - 1];
	part = &s->part[s->nparts++];
	*part = (struct part){ .domain = domain, .unit = unit, .source = (uint8_t)from };
	return part;
}

/* Returns true if the whole node is measured, so energy that no part had was booked as OTHER. */
static bool is_in_other(const struct sources *s)
{
	return s->node && s->node->still_ns[DOMAIN_OTHER] < SOURCES_AWAIT_NS;
}

/* Returns the entry of the source that has the domain; NULL: none has, or it is not asked for. */
static struct sources_entry *owner_of(struct sources *s, unsigned int domain)
{
	return s->from[domain] < SOURCE_N ? sources_find(s, (enum source_id)s->from[domain]) : NULL;
}

/* Keeps the energy of a part that another source has, while that source shows none of the domain. */
static void hold_part(struct sources *s, struct sources_entry *e, uint32_t i)
{
	const struct part *p = &e->last.part[i];
	const struct sources_entry *owner = owner_of(s, p->domain);

	e->held_uj[i] = owner && owner->still_ns[p->domain] ? e->held_uj[i] + p->energy_uj : 0;
}

/* Adds the parts of a source to the reading, and returns their energy. */
static uint64_t take_parts(struct sources *s, struct sources_entry *e, struct sources_reading *ret)
{
	uint64_t sum_uj = 0;
	uint32_t i;

	for (i = 0; i < e->last.nparts; i++) {
		const struct part *p = &e->last.part[i];
		struct part *part;

		if (p->domain >= DOMAIN_N || p->scope != SCOPE_UNIT)
			continue;
		if (!sources_takes_domain(s, e, p->domain)) {
			hold_part(s, e, i);
			continue;
		}
		part = sources_part_of(s, p->domain, p->unit, e->id);
		part->quality = p->quality;
		part->energy_uj += p->energy_uj + e->held_uj[i];
		part->idle_mw = p->idle_mw;
		note_unsure(e, p, ret);
		sources_modules_add(s, p, p->energy_uj + e->held_uj[i]);
		sum_uj += p->energy_uj + e->held_uj[i];
		e->held_uj[i] = 0;
	}
	return sum_uj;
}

static bool owns_any(const struct sources *s, enum source_id id)
{
	unsigned int d;

	for (d = 0; d < DOMAIN_N; d++)
		if (s->from[d] == id)
			return true;
	return false;
}

/* Returns the most preferred source that shows energy of the domain now, but does not have it. */
static struct sources_entry *successor_of(struct sources *s, enum domain domain)
{
	size_t i;

	for (i = 0; i < s->n; i++) {
		struct sources_entry *e = &s->entry[i];

		if (e->source && !source_is_estimate(e->id) && e->id != s->from[domain] && e->was_read &&
		    !(e->gave & 1u << domain) && !e->still_ns[domain])
			return e;
	}
	return NULL;
}

/*
 * Takes DOMAIN from its source, and gives it to the next source that shows energy of it. That one also gives
 * what it measured since the other last did, unless a source of the whole node had that as OTHER. So no joule
 * is lost or booked twice, whatever the old source shows later: it gets the domain back only when slurmd is
 * restarted, with new bases. Logs one line. False: no other source shows energy of the domain.
 */
static bool sources_disown(struct sources *s, enum domain domain, struct source_state *state)
{
	struct sources_entry *owner = owner_of(s, domain);
	struct sources_entry *next = successor_of(s, domain);

	if (!owner || !next)
		return false;
	owner->gave |= 1u << domain;
	(void)source_state_put(&state[owner->id], GAVE, owner->gave);
	s->from[domain] = next->id;
	drop_parts(s, domain);
	if (is_in_other(s))
		memset(next->held_uj, 0, sizeof(next->held_uj));
	logger_error("%s: shows no energy of %s any more; %s measures it until slurmd is restarted",
		     source_name(owner->id), domain_name(domain), source_name(next->id));
	return true;
}

/* Hands over domains whose source shows no energy for long, while another source does. */
static void hand_over(struct sources *s, uint64_t dt_ns, struct source_state *state)
{
	unsigned int d;

	for (d = 0; d < DOMAIN_OTHER; d++) {
		const struct sources_entry *e = owner_of(s, d);

		/* libraries of GPUs share the domain, and a GPU may draw no power that they show */
		if (e && e->source && !source_is_estimate(e->id) && !is_gpu_library(e->id) &&
		    e->still_ns[d] + still_in(dt_ns) >= SOURCES_AWAIT_NS &&
		    e->still_ns[d] >= 3 * sources_lag(e))
			(void)sources_disown(s, (enum domain)d, state);
	}
}

/* Name of the node's remainder in the state of its source. */
#define NODE "node"

/* --- the whole node ----------------------------------------------------------------- */

static const struct part *whole_node_of(const struct sources_entry *e)
{
	uint32_t i;

	for (i = 0; i < e->last.nparts; i++)
		if (e->last.part[i].scope == SCOPE_NODE)
			return &e->last.part[i];
	return NULL;
}

/* Returns the Ith source that may measure the whole node, in the order of preference. */
static struct sources_entry *node_candidate(struct sources *s, size_t i)
{
	size_t k;

	if (!s->is_auto)
		return &s->entry[i];
	for (k = 0; k < s->n; k++)
		if (source_table[s->entry[k].id].node_place == i + 1)
			return &s->entry[k];
	return NULL;
}

/* Returns what is in doubt of the whole node's sensor of E. One that never counted is as none. */
static enum doubt node_doubt(const struct sources *s, const struct sources_entry *e)
{
	return standing_doubt(&s->standing, DOMAIN_OTHER, 0, e->id, SCOPE_NODE);
}

static bool is_dead_node(const struct sources *s, const struct sources_entry *e)
{
	return node_doubt(s, e) == DOUBT_DEAD;
}

/*
 * Chooses the source of the whole node, once. It is chosen again if it never counted, or if it was used
 * before slurmd's restart and does not come back.
 */
static void choose_node(struct sources *s, struct source_state *state)
{
	size_t n = s->is_auto ? SOURCE_N : s->n;
	size_t i;

	if (s->node && (s->node->was_read || is_awaited(s->node)) && !is_dead_node(s, s->node))
		return;
	if (s->node && s->from[DOMAIN_OTHER] == s->node->id) {
		s->from[DOMAIN_OTHER] = SOURCE_N;
		remainder_forget(NODE, &state[s->node->id]);
	}
	s->node = NULL;
	for (i = 0; i < n && !s->node; i++) {
		struct sources_entry *e = node_candidate(s, i);

		if (!e || !e->source || is_dead_node(s, e))
			continue;
		/* the source that an earlier slurmd used has a saved remainder; wait for this source */
		if (whole_node_of(e) || (is_awaited(e) && remainder_is_kept(NODE, &state[e->id])))
			s->node = e;
		else if (is_awaited(e))
			return;
	}
	/* a remainder saved with another source is no longer valid */
	for (i = 0; i < s->n && s->node; i++)
		if (&s->entry[i] != s->node)
			remainder_forget(NODE, &state[s->entry[i].id]);
}

/* Reads the source of the whole node, and books what is left as OTHER. TICK has the parts already. */
static void read_node(struct sources *s, struct remainder_tick *tick, struct source_state *state,
		      struct sources_reading *ret)
{
	struct sources_entry *e = s->node;
	struct source_state *own = &state[e->id];
	struct remainder_share share;
	struct part *other;
	bool is_stamped;

	tick->node = whole_node_of(e);
	if (tick->node)
		note_unsure(e, tick->node, ret);
	tick->is_in_doubt = node_doubt(s, e) == DOUBT_STANDING;
	remainder_load(&s->remainder, NODE, own, tick->now_ns);
	remainder_tick(&s->remainder, tick, &share);
	if (remainder_save(&s->remainder, NODE, own) < 0)
		ret->rejected++;
	/* a counter without times does not fall silent: it stands still, see standing.h */
	is_stamped = !tick->node || tick->node->until_ns;
	ret->late += share.fell_silent && is_stamped;
	ret->disagreement_uj += share.disagreement_uj;
	e->is_late |= s->remainder.is_silent && is_stamped;
	s->from[DOMAIN_OTHER] = e->id;
	other = sources_part_of(s, DOMAIN_OTHER, 0, e->id);
	if (tick->node)
		other->quality = tick->node->quality;
	other->energy_uj += share.other_uj;
}

/* Returns true if the source is used, or may be as soon as it can be read. */
static bool is_used(const struct sources *s, const struct sources_entry *e)
{
	return s->node == e || owns_any(s, e->id) || sources_modules_use(s, e) || is_awaited(e);
}

/* --- all of them -------------------------------------------------------------------- */

/*
 * Reads all sources but estimates. Returns the energy of their parts. *RET_MISSING is set if
 * some of it is not known yet.
 */
static uint64_t read_sensors(struct sources *s, uint64_t dt_ns, uint32_t busy_ppm, struct source_state *state,
			     struct sources_reading *ret, bool *ret_missing)
{
	uint64_t parts_uj = 0;
	size_t i;

	*ret_missing = false;
	for (i = 0; i < s->n; i++) {
		struct sources_entry *e = &s->entry[i];

		if (!e->source || source_is_estimate(e->id))
			continue;
		read_entry(e, dt_ns, busy_ppm, &state[e->id], ret);
		parts_uj += take_parts(s, e, ret);
		if (is_awaited(e))
			/* sources of lower preference must not be read yet: energy read now would be lost */
			break;
		/* other sources have these domains now, so the old base must not be used later */
		if (!e->was_read)
			memset(&state[e->id], 0, sizeof(state[e->id]));
		*ret_missing |= owns_any(s, e->id) && (e->rc < 0 || e->last.rejected);
	}
	return parts_uj;
}

/* Gives domains that were estimated to a sensor that has become readable. */
static void drop_estimates(struct sources *s)
{
	unsigned int d;

	for (d = 0; d < DOMAIN_N; d++)
		if (source_is_estimate(s->from[d])) {
			s->from[d] = SOURCE_N;
			drop_parts(s, (enum domain)d);
		}
}

/* Reads the estimates, if no sensor measures CPUs or the node. */
static uint64_t read_estimates(struct sources *s, uint64_t dt_ns, uint32_t busy_ppm,
			       struct source_state *state, struct sources_reading *ret)
{
	bool is_measured = s->node || s->nmodules ||
			   (s->from[DOMAIN_CPU] != SOURCE_N && !source_is_estimate(s->from[DOMAIN_CPU]));
	bool is_open_question = awaits_any(s);
	uint64_t parts_uj = 0;
	size_t i;

	if (is_measured)
		drop_estimates(s);
	for (i = 0; i < s->n; i++) {
		struct sources_entry *e = &s->entry[i];

		if (!e->source || !source_is_estimate(e->id))
			continue;
		read_entry(e, dt_ns, busy_ppm, &state[e->id], ret);
		if (is_measured || is_open_question)
			continue;
		parts_uj += take_parts(s, e, ret);
		if (s->is_auto && s->nopen > 1)
			logger_log_once(&s->log_estimate, LOGGER_INFO,
					"%s: an estimate is used, as no source measures CPU or node",
					source_name(e->id));
	}
	return parts_uj;
}

static void forget_closed(struct sources *s, struct source_state *state)
{
	unsigned int id;

	for (id = 0; id < SOURCE_N; id++) {
		const struct sources_entry *e = sources_find(s, (enum source_id)id);

		if (state[id].ncounters && (!e || !e->source))
			memset(&state[id], 0, sizeof(state[id]));
	}
}

void sources_read(struct sources *s, uint64_t now_ns, uint64_t dt_ns, uint32_t busy_ppm,
		  struct source_state *state, struct sources_reading *ret)
{
	struct remainder_tick node = { .now_ns = now_ns, .dt_ns = dt_ns };
	bool has_estimate;
	size_t i;

	memset(ret, 0, sizeof(*ret));
	forget_closed(s, state);
	for (i = 0; i < s->nparts; i++)
		s->part[i].energy_uj = s->part[i].idle_mw = 0;

	hand_over(s, dt_ns, state); /* before note_lost() would find the source lost */
	node.parts_uj = read_sensors(s, dt_ns, busy_ppm, state, ret, &node.is_missing_parts);
	choose_node(s, state);
	sources_modules_choose(s, awaits_any(s), state);
	if (s->nmodules)
		node.parts_uj += sources_modules_read(s, &node, state, ret);
	node.parts_uj += read_estimates(s, dt_ns, busy_ppm, state, ret);
	if (s->node)
		read_node(s, &node, state, ret);
	has_estimate = owns_any(s, SOURCE_MODEL);
	for (i = 0; i < s->n; i++) {
		struct sources_entry *e = &s->entry[i];

		note_lost(e, s->node == e || owns_any(s, e->id), dt_ns);
		log_reading(e, now_ns);
		log_late(e, now_ns);
		log_lost(e, has_estimate, now_ns);
		if (e->is_lost)
			ret->lost |= 1u << e->id;
		if ((s->node == e || owns_any(s, e->id)) && sources_lag(e) > ret->lag_ns)
			ret->lag_ns = sources_lag(e);
		ret->is_tainted |= is_used(s, e) && (e->rc < 0 || e->is_late || e->last.rejected);
	}

	ret->nparts = s->nparts;
	memcpy(ret->part, s->part, s->nparts * sizeof(s->part[0]));
	memcpy(ret->from, s->from, sizeof(ret->from));
}

/* --- what is in doubt ------------------------------------------------------------------- */

static bool is_flagged(const struct reading *r)
{
	uint32_t i;

	for (i = 0; i < r->nparts; i++)
		if (r->part[i].is_unread || r->part[i].is_late)
			return true;
	return false;
}

/* Adds the parts that E shows and that are used to SEEN. */
static size_t add_seen(const struct sources *s, const struct sources_entry *e, struct part *seen, size_t n)
{
	bool is_late = e->is_late && !is_flagged(&e->last);
	uint32_t i;

	for (i = 0; i < e->last.nparts && n < PARTS_MAX; i++) {
		const struct part *p = &e->last.part[i];
		bool is_used = p->scope == SCOPE_NODE ? s->node == e || (!s->node && is_dead_node(s, e)) :
							p->domain < DOMAIN_N && s->from[p->domain] == e->id;

		if (p->scope == SCOPE_MODULE)
			continue;
		if (!is_used && !(p->domain == DOMAIN_GPU && is_gpu_library(e->id) &&
				  is_gpu_library(s->from[DOMAIN_GPU])))
			continue;
		seen[n] = *p;
		seen[n].source = (uint8_t)e->id;
		seen[n++].is_late |= is_late;
	}
	return n;
}

static void restore_kept(struct sources *s, const struct part *p, const struct sources_load *load)
{
	size_t i;

	for (i = 0; i < load->nkept; i++) {
		const struct ledger_part *k = &load->kept[i];

		if (k->domain == p->domain && k->unit == p->unit && k->source == p->source)
			standing_restore(&s->standing, p, k->energy_uj != 0, (enum doubt)k->doubt);
	}
}

/* Returns the domain that a lost source without parts would measure, as far as its kind tells. */
static enum domain domain_of(enum source_id id)
{
	return is_gpu_library(id) ? DOMAIN_GPU : id == SOURCE_RAPL ? DOMAIN_CPU : DOMAIN_OTHER;
}

/* A lost source none of whose parts is in doubt: nobody knows which part failed. */
static void doubt_source(const struct sources_entry *e, struct sources_reading *r)
{
	enum doubt doubt = e->is_late && e->rc >= 0 ? DOUBT_SILENT : DOUBT_LOST;
	bool has_part = false;
	uint32_t i;

	for (i = 0; i < r->nparts; i++)
		if (r->part[i].source == e->id && r->part[i].doubt >= DOUBT_SILENT)
			return;
	for (i = 0; i < r->nparts; i++)
		if (r->part[i].source == e->id) {
			r->part[i].doubt = (uint8_t)doubt;
			has_part = true;
		}
	if (!has_part)
		r->doubt[domain_of(e->id)] = DOUBT_LOST;
}

void sources_assess(struct sources *s, uint64_t now_ns, uint64_t dt_ns, const struct sources_load *load,
		    struct sources_reading *r)
{
	uint64_t lag_ns[SOURCE_N] = { 0 };
	struct part seen[PARTS_MAX];
	struct standing_tick t = {
		.now_ns = now_ns,
		.dt_ns = dt_ns,
		.busy_ns = load->busy_ns,
		.socket_ns = load->socket_ns,
		.socket_cpus = load->socket_cpus,
		.cpus = load->cpus,
		.gpu = load->gpu,
		.ngpus = load->ngpus,
		.lag_ns = lag_ns,
		.part = seen,
	};
	size_t i;

	for (i = 0; i < s->n; i++) {
		struct sources_entry *e = &s->entry[i];

		if (!e->source || source_is_estimate(e->id))
			continue;
		lag_ns[e->id] = sources_lag(e);
		t.nparts = add_seen(s, e, seen, t.nparts);
		if (s->node != e && !owns_any(s, e->id) && !is_dead_node(s, e))
			standing_forget(&s->standing, e->id);
	}
	for (i = 0; i < t.nparts; i++)
		restore_kept(s, &seen[i], load);
	standing_assess(&s->standing, &t);
	for (i = 0; i < r->nparts; i++)
		standing_mark(&s->standing, &r->part[i]);
	for (i = 0; i < s->n; i++)
		if (s->entry[i].is_lost)
			doubt_source(&s->entry[i], r);
}
