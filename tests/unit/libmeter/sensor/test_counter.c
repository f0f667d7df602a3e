/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libmeter/sensor/counter.h"

#include <errno.h>

#include "rnd.h"
#include "src/libutil/clock.h"
#include "src/libutil/util.h"
#include "tap.h"

#define RANGE UINT64_C(262143328850) /* a real Xeon's package */

static void test_delta(void)
{
	static const struct {
		const char *name;
		uint64_t prev, cur, range, bound;
		int rc;
		uint64_t delta;
		bool wrapped;
	} t[] = {
		{ "above the range", 95, 105, 100, 1000, -ERANGE, 0, false },
		{ "one above the range", 95, 101, 100, 1000, -ERANGE, 0, false },
		{ "base above the range", 101, 5, 100, 1000, -ERANGE, 0, false },
		{ "both above", 101, 102, 100, 1000, -ERANGE, 0, false },
		{ "jump, one above the bound", 10, 61, 100, 50, -EOVERFLOW, 0, false },
		{ "reset, one above the bound", 95, 45, 100, 50, -ESTALE, 0, false },
		{ "reset to 0 from the middle", 50, 0, 100, 50, -ESTALE, 0, false },
		{ "back by one", 50, 49, 100, 99, -ESTALE, 0, false },
		{ "back, range unknown", 50, 49, UINT64_MAX, UINT64_MAX, -ESTALE, 0, false },
		{ "any step, range 0", 0, 1, 0, 10, -ERANGE, 0, false },
		{ "still", 7, 7, 100, 0, 0, 0, false },
		{ "one step", 7, 8, 100, 50, 0, 1, false },
		{ "jump, at the bound", 10, 60, 100, 50, 0, 50, false },
		{ "to the end of the range", 95, 100, 100, 50, 0, 5, false },
		{ "wrap from the end to 0", 100, 0, 100, 50, 0, 1, true },
		{ "one wrap", 95, 5, 100, 50, 0, 11, true },
		{ "wrap, at the bound", 95, 44, 100, 50, 0, 50, true },
		{ "nearly all of the range", 50, 49, 100, 100, 0, 100, true },
		{ "a real range", RANGE - 10, 9, RANGE, 5000, 0, 20, true },
		{ "64 bits, range unknown", 1, UINT64_MAX, UINT64_MAX, UINT64_MAX, 0, UINT64_MAX - 1, false },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		uint64_t delta = 4711;
		bool wrapped = false;
		int rc = counter_delta(t[i].prev, t[i].cur, t[i].range, t[i].bound, &delta, &wrapped);

		ok(rc == t[i].rc && delta == (rc ? 4711 : t[i].delta) && wrapped == t[i].wrapped, "delta: %s",
		   t[i].name);
	}
}

static void test_bound(void)
{
	is_u64(counter_bound_uj(2500, 0), UINT64_C(2500000000), "bound: no time is the slack");
	is_u64(counter_bound_uj(2500, NSEC_PER_SEC), UINT64_C(5000000000), "bound: a second");
	is_u64(counter_bound_uj(2500, UINT64_MAX), UINT64_MAX, "bound: longest time");
	is_u64(counter_bound_uj(UINT64_MAX, NSEC_PER_SEC), UINT64_MAX, "bound: saturates");
}

/* One row per tick; sum is what may be booked in all. */
struct tick {
	uint64_t cur;
	int rc;
	uint64_t delta;
	bool miss;
	bool is_unsure;
	uint64_t dt_s; /* 0: 1 */
};

static void run(const char *name, uint64_t base, const struct tick *t, size_t n, uint64_t end)
{
	struct counter c = { .range_uj = RANGE, .max_w = COUNTER_PACKAGE_MAX_W };
	bool pass = true;
	size_t i;

	for (i = 0; i < n; i++) {
		uint64_t delta = 0;
		bool wrapped;
		int rc;

		if (t[i].miss) {
			counter_miss(&c, NSEC_PER_SEC);
			continue;
		}
		rc = counter_advance(&c, &base, t[i].cur, (t[i].dt_s ? t[i].dt_s : 1) * NSEC_PER_SEC, &delta,
				     &wrapped);
		if (rc != t[i].rc || delta != t[i].delta || (!rc && c.is_unsure != t[i].is_unsure)) {
			diag("tick %zu: rc %d delta %" PRIu64, i, rc, delta);
			pass = false;
		}
	}
	ok(pass && base == end, "advance: %s", name);
}

