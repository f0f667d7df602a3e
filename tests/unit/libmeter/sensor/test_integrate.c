/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libmeter/sensor/integrate.h"

#include <errno.h>
#include <string.h>

#include "scratch.h"
#include "src/libmeter/sensor/counter.h"
#include "src/libutil/clock.h"
#include "src/libutil/util.h"
#include "tap.h"

#define T0 (1000 * NSEC_PER_SEC)
#define MAX_MW (COUNTER_PLATFORM_MAX_W * 1000)

static struct integrate fresh(void)
{
	return (struct integrate){ .max_mw = MAX_MW, .max_gap_ns = INTEGRATE_GAP_NS };
}

struct sample {
	uint64_t mw, t_ns;
	int rc;
	uint64_t uj;
};

static void run(const char *name, const struct sample *s, size_t n)
{
	struct integrate i = fresh();
	bool good = true;
	size_t k;

	for (k = 0; k < n; k++) {
		uint64_t uj = 4711;
		int rc = integrate_add(&i, s[k].mw, s[k].t_ns, &uj);

		if (rc != s[k].rc || uj != (rc ? 4711 : s[k].uj)) {
			diag("sample %zu: rc %d, %" PRIu64 " uJ", k, rc, uj);
			good = false;
		}
	}
	ok(good, "%s", name);
}
#define RUN(name, ...)                                             \
	do {                                                       \
		static const struct sample s_[] = { __VA_ARGS__ }; \
		run(name, s_, ARRAY_SIZE(s_));                     \
	} while (0)

static void test_bad(void)
{
	RUN("absurd power first: no start", { MAX_MW + 1, T0, -ERANGE, 0 },
	    { 1000, T0 + NSEC_PER_SEC, 0, 0 });
	RUN("absurd power later: the next sample covers its time", { 1000, T0, 0, 0 },
	    { UINT64_MAX, T0 + NSEC_PER_SEC, -ERANGE, 0 }, { 1000, T0 + 2 * NSEC_PER_SEC, 0, 2000000 });
	RUN("a sample older than the last: ignored", { 1000, T0, 0, 0 },
	    { 9000, T0 - NSEC_PER_SEC, -ESTALE, 0 }, { 1000, T0 + NSEC_PER_SEC, 0, 1000000 });
	RUN("the same sample again: nothing new", { 1000, T0, 0, 0 }, { 1000, T0, 0, 0 },
	    { 3000, T0 + NSEC_PER_SEC, 0, 2000000 });
	RUN("a gap: starts anew, what was in it is unknown", { 1000, T0, 0, 0 },
	    { 1000, T0 + INTEGRATE_GAP_NS + 1, -ETIME, 0 },
	    { 1000, T0 + INTEGRATE_GAP_NS + 1 + NSEC_PER_SEC, 0, 1000000 });
	RUN("far in the past: the start was wrong", { 1000, UINT64_MAX, 0, 0 }, { 1000, T0, -ETIME, 0 },
	    { 1000, T0 + NSEC_PER_SEC, 0, 1000000 });
}

static void test_good(void)
{
	RUN("the longest gap that is none", { 1000, T0, 0, 0 },
	    { 1000, T0 + INTEGRATE_GAP_NS, 0, 120000000 });
	RUN("a ramp", { 100000, T0, 0, 0 }, { 300000, T0 + NSEC_PER_SEC, 0, 200000000 },
	    { 0, T0 + 2 * NSEC_PER_SEC, 0, 150000000 });
	RUN("no power is a value", { 0, T0, 0, 0 }, { 0, T0 + NSEC_PER_SEC, 0, 0 });
	RUN("half a microjoule waits for the other half", { 1, T0, 0, 0 }, { 0, T0 + NSEC_PER_MSEC, 0, 0 },
	    { 1, T0 + 2 * NSEC_PER_MSEC, 0, 1 });
	RUN("the highest power over the longest gap", { MAX_MW, T0, 0, 0 },
	    { MAX_MW, T0 + INTEGRATE_GAP_NS, 0, UINT64_C(3000000000000) });
}

static void test_overflow(void)
{
	struct integrate i = { .max_mw = UINT64_MAX, .max_gap_ns = UINT64_MAX };
	uint64_t uj = 4711;

	is_int(integrate_add(&i, UINT64_MAX, 1, &uj), 0, "no limits: a start");
	is_int(integrate_add(&i, UINT64_MAX, UINT64_MAX, &uj), -ERANGE, "no limits: more than 64 bits");
	is_u64(uj, 0, "nothing came out");
}

/* Ten thousand odd ticks of one power are that power times the time, to the microjoule. */
static void test_remainder(void)
{
	struct integrate i = fresh();
	uint64_t seed = 88172645463325252U;
	uint64_t t = T0;
	uint64_t sum = 0;
	unsigned int k;

	for (k = 0; k < 10000; k++) {
		uint64_t uj = 0;

		if (integrate_add(&i, 123457, t, &uj) < 0)
			break;
		sum += uj;
		t += 1 + scratch_random(&seed) % (2 * NSEC_PER_SEC);
	}
	is_u64(k, 10000, "remainder: all samples taken");
	is_u64(sum, (uint64_t)((__uint128_t)123457 * (i.last_ns - T0) / 1000000), "remainder: nothing lost");
}

