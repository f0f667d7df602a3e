/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a sensor of the whole node shows beyond the measured parts (other), in virtual time. Every
 * microjoule is known: whatever the sensors do, other == node - parts + disagreement - pool.
 */
#include "src/libnode/remainder.h"

#include <string.h>

#include "scratch.h"
#include "src/libutil/clock.h"
#include "src/libutil/util.h"
#include "tap.h"

#define SEC NSEC_PER_SEC
#define START (100 * SEC)

struct node {
	struct remainder r;
	struct source_state state;
	struct remainder_share share;
	uint64_t now_ns;
	/* as booked so far */
	int64_t node_uj, parts_uj, other_uj, disagreement_uj;
};

static void begin(struct node *n)
{
	memset(n, 0, sizeof(*n));
	n->now_ns = START;
}

static void tick(struct node *n, uint64_t dt_ns, uint64_t parts_uj, bool missing, const struct part *part)
{
	const struct remainder_tick t = {
		.now_ns = n->now_ns += dt_ns,
		.dt_ns = dt_ns,
		.parts_uj = parts_uj,
		.is_missing_parts = missing,
		.node = part,
	};

	remainder_load(&n->r, "node", &n->state, t.now_ns);
	remainder_tick(&n->r, &t, &n->share);
	(void)remainder_save(&n->r, "node", &n->state);
	n->node_uj += part ? (int64_t)part->energy_uj : 0;
	n->parts_uj += (int64_t)parts_uj;
	n->other_uj += (int64_t)n->share.other_uj;
	n->disagreement_uj += (int64_t)n->share.disagreement_uj;
}

/* A second; the node's sensor shows UJ up to AGO_NS ago (0: now). */
static void second(struct node *n, uint64_t parts_uj, uint64_t uj, uint64_t ago_ns)
{
	const struct part part = {
		.domain = DOMAIN_OTHER,
		.scope = SCOPE_NODE,
		.energy_uj = uj,
		.until_ns = ago_ns ? n->now_ns + SEC - ago_ns : 0,
	};

	tick(n, SEC, parts_uj, false, &part);
}

/* A second in which the node's sensor shows nothing new. */
static void second_old(struct node *n, uint64_t parts_uj, uint64_t until_ns)
{
	const struct part part = { .scope = SCOPE_NODE, .until_ns = until_ns };

	tick(n, SEC, parts_uj, false, &part);
}

static void base(struct node *n, uint64_t until_ns)
{
	const struct part part = {
		.scope = SCOPE_NODE,
		.is_new_base = true,
		.until_ns = until_ns,
	};

	tick(n, 0, 0, false, &part);
}

/* Parts that the node's sensor has not got to yet are no part of the pool. */
static int64_t waiting_uj(const struct node *n)
{
	int64_t sum = (int64_t)n->r.held_parts_uj;
	uint32_t i;

	for (i = 0; i < n->r.nspans; i++)
		sum += (int64_t)n->r.span[i].uj;
	return sum;
}

static void is_exact(const struct node *n, const char *what)
{
	int64_t pool = n->r.pool_uj + (int64_t)n->r.held_node_uj;

	is_int(n->other_uj, n->node_uj - (n->parts_uj - waiting_uj(n)) + n->disagreement_uj - pool, what);
}

/* As fast as the ticks: psys beside packages. */
static void test_fast(void)
{
	static const struct {
		const char *name;
		uint64_t parts, node, other, disagreement;
	} t[] = {
		{ "a rest", 1200, 1500, 300, 0 },
		{ "no rest", 1200, 1200, 0, 0 },
		{ "the node is behind by 100", 1200, 1100, 0, 0 },
		{ "and stays there", 1200, 1200, 0, 0 },
		{ "comes up by 60", 1200, 1260, 0, 0 },
		{ "has paid it back, and 5", 1200, 1245, 5, 0 },
		{ "shows nothing", 1200, 0, 0, 0 },
		{ "and then two seconds, spread over two and a half", 1200, 2600, 80, 0 },
		{ "the parts are ahead", 1200, 1000, 0, 0 },
		{ "still", 1200, 1000, 0, 0 },
		{ "still", 1200, 1000, 0, 0 },
		{ "still", 1200, 1000, 0, 0 },
		{ "still", 1200, 1000, 0, 0 },
		{ "too long: booked as disagreement", 1200, 1000, 0, 6 * 200 - 120 },
		{ "the next wait begins", 1200, 1000, 0, 0 },
		{ "unless it ends", 1200, 1500, 100, 0 },
		{ "by less than sensors differ", 1200, 1199, 0, 0 },
		{ "by less than sensors differ", 1200, 1200, 0, 0 },
		{ "by less than sensors differ", 1200, 1200, 0, 0 },
		{ "by less than sensors differ", 1200, 1200, 0, 0 },
		{ "by less than sensors differ", 1200, 1200, 0, 0 },
		{ "by less than sensors differ", 1200, 1200, 0, 0 },
		{ "is made up for", 1200, 1201, 0, 0 },
	};
	struct node n;
	size_t i;

	begin(&n);
	base(&n, 0);
	is_u64(n.share.other_uj, 0, "the base is no energy");
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		second(&n, t[i].parts, t[i].node, 0);
		is_u64(n.share.other_uj, t[i].other, t[i].name);
		is_u64(n.share.disagreement_uj, t[i].disagreement, "  disagreement");
		is_exact(&n, "  exact");
	}
}