static void test_advance(void)
{
	static const struct tick reset[] = {
		{ .cur = UINT64_C(100000000000), .rc = 0, .delta = 0 },
		{ .cur = 50000000, .rc = -ESTALE },
		{ .cur = 150000000, .rc = -ESTALE },
		{ .cur = 250000000, .rc = -ESTALE },
		{ .cur = 350000000, .rc = -ESTALE },
		{ .cur = 450000000, .rc = -ESTALE },
		{ .cur = 550000000, .rc = -ESTALE },
		{ .cur = 650000000, .rc = 0, .delta = 600000000, .is_unsure = true },
		{ .cur = 750000000, .rc = 0, .delta = 100000000 },
	};
	static const struct tick reset_doubted_twice[] = {
		{ .cur = 50000000, .rc = -ESTALE },
		{ .cur = 1000, .rc = -ESTALE }, /* reset again */
		{ .cur = 1500, .rc = -ESTALE, .dt_s = 30 },
		{ .cur = 2000, .rc = 0, .delta = 1000, .dt_s = 30, .is_unsure = true },
	};
	static const struct tick dead[] = {
		{ .cur = 0, .rc = -ESTALE },
		{ .cur = 0, .rc = -ESTALE, .dt_s = 1000 }, /* as a wrap, it fits by now */
		{ .cur = 0, .rc = -ESTALE, .dt_s = 1000 },
		{ .cur = 900, .rc = 0, .delta = 900, .is_unsure = true },
	};
	/* "1,400 J": two readings of 0, and back */
	static const struct tick zero_twice[] = {
		{ .cur = 0, .rc = -ESTALE },
		{ .cur = 0, .rc = -ESTALE },
		{ .cur = UINT64_C(100000600000), .rc = 0, .delta = 600000 },
	};
	static const struct tick zero_twice_after_boot[] = {
		{ .cur = 0, .rc = -ESTALE },
		{ .cur = 0, .rc = -ESTALE },
		{ .cur = UINT64_C(1400000000), .rc = 0, .delta = 300000000, .is_unsure = true },
	};
	static const struct tick ahead[] = {
		{ .cur = UINT64_C(102000000000), .rc = 0, .delta = UINT64_C(2000000000) },
		{ .cur = UINT64_C(100600000000), .rc = -ESTALE }, /* so the value before was false */
		{ .cur = UINT64_C(101500000000), .rc = -ESTALE },
		{ .cur = UINT64_C(102400000000), .rc = 0, .delta = 400000000, .is_unsure = true },
	};
	static const struct tick glitch[] = {
		{ .cur = UINT64_C(200000000000), .rc = -EOVERFLOW },
		{ .cur = UINT64_C(100000000200), .rc = 0, .delta = 200 },
		{ .cur = UINT64_C(100000000300), .rc = 0, .delta = 100 },
	};
	static const struct tick garbage[] = {
		{ .cur = UINT64_MAX, .rc = -ERANGE },
		{ .cur = UINT64_MAX, .rc = -ERANGE }, /* twice the same does not make it true */
		{ .cur = UINT64_C(100000000200), .rc = 0, .delta = 200 },
	};
	/* 6 kJ in 4 s is 1.5 kW: plausible only because the missed ticks count */
	static const struct tick missed[] = {
		{ .miss = true },
		{ .miss = true },
		{ .miss = true },
		{ .cur = UINT64_C(106000000000), .rc = 0, .delta = UINT64_C(6000000000) },
	};
	/* a reset during a long silence: a wrap would be as plausible as it gets with
	 * time */
	static const struct tick reset_missed[] = {
		{ .miss = true },
		{ .cur = 500, .rc = -ESTALE },
		{ .miss = true },
		{ .cur = 700, .rc = 0, .delta = 200, .dt_s = 60, .is_unsure = true },
	};

	run("a reset costs one interval", UINT64_C(100000000000), reset, ARRAY_SIZE(reset), 750000000);
	run("two resets", UINT64_C(100000000000), reset_doubted_twice, ARRAY_SIZE(reset_doubted_twice), 2000);
	run("a counter that stands at 0", UINT64_C(200000000000), dead, ARRAY_SIZE(dead), 900);
	run("0 twice costs nothing", UINT64_C(100000000000), zero_twice, ARRAY_SIZE(zero_twice),
	    UINT64_C(100000600000));
	run("0 twice, soon after boot", UINT64_C(1100000000), zero_twice_after_boot,
	    ARRAY_SIZE(zero_twice_after_boot), UINT64_C(1400000000));
	run("a glitch that fits is made up for", UINT64_C(100000000000), ahead, ARRAY_SIZE(ahead),
	    UINT64_C(102400000000));
	run("a glitch costs nothing", UINT64_C(100000000000), glitch, ARRAY_SIZE(glitch),
	    UINT64_C(100000000300));
	run("what is above the range costs nothing", UINT64_C(100000000000), garbage, ARRAY_SIZE(garbage),
	    UINT64_C(100000000200));
	run("missed readings are caught up", UINT64_C(100000000000), missed, ARRAY_SIZE(missed),
	    UINT64_C(106000000000));
	run("reset between missed readings", UINT64_C(100000000000), reset_missed, ARRAY_SIZE(reset_missed),
	    700);
}

