/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The energy of counters that move seldom: random histories of a part's power and of ticks.
 *
 *	HISTORY_SEED=n repeats a run, HISTORIES=n makes it longer.
 */
#include "src/libnode/pace.h"

#include <math.h>
#include <stdlib.h>

#include "src/libutil/clock.h"
#include "src/libutil/util.h"
#include "tap.h"

#define HISTORIES 2000
#define TICKS 3000
#define MS NSEC_PER_MSEC

static uint32_t draws;

static uint32_t draw(uint32_t n)
{
	/* xorshift32, Marsaglia 2003 */
	draws ^= draws << 13;
	draws ^= draws >> 17;
	draws ^= draws << 5;
	return draws % n;
}

/* A part whose power is IDLE_MW, and as much again for each unit of load. */
struct machine {
	struct pace pace;
	uint64_t held_uj;
	uint64_t now_ns;
	uint64_t interval_ns, next_ns; /* of the counter; NEXT_NS is when it moves */
	uint64_t idle_mw;
	enum pace_unit unit;
	unsigned int load;
	uint64_t used_nj, counter_uj; /* used in truth, and what the counter shows of it */
	uint64_t shown_uj, booked_uj; /* at the last tick */
};

static void start(struct machine *m, uint64_t interval_ns)
{
	*m = (struct machine){
		.interval_ns = interval_ns, .next_ns = interval_ns, .idle_mw = 40000, .unit = PACE_CPU_EVENTS
	};
}

static void live(struct machine *m, uint64_t until_ns)
{
	while (m->now_ns < until_ns) {
		uint64_t to_ns = m->next_ns < until_ns ? m->next_ns : until_ns;

		m->used_nj += m->idle_mw * (m->load + 1) * (to_ns - m->now_ns) / 1000;
		m->now_ns = to_ns;
		if (to_ns != m->next_ns)
			continue;
		m->counter_uj = m->used_nj / 1000;
		m->next_ns += m->interval_ns - m->interval_ns / 50 +
			      draw((uint32_t)(m->interval_ns / 25) + 1);
	}
}

/* Returns what is booked by a tick after NS. */
static uint64_t tick(struct machine *m, uint64_t ns, bool ends)
{
	struct pace_tick t = {
		.dt_ns = ns,
		.idle_mw = m->idle_mw,
		.unit = m->unit,
		.activity = m->unit == PACE_NONE ?
				    0 :
				    (double)m->load * (double)ns *
					    30000, /* the first estimate is a quarter too low */
		.has_steps = m->load != 0,
		.ends = ends,
	};
	uint64_t uj;

	live(m, m->now_ns + ns);
	t.shown_uj = m->counter_uj - m->shown_uj;
	m->shown_uj = m->counter_uj;
	uj = pace_tick(&m->pace, &t, &m->held_uj);
	m->booked_uj += uj;
	return uj;
}

static uint64_t any_interval(void)
{
	static const uint64_t ms[] = { 1, 5, 10, 20, 50, 100, 100, 250, 1000, 3000 };

	return ms[draw(ARRAY_SIZE(ms))] * MS;
}

/* What must be true of any history: counters, loads and ticks that change at random, restarts of slurmd. */
static void test_sums(unsigned int n)
{
	unsigned int lost = 0;
	unsigned int left = 0;
	unsigned int early = 0;
	unsigned int i, k;

	for (i = 0; i < n; i++) {
		struct machine m;

		start(&m, any_interval());
		for (k = 0; k < 300; k++) {
			bool ends = draw(100) == 0;

			if (draw(20) == 0)
				m.load = draw(4);
			if (draw(200) == 0)
				m.interval_ns = any_interval();
			if (draw(100) == 0)
				m.pace = (struct pace){ 0 }; /* a new slurmd, with the ledger's held_uj */
			(void)tick(&m, draw(8) ? (1 + draw(30)) * MS + draw(1000000) : 1000 * MS, ends);
			lost += m.booked_uj + m.held_uj != m.shown_uj;
			early += m.booked_uj > m.shown_uj;
			left += ends && m.held_uj;
		}
		m.next_ns = UINT64_MAX; /* a counter that stands still */
		for (k = 0; k < 20; k++)
			(void)tick(&m, 1000 * MS, false);
		left += m.held_uj != 0;
		lost += m.booked_uj != m.shown_uj;
	}
	ok(!lost, "%u histories: booked + held is what the counter showed, to the microjoule", n);
	is_u64(early, 0, "  nothing is booked before it is measured");
	is_u64(left, 0, "  nothing is held when slurmd ends or the counter stands still");
}

