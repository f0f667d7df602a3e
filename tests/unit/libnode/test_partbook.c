/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Power and idle power of a node's parts over ticks: learned, configured, estimated or stated idle power. */
#include "src/libnode/partbook.h"

#include "src/libutil/clock.h"
#include "tap.h"

#define S NSEC_PER_SEC

static struct ledger_page page;
static struct partbook parts;
static struct partbook_setup setup = { .interval_ns = S, .cpus = 4 };
static struct tick tick = { .page = &page };
static struct part booked[PARTS_MAX]; /* as the last tick was booked */

static void start(void)
{
	unsigned int d;

	memset(&page, 0, sizeof(page));
	memset(&parts, 0, sizeof(parts));
	memset(&tick.sources, 0, sizeof(tick.sources));
	setup.configured_mw = 0;
	page.t_mono_ns = S;
	for (d = 0; d < DOMAIN_N; d++)
		page.domain_source[d] = tick.sources.from[d] = SOURCE_N;
}

static struct part *show(enum domain d, unsigned int unit, enum source_id source)
{
	struct part *p = &tick.sources.part[tick.sources.nparts++];

	*p = (struct part){ .domain = (uint8_t)d, .unit = (uint8_t)unit, .source = (uint8_t)source };
	tick.sources.from[d] = source;
	return p;
}

/* Books one tick of a second with the parts of tick.sources and the other facts of LIKE. */
static void run_tick(const struct tick *like)
{
	const struct sources_reading stated = tick.sources; /* partbook_note() sets the idle power to use */

	tick.dt_ns = like->dt_ns;
	tick.busy_ns = like->busy_ns;
	tick.jobs_ns = like->jobs_ns;
	tick.activity = like->activity;
	tick.is_tainted = like->is_tainted;
	tick.book = (struct book_tick){ .t_mono_ns = page.t_mono_ns + S };
	partbook_note(&parts, &setup, &tick);
	partbook_pace(&parts, &tick, /* holds= */ true);
	memcpy(booked, tick.sources.part, sizeof(booked));
	tick.book.part = booked;
	partbook_advance(&parts, &setup, &tick);
	tick.sources = stated;
	page.t_mono_ns = tick.book.t_mono_ns;
}

static void run(uint64_t busy_ns, bool is_tainted)
{
	run_tick(&(struct tick){ .dt_ns = S, .busy_ns = busy_ns, .is_tainted = is_tainted });
}

static void test_learn(void)
{
	start();
	show(DOMAIN_CPU, 0, SOURCE_RAPL)->energy_uj = 90000000;
	show(DOMAIN_CPU, 1, SOURCE_RAPL)->energy_uj = 40000000;
	run(4 * S, false);
	is_u64(page.power_mw[DOMAIN_CPU], 130000, "power of a busy node");
	is_u64(page.idle_mw[DOMAIN_CPU], 0, "is not learned as idle power");
	is_int(page.part[0].idle, LEDGER_IDLE_NONE, "  and idle power has no origin");
	run(0, true);
	is_u64(page.part[0].learned_mw, 0, "nor is that of a tainted window");
	tick.sources.part[0].energy_uj = 50000000;
	run(0, false);
	run(0, false);
	is_u64(page.part[0].idle_mw, 50000, "that of an idle window is, by socket");
	is_u64(page.part[1].idle_mw, 40000, "  each its own");
	is_int(page.part[1].idle, LEDGER_IDLE_LEARNED, "  its origin is 'learned'");
	is_u64(tick.book.part[1].idle_mw, 40000, "and it is in force");
	is_u64(page.idle_mw[DOMAIN_CPU], 90000, "for the domain too");
	is_u64(page.part[0].energy_uj, 280000000, "energy is counted by part");

	memset(&parts, 0, sizeof(parts)); /* slurmd is restarted */
	run(4 * S, false);
	is_u64(tick.book.part[0].idle_mw, 50000, "what was learned survives a restart");
	setup.configured_mw = 30000;
	run(4 * S, false);
	is_u64(page.part[0].idle_mw + page.part[1].idle_mw, 30000, "IdleWatts wins");
	is_int(page.part[0].idle, LEDGER_IDLE_CONFIGURED, "  its origin is 'configured'");
	setup.configured_mw = 0;
	run(4 * S, false);
	is_u64(page.part[0].idle_mw, 50000, "without it, what was learned is in force again");
}

