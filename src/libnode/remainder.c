/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libnode/remainder.h"
#include "src/libutil/wide_math.h"

#include <stdio.h>
#include <string.h>

/* What is saved in the source's state, each under "NAME " and this. The pool is saved in two's complement. */
#define POOL "pool"
#define UNTIL "until"
#define PARTS "parts"

struct saved_name {
	char text[sizeof(((struct source_counter *)0)->name)];
};
/* A gigajoule; no node uses more during a ledger's life. */
#define PLAUSIBLE_UJ INT64_C(1000000000000000)

static uint64_t remainder_scale(uint64_t value, uint64_t by, uint64_t of)
{
	return (uint64_t)((u128)value * by / of);
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* --- the parts -------------------------------------------------------------------------- */

static void drop_span(struct remainder *r, uint32_t i)
{
	r->nspans--;
	memmove(r->span + i, r->span + i + 1, (r->nspans - i) * sizeof(r->span[0]));
}

/*
 * Merges the two neighbouring spans that are shortest together, to make room. So only the many short ticks
 * that come when many steps begin are merged. The time of a slow sensor is still matched to a tick or, if its
 * interval has more than REMAINDER_SPANS ticks, to a few hundredths of that interval.
 */
static void merge_spans(struct remainder *r)
{
	uint64_t shortest_ns = UINT64_MAX;
	uint64_t from_ns = r->until_ns;
	uint32_t at = 0;
	uint32_t i;

	for (i = 0; i + 1 < r->nspans; i++) {
		if (r->span[i + 1].to_ns - from_ns < shortest_ns) {
			shortest_ns = r->span[i + 1].to_ns - from_ns;
			at = i;
		}
		from_ns = r->span[i].to_ns;
	}
	r->span[at + 1].uj += r->span[at].uj;
	drop_span(r, at);
}

static void add_parts(struct remainder *r, uint64_t to_ns, uint64_t uj)
{
	if (r->nspans == REMAINDER_SPANS)
		merge_spans(r);
	r->span[r->nspans++] = (struct remainder_span){ .to_ns = to_ns, .uj = uj };
}

/*
 * Removes and returns the energy of the parts from the time up to which the node is booked until
 * UNTIL_NS.
 */
static uint64_t take_parts(struct remainder *r, uint64_t until_ns)
{
	uint64_t from_ns = r->until_ns;
	uint64_t uj = 0;
	uint32_t n = 0;

	while (n < r->nspans && r->span[n].to_ns <= until_ns) {
		uj += r->span[n].uj;
		from_ns = r->span[n++].to_ns;
	}
	if (n < r->nspans && until_ns > from_ns) {
		struct remainder_span *cut = &r->span[n];
		uint64_t part = remainder_scale(cut->uj, until_ns - from_ns, cut->to_ns - from_ns);

		cut->uj -= part;
		uj += part;
	}
	r->nspans -= n;
	memmove(r->span, r->span + n, r->nspans * sizeof(r->span[0]));
	return uj;
}

/* --- the node --------------------------------------------------------------------------- */

/*
 * Stores the node's reading. Returns true if it is the sensor's first: then it is only
 * the base for the next one.
 */
static bool note_node(struct remainder *r, const struct remainder_tick *t, uint64_t *ret_until_ns)
{
	const struct part *node = t->node;
	uint64_t until_ns = max_u64(r->until_ns, r->held_until_ns);

	if (!node->until_ns || node->until_ns > t->now_ns)
		until_ns = t->now_ns;
	else
		until_ns = max_u64(until_ns, node->until_ns);
	*ret_until_ns = until_ns;
	if (node->is_new_base || !r->until_ns)
		return true;
	if (node->energy_uj) {
		r->held_node_uj += node->energy_uj;
		r->held_until_ns = until_ns;
	} else if (node->until_ns && until_ns > max_u64(r->until_ns, r->held_until_ns)) {
		r->held_until_ns = until_ns; /* the sensor says that no energy was used until then */
	}
	return false;
}

/*
 * Returns the energy by which the parts stayed above the node. Small differences are usual between
 * sensors and ignored.
 */
static uint64_t disagreement_uj(struct remainder *r, uint64_t parts_uj)
{
	uint64_t patience_ns = max_u64(REMAINDER_PATIENCE * r->period_ns, REMAINDER_PATIENCE_NS);
	uint64_t ahead_uj;

	if (r->pool_uj >= 0) {
		r->behind_ns = 0;
		return 0;
	}
	if (!r->behind_ns)
		r->behind_ns = r->until_ns;
	ahead_uj = (uint64_t)-r->pool_uj;
	if (r->until_ns - r->behind_ns < patience_ns || ahead_uj < parts_uj / REMAINDER_JITTER)
		return 0;
	r->pool_uj = 0;
	r->behind_ns = 0;
	return ahead_uj;
}

static void book_interval(struct remainder *r, const struct remainder_tick *t, struct remainder_share *ret)
{
	uint64_t parts_uj = take_parts(r, r->held_until_ns);

	r->period_ns = r->held_until_ns - r->until_ns;
	r->until_ns = r->held_until_ns;
	r->pool_uj += (int64_t)r->held_node_uj - (int64_t)parts_uj;
	r->held_node_uj = 0;
	r->held_until_ns = 0;
	/*
	 * A sensor as fast as the ticks needs no spreading. For others, spread over a quarter more
	 * than the interval, so that `other` does not stop if the sensor is late.
	 */
	r->spread_ns = r->period_ns > t->dt_ns + t->dt_ns / 2 ? r->period_ns + r->period_ns / 4 : 0;
	ret->disagreement_uj = t->is_in_doubt ? 0 : disagreement_uj(r, parts_uj);
}

static uint64_t draw(struct remainder *r, uint64_t dt_ns)
{
	uint64_t uj = r->pool_uj > 0 ? (uint64_t)r->pool_uj : 0;

	if (r->spread_ns > dt_ns) {
		uj = remainder_scale(uj, dt_ns, r->spread_ns);
		r->spread_ns -= dt_ns;
	} else {
		r->spread_ns = 0;
	}
	r->pool_uj -= (int64_t)uj;
	return uj;
}

static bool falls_silent(struct remainder *r, const struct remainder_tick *t)
{
	uint64_t limit_ns = REMAINDER_SILENCE * max_u64(r->period_ns, t->dt_ns);
	bool was_silent = r->is_silent;

	r->is_silent = r->until_ns && t->now_ns > r->until_ns &&
		       t->now_ns - r->until_ns > max_u64(limit_ns, REMAINDER_SILENCE_NS);
	return r->is_silent && !was_silent;
}

void remainder_tick(struct remainder *r, const struct remainder_tick *t, struct remainder_share *ret)
{
	bool is_base = false;
	uint64_t until_ns = 0;

	memset(ret, 0, sizeof(*ret));
	if (t->node)
		is_base = note_node(r, t, &until_ns);
	r->held_parts_uj += t->parts_uj;
	r->held_ns = t->is_missing_parts ? r->held_ns + t->dt_ns : 0;
	if (!is_base && r->held_ns && r->held_ns <= REMAINDER_HOLD_NS)
		return;
	add_parts(r, t->now_ns, r->held_parts_uj);
	r->held_parts_uj = 0;
	if (r->held_until_ns)
		book_interval(r, t, ret);
	if (is_base) {
		(void)take_parts(r, until_ns); /* dropped: there is no energy of the node to compare with */
		r->until_ns = until_ns;
	}
	if (t->is_at_once)
		r->spread_ns = 0;
	ret->other_uj = draw(r, t->dt_ns);
	ret->fell_silent = falls_silent(r, t);
}

/* --- over restarts ---------------------------------------------------------------------- */

/* The values that are saved. Spans and spreading are lost at a restart, but no energy. */
struct kept {
	uint64_t pool, until, parts;
};

static struct saved_name saved_name(const char *name, const char *what)
{
	struct saved_name n;

	(void)snprintf(n.text, sizeof(n.text), "%s %s", name, what);
	return n;
}

static struct kept kept_of(const struct remainder *r)
{
	struct kept k = {
		.pool = (uint64_t)r->pool_uj + r->held_node_uj,
		.until = max_u64(r->until_ns, r->held_until_ns),
		.parts = r->held_parts_uj,
	};
	uint32_t i;

	for (i = 0; i < r->nspans; i++)
		k.parts += r->span[i].uj;
	return k;
}

void remainder_load(struct remainder *r, const char *name, struct source_state *state, uint64_t now_ns)
{
	const uint64_t *pool = source_state_find(state, saved_name(name, POOL).text);
	const uint64_t *until = source_state_find(state, saved_name(name, UNTIL).text);
	const uint64_t *parts = source_state_find(state, saved_name(name, PARTS).text);
	struct kept k = kept_of(r);

	if (pool && until && parts && *pool == k.pool && *until == k.until && *parts == k.parts)
		return;
	memset(r, 0, sizeof(*r));
	if (!pool || !until || !parts || !*until || *until > now_ns || *parts > (uint64_t)PLAUSIBLE_UJ ||
	    (int64_t)*pool > PLAUSIBLE_UJ || (int64_t)*pool < -PLAUSIBLE_UJ)
		return;
	r->pool_uj = (int64_t)*pool;
	r->until_ns = *until;
	r->held_parts_uj = *parts; /* the next tick adds its parts to these */
}

int remainder_save(const struct remainder *r, const char *name, struct source_state *state)
{
	struct kept k = kept_of(r);
	int rc = source_state_put(state, saved_name(name, POOL).text, k.pool);

	if (rc == 0)
		rc = source_state_put(state, saved_name(name, UNTIL).text, k.until);
	if (rc == 0)
		rc = source_state_put(state, saved_name(name, PARTS).text, k.parts);
	if (rc < 0)
		remainder_forget(name, state);
	return rc;
}

bool remainder_is_kept(const char *name, struct source_state *state)
{
	return source_state_find(state, saved_name(name, UNTIL).text) != NULL;
}

void remainder_forget(const char *name, struct source_state *state)
{
	source_state_drop(state, saved_name(name, POOL).text);
	source_state_drop(state, saved_name(name, UNTIL).text);
	source_state_drop(state, saved_name(name, PARTS).text);
}