static void test_fast(void)
{
	unsigned int changed = 0;
	struct machine m;
	unsigned int k;

	start(&m, MS);
	for (k = 0; k < TICKS; k++) {
		uint64_t before_uj = m.shown_uj;
		uint64_t uj = tick(&m, (2 + draw(50)) * MS, false);

		changed += uj != m.shown_uj - before_uj;
	}
	is_u64(changed, 0, "a counter that moves every millisecond is booked as it is");
	start(&m, 5000 * MS);
	for (k = changed = 0; k < TICKS; k++) {
		uint64_t before_uj = m.shown_uj;
		uint64_t uj = tick(&m, 1000 * MS, false);

		changed += uj != m.shown_uj - before_uj;
	}
	is_u64(changed, 0, "and so is one that moves every 5 s");
}

/* A busy node, many short steps: ticks of 2 to 20 ms. */
static void test_slow(uint64_t interval_ms)
{
	uint64_t most_uj = 0;
	uint64_t least_uj = UINT64_MAX;
	/* until the interval is learned, and the reserve is full */
	const unsigned int warm = TICKS + 30 * (unsigned int)interval_ms;
	double error = 0;
	struct machine m;
	unsigned int k;

	start(&m, interval_ms * MS);
	m.load = 3;
	for (k = 0; k < warm + TICKS; k++) {
		uint64_t ns = (2 + draw(19)) * MS;
		uint64_t mw = tick(&m, ns, false) * 1000000 / ns;

		if (k < warm)
			continue;
		most_uj = mw > most_uj ? mw : most_uj;
		least_uj = mw < least_uj ? mw : least_uj;
		error += fabs((double)mw / 160000 - 1) / TICKS;
	}
	ok(fabs(pace_interval_ns(&m.pace) / (double)m.interval_ns - 1) < 0.2,
	   "a counter of %llu ms: the interval is learned", (unsigned long long)interval_ms);
	diag("%.0f ms", pace_interval_ns(&m.pace) / 1e6);
	ok(error < 0.02, "  the power of a tick is right within 2 %% in the mean");
	ok(most_uj < 2 * 160000 && least_uj > 160000 / 2, "  in no tick is it twice or half of it");
	diag("%.2f %%; %llu to %llu mW", 100 * error, (unsigned long long)least_uj,
	     (unsigned long long)most_uj);
}

/* A step of 50 ms on an idle node, again and again: it gets what it used, not what the counter showed. */
static void test_step(void)
{
	double sum = 0;
	double worst = 0;
	struct machine m;
	unsigned int k;

	start(&m, 100 * MS);
	for (k = 0; k < 200; k++) {
		uint64_t wait_ns = (300 + draw(600)) * MS;
		double error;
		uint64_t uj;
		unsigned int i;

		for (i = 0; i < 10; i++)
			(void)tick(&m, wait_ns / 10, false);
		m.load = 2;
		uj = tick(&m, 5 * MS, false);
		uj += tick(&m, 45 * MS, false);
		m.load = 0;
		error = fabs((double)uj / (50 * 120 * 1000) - 1);
		if (k < 100)
			continue;
		sum += error;
		worst = error > worst ? error : worst;
	}
	ok(sum / 100 < 0.15, "steps of 50 ms, a counter of 100 ms: right within 15 %% in the mean");
	ok(worst < 0.6, "  and none is wrong by more than 60 %%");
	diag("%.1f %%, at worst %.1f %%", sum, 100 * worst);
}

/* A GPU, whose activity nobody measures: jobs of seconds, while others make many ticks. */
static void test_gpu(void)
{
	double worst = 0;
	struct machine m;
	unsigned int k;

	start(&m, 100 * MS);
	m.unit = PACE_NONE;
	for (k = 0; k < 60; k++) {
		uint64_t begin_nj, until_ns;
		uint64_t uj = 0;
		double error;

		for (until_ns = m.now_ns + 2000 * MS; m.now_ns < until_ns;)
			(void)tick(&m, (3 + draw(20)) * MS, false);
		m.load = 8;
		begin_nj = m.used_nj;
		for (until_ns = m.now_ns + 2000 * MS + draw(3000) * MS; m.now_ns < until_ns;)
			uj += tick(&m, (3 + draw(20)) * MS, false);
		error = fabs((double)uj * 1000 / (double)(m.used_nj - begin_nj) - 1);
		m.load = 0;
		if (k >= 10 && error > worst)
			worst = error;
	}
	ok(worst < 0.15, "a part without a measure of activity: jobs of 2 to 5 s are right within 15 %%");
	diag("at worst %.1f %%", 100 * worst);
}

int main(void)
{
	const char *seed = getenv("HISTORY_SEED");
	const char *histories = getenv("HISTORIES");

	draws = seed ? (uint32_t)strtoul(seed, NULL, 10) : 2463534242u;
	draws |= !draws;
	test_sums(histories ? (unsigned int)strtoul(histories, NULL, 10) : HISTORIES);
	test_fast();
	test_slow(50);
	test_slow(100);
	test_slow(1000);
	test_step();
	test_gpu();
	return done_testing();
}