/* A BMC that answers every 5 s, parts that change within: 300 W of node, 200 or 100 of parts. */
static void test_slow(void)
{
	struct node n;
	uint64_t until;
	unsigned int i;

	begin(&n);
	until = n.now_ns;
	base(&n, until);
	for (i = 1; i <= 60; i++) {
		uint64_t parts = i % 10 < 5 ? 200 : 100;

		if (i % 5) {
			second_old(&n, parts * 1000000, until);
		} else {
			second(&n, parts * 1000000, 5 * 300000000, 0);
			until = n.now_ns;
		}
		if (i < 5)
			is_u64(n.share.other_uj, 0, "nothing before the sensor said something");
		else if (i >= 15 && (n.share.other_uj < 60000000 || n.share.other_uj > 240000000))
			ok(false, "second %u: %" PRIu64 " uJ", i, n.share.other_uj);
		is_u64(n.share.disagreement_uj, 0, "no disagreement");
		is_exact(&n, "exact");
	}
	ok(n.r.pool_uj >= 0 && n.r.pool_uj <= 5 * 200 * INT64_C(1000000) * 5 / 4,
	   "no more than an interval is to come");

	/* steady: what it books is the power of the interval, without steps */
	for (i = 1; i <= 100; i++) {
		if (i % 5)
			second_old(&n, 100000000, until);
		else
			second(&n, 100000000, 5 * 300000000, 0);
		until = i % 5 ? until : n.now_ns;
		if (i > 80)
			ok(n.share.other_uj > 199000000 && n.share.other_uj < 201000000,
			   "200 W in every second: %" PRIu64, n.share.other_uj);
	}
}

/* The sample is 2.5 s old when it comes, in the middle of a tick. */
static void test_old_sample(void)
{
	struct node n;

	begin(&n);
	base(&n, START);
	second_old(&n, 1000, START);
	second_old(&n, 1000, START);
	second_old(&n, 9000, START); /* not in the sample, but for half of the third second */
	second_old(&n, 9000, START);
	second(&n, 9000, 10000, 2500000000);
	is_u64(n.share.other_uj, 3500 * 1000 / 3125, "3,500 uJ above its own parts, over 3.125 s");
	is_exact(&n, "exact");
	is_int(waiting_uj(&n), 4500 + 9000 + 9000, "the parts after it wait for the next one");
}

/* --- a sensor of long intervals --------------------------------------------------------- */

/*
 * 100 W of other beside parts that are busy for 10 s and idle for 7, and a meter that writes
 * every PERIOD_S, LATE_S late. In each second EXTRA ticks more, of a millisecond.
 */
static const struct long_interval {
	const char *name;
	unsigned int period_s, late_s, extra;
	uint64_t off_uj; /* by so much may `other` be off after an interval */
} long_intervals[] = {
	{ "a minute", 60, 0, 0, 0 },
	{ "a minute, 2 s late", 60, 2, 0, 0 },
	{ "a minute, 50 s late", 60, 50, 0, 0 },
	{ "two minutes", 120, 1, 0, 0 },
	{ "every second, a minute late", 1, 60, 0, 0 },
	{ "a minute, steps begin and end", 60, 2, 40, 1000000 },
	{ "five minutes, steps begin and end", 300, 7, 9, 5000000 },
};

#define OTHER_MW 100000

/* Of the parts from START to second S. */
static uint64_t long_parts_uj(unsigned int s)
{
	unsigned int busy = s / 17 * 10 + (s % 17 < 10 ? s % 17 : 10);

	return busy * UINT64_C(300000000) + (s - busy) * UINT64_C(20000000);
}

