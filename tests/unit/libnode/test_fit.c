/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests the fit on simulated sockets, whose energy per event is known. The fit must find it with noise, with
 * loads that differ in their mix of events and with loads that do not, and it must survive garbage.
 */
#include "src/libnode/fit.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include "scratch.h"
#include "src/libutil/clock.h"
#include "src/libutil/util.h"
#include "tap.h"

#define GIGA UINT64_C(1000000000)

static uint64_t seed;

static double random_unit(void)
{
	return (double)(scratch_random(&seed) % 1000001) / 1e6;
}

/* What the events are worth on this machine, in nJ, and how far off the sensor is. */
struct truth {
	double nj[EVENT_N];
	double noise; /* part of the reading, either way */
};

static uint64_t joules_of(const struct truth *t, const uint64_t events[EVENT_N])
{
	double nj = 0;
	int i;

	for (i = 0; i < EVENT_N; i++)
		nj += (double)events[i] * t->nj[i];
	return (uint64_t)(nj / 1e3 * (1 + t->noise * (2 * random_unit() - 1)));
}

/* 32 CPUs; instructions per cycle and misses per instruction are what tells loads apart. */
static void load_of(double busy, double ipc, double misses, uint64_t events[EVENT_N])
{
	events[EVENT_CYCLES] = (uint64_t)(busy * 32 * 2.5e9);
	events[EVENT_INSTRUCTIONS] = (uint64_t)((double)events[EVENT_CYCLES] * ipc);
	events[EVENT_LLC_MISSES] = (uint64_t)((double)events[EVENT_INSTRUCTIONS] * misses);
}

static void run_mixed(struct fit *f, const struct truth *t, unsigned int seconds)
{
	while (seconds--) {
		uint64_t events[EVENT_N];

		load_of(0.05 + 0.9 * random_unit(), 0.3 + 2.5 * random_unit(), 0.01 * random_unit(), events);
		(void)fit_add(f, joules_of(t, events), NSEC_PER_SEC, events);
	}
}

/* Worst error, in %, of the ratio between two loads of unlike kind and the truth's. */
static double ratio_error(const struct fit *f, const struct truth *t)
{
	static const double load[][2] = { { 2.5, 0.0001 }, { 0.4, 0.008 }, { 1, 0.001 } };
	const struct truth exact = { .nj = { t->nj[0], t->nj[1], t->nj[2] } };
	uint64_t a[EVENT_N], b[EVENT_N];
	double worst = 0;
	size_t i;

	load_of(0.5, 0.8, 0.002, a);
	for (i = 0; i < ARRAY_SIZE(load); i++) {
		double want, got;

		load_of(0.5, load[i][0], load[i][1], b);
		want = (double)joules_of(&exact, b) / (double)joules_of(&exact, a);
		got = (double)fit_weight(f, b) / (double)fit_weight(f, a);
		if (fabs(got / want - 1) * 100 > worst)
			worst = fabs(got / want - 1) * 100;
	}
	return worst;
}

static void is_near(const struct fit *f, const struct truth *t, double percent, const char *name)
{
	double error = ratio_error(f, t);

	if (!ok(error <= percent, "%s: shares within %.0f %%", name, percent))
		diag("%.2f %%, theta %g %g %g", error, f->theta[0], f->theta[1], f->theta[2]);
}

static bool is_sane(const struct fit *f)
{
	int i;

	for (i = 0; i < EVENT_N; i++)
		if (!(f->theta[i] >= 0) || !isfinite(f->theta[i]))
			return false;
	return f->theta[0] + f->theta[1] + f->theta[2] > 0;
}