static void is_configured(unsigned int part, uint64_t mw, const char *what)
{
	is_u64(page.part[part].idle_mw, mw, what);
	is_int(page.part[part].idle, mw ? LEDGER_IDLE_CONFIGURED : LEDGER_IDLE_NONE,
	       "  and whether it is known");
}

static void test_silent(void)
{
	start();
	setup.configured_mw = 30000;
	show(DOMAIN_CPU, 0, SOURCE_RAPL);
	show(DOMAIN_CPU, 1, SOURCE_RAPL);
	run(4 * S, false);
	is_configured(0, 0, "IdleWatts, and no energy yet: the share of no part is known");
	is_configured(1, 0, "  of neither");
	tick.sources.part[0].energy_uj = 10000000;
	tick.sources.part[1].energy_uj = 20000000;
	run(4 * S, false);
	is_configured(0, 10000, "it is with energy");
	is_configured(1, 20000, "  of both");
	tick.sources.part[0].energy_uj = tick.sources.part[1].energy_uj = 0;
	run(4 * S, false);
	is_configured(0, 10000, "in a tick without energy the share of the last one stays");
	is_configured(1, 20000, "  of both");
	tick.sources.part[1].energy_uj = 20000000;
	run(4 * S, false);
	is_configured(0, 0, "a part without energy beside one with some: not known");
	is_configured(1, 30000, "  the other has all");
	setup.configured_mw = 0;
}

/* A second in which socket S does WORK, and draws 40 W and 1 W for each unit of it. */
static void work(unsigned int s, uint64_t work)
{
	struct tick t = { .dt_ns = S, .busy_ns = 4 * S, .activity = { .by_time = true } };

	t.activity.cpu[s] = (double)(work * S);
	tick.sources.part[s].energy_uj = (40 + work) * 1000000;
	run_tick(&t);
}

/* It is never idle, and its second socket always does the same. */
static void test_never_idle(void)
{
	unsigned int i;

	start();
	show(DOMAIN_CPU, 0, SOURCE_RAPL);
	show(DOMAIN_CPU, 1, SOURCE_RAPL)->energy_uj = 90000000;
	show(DOMAIN_GPU, 0, SOURCE_NVML)->energy_uj = 300000000;
	for (i = 0; i < 20; i++)
		work(0, i % 8 < 4 ? 30 : 60);
	is_int(page.part[0].idle, LEDGER_IDLE_ESTIMATED, "never seen idle: the origin is 'estimated'");
	ok(page.part[0].idle_mw > 39000 && page.part[0].idle_mw < 41000,
	   "  the value is the power without activity");
	is_u64(page.part[0].learned_mw, 0, "  which is not learned");
	ok(page.part[1].idle == LEDGER_IDLE_ESTIMATED && page.part[1].idle_mw > 36000 &&
		   page.part[1].idle_mw < 44000,
	   "a socket whose load never changes has the other's estimate");
	is_int(page.part[2].idle, LEDGER_IDLE_NONE, "a GPU's is not known");
	tick.sources.part[0].energy_uj = tick.sources.part[1].energy_uj = 37000000;
	run(0, false);
	run(0, false);
	is_int(page.part[0].idle, LEDGER_IDLE_LEARNED, "the first idle window ends the estimate");
	is_u64(page.part[0].idle_mw, 37000, "  with the power of that window");
}