static void one_second(struct node *n, const struct long_interval *l, unsigned int s, const struct part *part)
{
	uint64_t uj = long_parts_uj(s) - long_parts_uj(s - 1);
	unsigned int i;

	for (i = 0; i < l->extra; i++)
		tick(n, NSEC_PER_MSEC, uj / 1000, false, NULL);
	tick(n, SEC - l->extra * NSEC_PER_MSEC, uj - l->extra * (uj / 1000), false, part);
}

static void test_long_interval(const struct long_interval *l)
{
	struct part part = { .scope = SCOPE_NODE, .until_ns = START };
	uint64_t off_uj = 0;
	unsigned int known_s = 0;
	struct node n;
	unsigned int s;

	begin(&n);
	base(&n, START);
	for (s = 1; s <= 1200; s++) {
		int64_t off;

		part.energy_uj = 0;
		if (s > l->late_s && (s - l->late_s) % l->period_s == 0) {
			part.energy_uj = l->period_s * UINT64_C(1000) * OTHER_MW +
					 long_parts_uj(s - l->late_s) - long_parts_uj(known_s);
			known_s = s - l->late_s;
			part.until_ns = START + known_s * SEC;
		}
		one_second(&n, l, s, &part);
		off = n.other_uj + n.r.pool_uj - n.disagreement_uj - known_s * INT64_C(1000) * OTHER_MW;
		off = off < 0 ? -off : off;
		off_uj = (uint64_t)off > off_uj ? (uint64_t)off : off_uj;
	}
	ok(off_uj <= l->off_uj, "%s: off by %" PRIu64 " uJ at most", l->name, off_uj);
	is_int(n.disagreement_uj, 0, "  no disagreement");
	is_exact(&n, "  exact");
}

static void test_long_intervals(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(long_intervals); i++)
		test_long_interval(&long_intervals[i]);
}

static void test_no_parts(void)
{
	struct node n;

	begin(&n);
	base(&n, 0);
	second(&n, 0, 700, 0);
	is_u64(n.share.other_uj, 700, "without parts other is all of the node");
	second(&n, 300, 700, 0);
	is_u64(n.share.other_uj, 400, "parts that come later are no longer in it");
	is_exact(&n, "exact");
}

static void test_silence(void)
{
	struct node n;
	uint64_t until;
	unsigned int told = 0;
	unsigned int i;
	int64_t other;

	begin(&n);
	base(&n, START);
	for (i = 1; i < 5; i++)
		second_old(&n, 100, START);
	second(&n, 100, 1500, 0);
	until = n.now_ns;
	for (i = 1; i <= 30; i++) {
		second_old(&n, 100, until);
		told += n.share.fell_silent;
		if (n.share.fell_silent)
			is_u64(i, 16, "the sensor is silent after three of its intervals");
		if (i > 7)
			is_u64(n.share.other_uj, 0, "and has no more energy than it showed");
	}
	is_u64(told, 1, "the silence is reported once");
	is_int(n.other_uj, 1000, "what it showed is booked");
	tick(&n, SEC, 100, false, NULL);
	is_u64(n.share.other_uj, 0, "cannot be read: nothing");
	second(&n, 100, 32 * 300, 0);
	ok(!n.r.is_silent, "its energy counter has gone on");
	is_exact(&n, "exact over the silence");
	for (i = 0; i < 45; i++)
		second_old(&n, 0, n.r.until_ns);
	is_int(n.other_uj, 1000 + 32 * 200, "and all of it is booked");

	other = n.other_uj;
	for (i = 0; i < 200; i++)
		second_old(&n, 1000, n.r.until_ns);
	base(&n, n.now_ns);
	second(&n, 100, 300, 0);
	is_int(n.other_uj - other, 200, "it began anew: the parts of before are compared with nothing");
}

static void test_missing_parts(void)
{
	const struct part some = { .scope = SCOPE_NODE, .energy_uj = 500 };
	struct node n;
	unsigned int i;

	begin(&n);
	base(&n, 0);
	tick(&n, SEC, 0, true, &some);
	is_u64(n.share.other_uj, 0, "a part that cannot be read is waited for");
	is_exact(&n, "exact");
	tick(&n, SEC, 800, false, &some);
	is_u64(n.share.other_uj, 80, "and has its energy then, for two seconds");
	is_exact(&n, "exact");
	for (i = 0; i < 30; i++)
		tick(&n, SEC, 0, true, &some);
	is_int(n.other_uj, 200 + 30 * 500, "but not for ever");
	is_exact(&n, "exact");
}