static void test_bad_input(void)
{
	static const struct {
		const char *name;
		uint64_t uj, dt_ns, events[EVENT_N];
	} t[] = {
		{ "no window", 5, 0, { 1, 1, 1 } },
		{ "no events", 5, NSEC_PER_SEC, { 0, 0, 0 } },
		{ "absurd energy", UINT64_MAX, NSEC_PER_SEC, { GIGA, GIGA, 0 } },
		{ "absurd events", 5, NSEC_PER_SEC, { UINT64_MAX, UINT64_MAX, UINT64_MAX } },
		{ "absurd for so short a time", 5000000, 1, { GIGA, 0, 0 } },
	};
	struct fit f, before;
	size_t i;

	fit_init(&f);
	before = f;
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		is_int(fit_add(&f, t[i].uj, t[i].dt_ns, t[i].events), -ERANGE, t[i].name);
		ok(!memcmp(&f, &before, sizeof(f)), "and it is left out");
	}
}

static void test_weight(void)
{
	const uint64_t none[EVENT_N] = { 0 };
	const uint64_t one[EVENT_N] = { 0, 0, 1 };
	const uint64_t all[EVENT_N] = { UINT64_MAX, UINT64_MAX, UINT64_MAX };
	struct fit f;

	fit_init(&f);
	is_u64(fit_weight(&f, none), 0, "no events: weight 0");
	ok(fit_weight(&f, one) > 0, "one event: a weight above 0");
	ok(fit_weight(&f, all) <= UINT64_C(1) << 60, "a weight leaves room for sums");
	f.theta[EVENT_LLC_MISSES] = 0;
	is_u64(fit_weight(&f, one), 1, "at least 1 where events of the kind cost nothing");
}

/* Shipped ratios: two steps of equal kind share by cycles, as by CPU time. */
static void test_little_data(void)
{
	const struct truth odd = { { 0.1, 3, 0 }, 0.02 };
	uint64_t events[EVENT_N], twice[EVENT_N];
	struct fit f;

	fit_init(&f);
	load_of(0.2, 1, 0.001, events);
	load_of(0.4, 1, 0.001, twice);
	is_u64(fit_weight(&f, twice) / 1000, 2 * fit_weight(&f, events) / 1000,
	       "without data, twice the time is twice the share");
	(void)fit_add(&f, joules_of(&odd, events), NSEC_PER_SEC, events);
	ok(fabs(f.theta[0] / f.theta[1] - 1) < 1e-6 && fabs(f.theta[0] / f.theta[2] - 1) < 1e-6,
	   "one window tells the size, not the ratios");
}

static void test_converges(void)
{
	static const struct {
		const char *name;
		struct truth truth;
		double percent;
	} t[] = {
		{ "as shipped", { { 1, 0.25, 8 }, 0 }, 1 },
		{ "no noise", { { 0.6, 0.5, 20 }, 0 }, 2 },
		{ "2 % of noise", { { 0.6, 0.5, 20 }, 0.02 }, 2 },
		{ "10 % of noise", { { 1.5, 0.1, 3 }, 0.1 }, 5 },
		{ "instructions only", { { 0, 0.8, 0 }, 0.02 }, 6 },
		{ "cycles only", { { 2, 0, 0 }, 0.02 }, 3 },
		{ "misses cost nothing", { { 0.6, 0.3, 0 }, 0.05 }, 3 },
	};
	struct fit f;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		fit_init(&f);
		run_mixed(&f, &t[i].truth, 600);
		is_near(&f, &t[i].truth, t[i].percent, t[i].name);
	}
}

/* A night of daemons, on a socket whose idle power is known a watt too low. */
static void test_idle_before(void)
{
	const struct truth truth = { { 0.6, 0.5, 20 }, 0.02 };
	uint64_t events[EVENT_N];
	struct fit f;
	int i;

	fit_init(&f);
	load_of(0.002, 1, 0.001, events);
	is_int(fit_add(&f, 1000000, NSEC_PER_SEC, events), -ERANGE, "an idle socket is left out");
	for (i = 0; i < 36000; i++)
		(void)fit_add(&f, 1000000, NSEC_PER_SEC, events);
	run_mixed(&f, &truth, 120);
	is_near(&f, &truth, 5, "two minutes after an idle night");
}