/* --- as sources use it ------------------------------------------------------------------ */

struct book {
	struct source_state state;
	struct reading r;
	struct part *part;
};

static int book(struct book *b, uint64_t mw, uint64_t t_ns)
{
	struct integrate i = fresh(); /* a new one each time, as after a restart */

	i.last_mw = i.last_ns = i.rest = 4711;
	b->r = (struct reading){ 0 };
	b->part = reading_part(&b->r, DOMAIN_OTHER, 0, QUALITY_INTEGRATED);
	return integrate_book(&i, &b->state, "power1", mw, t_ns, &b->r, b->part);
}

static void test_book(void)
{
	struct book b = { 0 };

	is_int(book(&b, UINT64_MAX, T0), -ERANGE, "book: absurd");
	ok(b.r.rejected == 1 && !b.state.ncounters && !b.part->until_ns, "book: counted, nothing kept");
	is_int(book(&b, 1000, T0), 0, "book: the start");
	ok(b.part->energy_uj == 0 && b.part->until_ns == T0, "book: no energy, up to it");
	ok(b.part->is_new_base, "book: it counts from here");
	is_int(book(&b, 1001, T0 + NSEC_PER_SEC + 1), 0, "book: goes on from the state");
	ok(b.part->energy_uj == 1000500 && b.part->until_ns == T0 + NSEC_PER_SEC + 1,
	   "book: energy, up to the sample");
	is_int(book(&b, 1001, T0 + NSEC_PER_SEC), -ESTALE, "book: older");
	ok(b.r.rejected == 1 && b.part->energy_uj == 0, "book: counted as rejected");
	is_int(book(&b, 1000, T0 + 2 * INTEGRATE_GAP_NS), -ETIME, "book: a gap");
	ok(b.r.late == 1 && b.r.rejected == 0 && b.part->energy_uj == 0, "book: counted as late");
	is_int(book(&b, 1000, T0 + 2 * INTEGRATE_GAP_NS + NSEC_PER_SEC), 0, "book: goes on after it");
	is_u64(b.part->energy_uj, 1000000, "book: with what came after the gap");
	is_u64(b.state.ncounters, 2, "book: two counters in the state");
}

static void test_slowest(void)
{
	struct source_state state = { 0 };
	struct reading r = { 0 };
	struct part *part = reading_part(&r, DOMAIN_CPU, 0, QUALITY_INTEGRATED);
	struct integrate i = fresh();

	(void)integrate_book(&i, &state, "power1", 1000, T0 + 5, &r, part);
	(void)integrate_book(&i, &state, "power2", 1000, T0 + 3, &r, part);
	(void)integrate_book(&i, &state, "power3", 1000, T0 + 4, &r, part);
	is_u64(part->until_ns, T0 + 3, "several sensors: up to the slowest");
}

static void test_bad_state(void)
{
	static const struct {
		const char *name;
		uint64_t mw, ns;
	} t[] = {
		{ "power above the limit", (MAX_MW + 1) << 21, T0 },
		{ "a rest of more than a microjoule", UINT64_C(1000) << 21 | 2000000, T0 },
		{ "no time", UINT64_C(1000) << 21, 0 },
	};
	size_t k;

	for (k = 0; k < ARRAY_SIZE(t); k++) {
		struct book b = { 0 };

		(void)source_state_put(&b.state, "power1 mW", t[k].mw);
		(void)source_state_put(&b.state, "power1 ns", t[k].ns);
		ok(book(&b, 1000, T0 + NSEC_PER_SEC) == 0 && b.part->energy_uj == 0,
		   "bad state: %s: starts anew", t[k].name);
	}
}

static void test_no_room(void)
{
	struct book b = { 0 };
	struct integrate i = fresh();
	char name[sizeof(b.state.counter[0].name)];
	unsigned int k;

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	b.part = reading_part(&b.r, DOMAIN_OTHER, 0, QUALITY_INTEGRATED);
	is_int(integrate_book(&i, &b.state, name, 1000, T0, &b.r, b.part), -ENAMETOOLONG, "a name too long");
	for (k = 0; k < SOURCE_MAX_COUNTERS - 1; k++) {
		snprintf(name, sizeof(name), "other%u", k);
		(void)source_state_put(&b.state, name, k);
	}
	is_int(book(&b, 1000, T0), -ENOSPC, "room for one of the two counters");
	is_u64(b.state.ncounters, SOURCE_MAX_COUNTERS - 1, "no half of it is kept");
	ok(b.r.rejected == 1 && b.part->energy_uj == 0, "counted, nothing booked");
}

int main(void)
{
	test_bad();
	test_good();
	test_overflow();
	test_remainder();
	test_book();
	test_slowest();
	test_bad_state();
	test_no_room();
	return done_testing();
}