/* --- any history ------------------------------------------------------------------------ */

#define HISTORIES 2000
#define READINGS 120
#define POWER_MAX_W 800
#define DT_MAX_S 8

enum glitch {
	NO_GLITCH,
	GLITCH_ZERO,
	GLITCH_ONES,
	GLITCH_FULL,
	GLITCH_OLD,
	GLITCH_REPLAY,
	GLITCH_RANDOM,
	GLITCHES
};

/* A counter, what it counted, and what was booked of that. */
struct history {
	struct counter c;
	uint64_t base_uj, raw_uj;
	uint64_t past_uj[READINGS]; /* what it showed */
	uint64_t true_uj, booked_uj;
	uint64_t good_uj; /* true_uj at the last good reading that was booked */
	uint64_t may_lack_uj;
	uint64_t age_ns; /* time since then */
	/* the bounds of glitches and resets that could not be told from energy */
	uint64_t noise_uj;
	bool is_off;	/* the last reading that was booked was a glitch */
	bool was_reset; /* since the last reading that was booked */
	enum glitch glitch;
	unsigned int left; /* readings that the glitch still lasts */
};

static uint64_t value_shown(struct history *h, unsigned int i)
{
	uint64_t random = rnd(h->c.range_uj);

	switch (h->glitch) {
	case GLITCH_ZERO:
		return 0;
	case GLITCH_ONES:
		return UINT64_MAX;
	case GLITCH_FULL:
		return h->c.range_uj;
	case GLITCH_OLD: /* the same again and again */
		return h->past_uj[i > 10 ? i - 10 + h->left : 0];
	case GLITCH_REPLAY: /* from some time ago, and going on */
		return h->past_uj[i > 10 ? i - 10 : 0];
	case GLITCH_RANDOM:
		return random;
	default:
		return h->raw_uj;
	}
}

static void step(struct history *h, unsigned int i)
{
	const uint64_t dt_ns = (1 + rnd(DT_MAX_S)) * NSEC_PER_SEC;
	const uint64_t used_uj = rnd(POWER_MAX_W) * dt_ns / 1000;
	bool is_good, wrapped;
	uint64_t cur, uj = 0;

	h->age_ns += dt_ns;
	h->true_uj += used_uj;
	h->raw_uj = (h->raw_uj + used_uj) % (h->c.range_uj + 1);
	if (!rnd(40)) {
		h->raw_uj = rnd(used_uj + 1);
		h->was_reset = true;
	}
	if (h->left && --h->left == 0)
		h->glitch = NO_GLITCH;
	if (!h->left && !rnd(12)) {
		h->glitch = 1 + (enum glitch)rnd(GLITCHES - 1);
		h->left = 1 + (unsigned int)rnd(5);
	}
	cur = value_shown(h, i);
	h->past_uj[i] = h->raw_uj;
	is_good = cur == h->raw_uj;
	if (counter_advance(&h->c, &h->base_uj, cur, dt_ns, &uj, &wrapped) < 0)
		return;
	h->booked_uj += uj;
	if (!is_good || h->is_off || (h->was_reset && (!h->c.is_unsure || uj > h->true_uj - h->good_uj)))
		h->noise_uj += counter_bound_uj(h->c.max_w, h->age_ns);
	h->age_ns = 0;
	h->was_reset = false;
	h->is_off = !is_good;
	if (h->c.is_unsure)
		h->may_lack_uj += h->true_uj - h->good_uj;
	if (is_good)
		h->good_uj = h->true_uj;
}

/* Returns NULL if H keeps all rules, else the one that is broken. */
static const char *broken_rule(const struct history *h)
{
	if (h->booked_uj > h->true_uj + h->noise_uj)
		return "booked more than was used";
	if (h->booked_uj + h->may_lack_uj + h->noise_uj < h->good_uj)
		return "lost more than it says";
	return NULL;
}

static void test_histories(void)
{
	static const uint64_t ranges[] = { UINT64_C(65532610987), RANGE, UINT64_C(4294967295000000) };
	const char *broken = NULL;
	unsigned int exact = 0, n, i;

	rng = 20261128;
	for (n = 0; n < HISTORIES && !broken; n++) {
		struct history h = { .c = { .range_uj = ranges[n % 3], .max_w = COUNTER_PACKAGE_MAX_W } };

		h.base_uj = h.raw_uj = rnd(n % 2 ? h.c.range_uj : UINT64_C(2000000000));
		for (i = 0; i < READINGS && !broken; i++) {
			step(&h, i);
			broken = broken_rule(&h);
		}
		exact += h.booked_uj == h.good_uj;
		if (broken)
			diag("history %u, reading %u: booked %" PRIu64 " of %" PRIu64 ", noise %" PRIu64
			     ", may lack %" PRIu64,
			     n, i, h.booked_uj, h.true_uj, h.noise_uj, h.may_lack_uj);
	}
	ok(!broken, "%u histories of glitches, resets and wraps: %s", n, broken ? broken : "no false energy");
	diag("%u of %u are exact", exact, n);
}