/* What no event tells: every other minute the same events cost half as much again. */
static void test_unexplained(void)
{
	struct fit f;
	int i;

	fit_init(&f);
	for (i = 0; i < 600; i++) {
		bool is_vector = i / 60 % 2;
		const struct truth t = { { 1, is_vector ? 0.75 : 0.25, 8 }, 0.02 };
		uint64_t events[EVENT_N];

		load_of(0.8, 1.8, is_vector ? 0.0008 : 0.0001, events);
		(void)fit_add(&f, joules_of(&t, events), NSEC_PER_SEC, events);
	}
	if (!ok(f.theta[EVENT_LLC_MISSES] < 3 * f.theta[EVENT_CYCLES],
		"energy that no event explains is not put on the cache misses"))
		diag("theta %g %g %g", f.theta[0], f.theta[1], f.theta[2]);
}

static void test_collinear(void)
{
	const struct truth truth = { { 0.6, 0.5, 20 }, 0.03 };
	struct fit f;
	uint64_t events[EVENT_N];
	int i;

	fit_init(&f);
	for (i = 0; i < 86400; i++) {
		load_of(0.1 + 0.8 * random_unit(), 1, 0.001, events);
		(void)fit_add(&f, joules_of(&truth, events), NSEC_PER_SEC, events);
	}
	ok(is_sane(&f) && fabs(f.theta[0] / f.theta[1] - 1) < 0.25 &&
		   fabs(f.theta[0] / f.theta[2] - 1) < 0.25,
	   "a day of one mix of events leaves the shipped ratios");
	diag("theta %g %g %g", f.theta[0], f.theta[1], f.theta[2]);
}

static void test_forgets(void)
{
	const struct truth before = { { 0.4, 0.9, 5 }, 0.03 };
	const struct truth after = { { 1.4, 0.2, 25 }, 0.03 };
	struct fit f;

	fit_init(&f);
	run_mixed(&f, &before, 36000);
	is_near(&f, &before, 3, "ten hours of the same");
	run_mixed(&f, &after, 3600);
	is_near(&f, &after, 5, "an hour after everything changed");
}

static void test_garbage(void)
{
	const struct truth truth = { { 0.6, 0.5, 20 }, 0.02 };
	bool sane = true;
	struct fit f;
	int i;

	fit_init(&f);
	run_mixed(&f, &truth, 600);
	for (i = 0; i < 600; i++) {
		uint64_t events[EVENT_N];

		run_mixed(&f, &truth, 19);
		load_of(random_unit(), random_unit(), 0.01 * random_unit(), events);
		(void)fit_add(&f, scratch_random(&seed) % (5000 * UINT64_C(1000000)), NSEC_PER_SEC, events);
		sane &= is_sane(&f);
	}
	ok(sane, "no coefficient is ever negative or not finite");
	is_near(&f, &truth, 5, "every 20th reading is nonsense");
	for (i = 0; i < 200000; i++) {
		const uint64_t events[EVENT_N] = { scratch_random(&seed) >> seed % 64,
						   scratch_random(&seed) >> seed % 61,
						   scratch_random(&seed) >> seed % 59 };

		(void)fit_add(&f, scratch_random(&seed) >> seed % 53, scratch_random(&seed) >> seed % 47,
			      events);
		sane &= is_sane(&f);
	}
	ok(sane, "nor after 200,000 random readings");
	run_mixed(&f, &truth, 7200);
	is_near(&f, &truth, 5, "two hours of good readings later");
}

int main(void)
{
	const char *text = getenv("CEEMS_TEST_SEED");

	seed = text ? strtoull(text, NULL, 0) : UINT64_C(20261121);
	diag("seed %" PRIu64 " (CEEMS_TEST_SEED)", seed);
	test_bad_input();
	test_weight();
	test_little_data();
	test_converges();
	test_idle_before();
	test_unexplained();
	test_collinear();
	test_forgets();
	test_garbage();
	return done_testing();
}