static void test_restart(void)
{
	struct node n;
	struct source_state before;
	struct remainder in_memory;
	unsigned int i;

	begin(&n);
	base(&n, START);
	for (i = 1; i < 5; i++)
		second_old(&n, 100, START);
	second(&n, 100, 1500, 500000000);
	second_old(&n, 100, n.r.until_ns);
	ok(n.r.pool_uj > 0 && waiting_uj(&n) == 150, "in the middle of it");
	memset(&n.r, 0, sizeof(n.r));
	second(&n, 100, 750, 0);
	is_exact(&n, "a restart loses nothing");

	/* a tick that was not booked comes again, from the same state */
	before = n.state;
	in_memory = n.r;
	second(&n, 100, 300, 0);
	ok(memcmp(&in_memory, &n.r, sizeof(in_memory)) != 0, "a tick changes it");
	n.other_uj -= (int64_t)n.share.other_uj;
	n.node_uj -= 300;
	n.parts_uj -= 100;
	n.state = before;
	second(&n, 200, 600, 0);
	is_exact(&n, "a tick that was not booked is as if it had not been");
}

static void test_bad_state(void)
{
	static const struct {
		const char *name;
		uint64_t pool, until, parts;
	} t[] = {
		{ "absurd pool", UINT64_C(1) << 60, START, 0 },
		{ "absurd deficit", (uint64_t)INT64_MIN, START, 0 },
		{ "absurd parts", 0, START, UINT64_MAX },
		{ "from the future", 7, START + 1, 0 },
		{ "no base", 7, 0, 0 },
	};
	struct remainder r;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct source_state state = { 0 };

		(void)source_state_put(&state, "node pool", t[i].pool);
		(void)source_state_put(&state, "node until", t[i].until);
		(void)source_state_put(&state, "node parts", t[i].parts);
		memset(&r, 0, sizeof(r));
		remainder_load(&r, "node", &state, START);
		ok(!r.until_ns && !r.pool_uj && !r.held_parts_uj, "%s is not taken", t[i].name);
		ok(remainder_is_kept("node", &state), "  though there is something");
		remainder_forget("node", &state);
		is_u64(state.ncounters, 0, "  that can be forgotten");
	}
}

/* Random sensors: periods, delays, resets, silences, missing parts, restarts, lost ticks. */
static void one_history(uint64_t *seed)
{
	struct node n;
	uint64_t until = START;
	static const uint64_t slowest_ns[] = { 1, 8 * SEC, 300 * SEC };
	uint64_t period = scratch_random(seed) % slowest_ns[scratch_random(seed) % 3];
	uint64_t pending = 0;
	uint64_t last = START;
	bool exact = true;
	unsigned int i;

	begin(&n);
	base(&n, until);
	for (i = 0; i < 600; i++) {
		uint64_t dt = scratch_random(seed) % 8 ? SEC : scratch_random(seed) % (SEC / 50);
		uint64_t parts = scratch_random(seed) % 300 * dt / 1000;
		struct part part = { .scope = SCOPE_NODE };
		bool missing = scratch_random(seed) % 16 == 0;
		int64_t before = n.other_uj;

		pending += scratch_random(seed) % 400 * dt / 1000;
		if (n.now_ns + dt - last >= period) {
			part.energy_uj = pending;
			pending = 0;
			last = n.now_ns + dt;
			until = last - scratch_random(seed) % (period / 2 + 1);
		}
		part.until_ns = period ? until : 0;
		tick(&n, dt, missing ? 0 : parts, missing, scratch_random(seed) % 32 ? &part : NULL);
		if (scratch_random(seed) % 64 == 0)
			memset(&n.r, 0, sizeof(n.r)); /* slurmd is restarted */
		remainder_load(&n.r, "node", &n.state, n.now_ns);
		exact &= n.other_uj >= before;
		exact &= n.other_uj == n.node_uj - (n.parts_uj - waiting_uj(&n)) + n.disagreement_uj -
					       n.r.pool_uj - (int64_t)n.r.held_node_uj;
	}
	if (!exact)
		is_exact(&n, "random history");
}

int main(void)
{
	uint64_t seed = 88172645463325252;
	unsigned int i;

	test_fast();
	test_slow();
	test_old_sample();
	test_long_intervals();
	test_no_parts();
	test_silence();
	test_missing_parts();
	test_restart();
	test_bad_state();
	for (i = 0; i < 2000; i++)
		one_history(&seed);
	ok(true, "2000 random histories");
	return done_testing();
}