/* --- slurmd is away ---------------------------------------------------------------------- */

/* Whatever others read meanwhile: what is not exact is unsure, and it is exact if they read often. */
static void test_away(void)
{
	static const uint64_t ranges[] = { UINT64_C(65532610987), RANGE, UINT64_C(4294967295000000) };
	unsigned int n, i, wrong = 0, sure = 0, unsure_without_reason = 0;

	for (n = 0; n < HISTORIES; n++) {
		uint64_t range = ranges[n % 3];
		struct counter c = { .range_uj = range,
				     .max_w = COUNTER_PACKAGE_MAX_W,
				     .sure_ns = counter_sure_ns(range, COUNTER_PACKAGE_SURE_W) };
		const uint64_t first_uj = rnd(range);
		const uint64_t longest_ns = (n % 2 ? 30 : 90) * NSEC_PER_SEC;
		unsigned int polls = (unsigned int)rnd(40);
		uint64_t base_uj = first_uj, used_uj = 0, t_ns = 0, uj = 0;
		bool wrapped;

		c.note = (struct counter_note){ .base_uj = base_uj, .raw_uj = base_uj };
		for (i = 0; i <= polls; i++) {
			uint64_t dt_ns = 1 + rnd(longest_ns);

			used_uj += rnd(POWER_MAX_W) * dt_ns / 1000;
			t_ns += dt_ns;
			if (i < polls)
				counter_note_add(&c.note, range, c.max_w, (first_uj + used_uj) % (range + 1),
						 t_ns);
		}
		if (counter_advance(&c, &base_uj, (first_uj + used_uj) % (range + 1), t_ns, &uj, &wrapped) <
		    0)
			uj = 0, c.is_unsure = true;
		wrong += uj > used_uj || (uj != used_uj && !c.is_unsure);
		sure += !c.is_unsure;
		unsure_without_reason += c.is_unsure && longest_ns < c.sure_ns;
	}
	ok(!wrong && !unsure_without_reason, "away: %u of %u histories are exact, the others unsure", sure,
	   n);
}

static void test_unsure(void)
{
	static const struct {
		const char *name;
		uint64_t range_uj, note_base_uj, after_s, dt_s;
		uint64_t uj;
		bool is_unsure;
	} t[] = {
		{ "36 s on AMD", UINT64_C(65532610987), 0, 0, 36, 24800000, false },
		{ "38 s on AMD", UINT64_C(65532610987), 0, 0, 38, 24800000, true },
		{ "38 s on AMD, a note", UINT64_C(65532610987), 7, 20, 38, UINT64_C(65532610987) + 24800001,
		  false },
		{ "a note of another base", UINT64_C(65532610987), 8, 20, 38, 24800000, true },
		{ "a note that is not of that time", UINT64_C(65532610987), 7, 39, 38, 24800000, true },
		{ "two minutes on Intel", RANGE, 0, 0, 120, 24800000, false },
		{ "three minutes on Intel", RANGE, 0, 0, 180, 24800000, true },
		{ "an hour, 64 bits", UINT64_MAX, 0, 0, 3600, 24800000, false },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct counter c = { .range_uj = t[i].range_uj,
				     .max_w = COUNTER_PACKAGE_MAX_W,
				     .sure_ns = counter_sure_ns(t[i].range_uj, COUNTER_PACKAGE_SURE_W),
				     .note = { .base_uj = t[i].note_base_uj,
					       .raw_uj = 0,
					       .used_uj = t[i].range_uj - 6,
					       .after_ns = t[i].after_s * NSEC_PER_SEC,
					       .gap_ns = t[i].after_s * NSEC_PER_SEC } };
		uint64_t base_uj = 7, uj = 0;
		bool wrapped;

		ok(counter_advance(&c, &base_uj, 24800007, t[i].dt_s * NSEC_PER_SEC, &uj, &wrapped) == 0 &&
			   uj == t[i].uj && c.is_unsure == t[i].is_unsure,
		   "%s: %s", t[i].name, t[i].is_unsure ? "unsure" : "sure");
		ok(wrapped == (uj > RANGE || uj > t[i].range_uj), "  wrapped only where it did");
	}
}

int main(void)
{
	test_delta();
	test_bound();
	test_advance();
	test_histories();
	test_away();
	test_unsure();
	return done_testing();
}