/* 128 cores idle at 200 W; the one that a job keeps busy adds 2.3 W, which are the job's. */
static void test_one_core(void)
{
	const struct tick t = { .dt_ns = S, .busy_ns = S, .jobs_ns = S };
	unsigned int i;

	start();
	setup.cpus = 128;
	show(DOMAIN_CPU, 0, SOURCE_RAPL)->energy_uj = 200000000;
	run(0, false);
	tick.sources.part[0].energy_uj = 202300000;
	for (i = 0; i < 600; i++)
		run_tick(&t);
	is_u64(page.part[0].learned_mw, 200000, "with one busy core of 128, learned idle power stays");
	is_u64(tick.book.part[0].idle_mw, 200000, "  and the core's power stays dynamic");
	setup.cpus = 4;
}

static void test_other_source(void)
{
	start();
	show(DOMAIN_CPU, 0, SOURCE_RAPL)->energy_uj = 10000000;
	show(DOMAIN_CPU, 1, SOURCE_RAPL)->energy_uj = 10000000;
	run(0, false);
	run(0, false);
	tick.sources.nparts = 0; /* fails */
	run(0, false);
	is_u64(page.nparts, 2, "a source that fails keeps its parts");
	show(DOMAIN_CPU, 0, SOURCE_CRAY)->energy_uj = 30000000;
	run(4 * S, false);
	is_u64(page.nparts, 1, "another source that takes over has its own parts only");
	is_u64(page.part[0].learned_mw, 0, "  without the first one's idle power");
	is_u64(page.part[0].energy_uj, 30000000, "  and without its energy");
}

static void test_stated(void)
{
	start();
	show(DOMAIN_OTHER, 0, SOURCE_MODEL)->energy_uj = 100000000;
	tick.sources.part[0].idle_mw = 90000;
	run(0, false);
	run(0, false);
	is_u64(page.part[0].idle_mw, 90000, "idle power that the source states");
	is_int(page.part[0].idle, LEDGER_IDLE_STATED, "  its origin is 'stated'");
	is_u64(tick.book.part[0].idle_mw, 90000, "  wins over what was learned");
}

/* A meter that shows 40 J every fourth second. */
static void test_slow(void)
{
	unsigned int i;

	start();
	show(DOMAIN_OTHER, 0, SOURCE_EXTERNAL);
	for (i = 1; i <= 12; i++) {
		tick.sources.part[0].energy_uj = i % 4 ? 0 : 40000000;
		run(0, false);
	}
	is_u64(page.part[0].power_mw, 10000, "power is of the time between two tick.sourcess");
	is_u64(page.part[0].learned_mw, 10000, "and so is what is learned");
	is_u64(tick.book.part[0].used_ns, 4 * S, "and what of the energy is idle");
	tick.sources.part[0].energy_uj = 0;
	for (i = 0; i < 2 * IDLE_SILENT_INTERVALS; i++)
		run(0, false);
	is_u64(page.part[0].power_mw, 0, "silent for long: no power");
	is_u64(page.part[0].learned_mw, 10000, "  but it idles as it did");
	tick.sources.part[0].energy_uj = 1000000;
	run(0, false);
	is_u64(tick.book.part[0].used_ns, 0, "  and its next energy is of the window");
}

/* Energy that is held of a part is booked, whatever measures the part then. */
static void test_held(void)
{
	start();
	show(DOMAIN_CPU, 0, SOURCE_RAPL)->energy_uj = 10000000;
	show(DOMAIN_CPU, 1, SOURCE_RAPL)->energy_uj = 10000000;
	run(0, false);
	page.part[0].held_uj = 700000;
	page.part[1].held_uj = 50000;
	tick.sources.nparts = 0;
	run(0, false);
	is_u64(page.part[0].held_uj + page.part[1].held_uj, 750000, "without parts, what is held stays so");
	show(DOMAIN_CPU, 0, SOURCE_CRAY)->energy_uj = 30000000;
	run(0, false);
	is_u64(page.nparts, 1, "another source has one part for the two");
	is_u64(page.part[0].held_uj, 0, "  and holds nothing");
	is_u64(page.part[0].energy_uj, 30750000, "  what was held of both is booked");
}

int main(void)
{
	test_learn();
	test_silent();
	test_never_idle();
	test_one_core();
	test_other_source();
	test_stated();
	test_slow();
	test_held();
	return done_testing();
}
