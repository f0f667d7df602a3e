/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which sensors are in doubt: cases of each kind, and random nodes. Of each of these is known what its parts
 * used and which sensors are broken, and how.
 *
 *	STANDING_SEED=n repeats a run.
 */
#include "src/libnode/standing.h"

#include <stdlib.h>
#include <string.h>

#include "rnd.h"
#include "src/libutil/clock.h"
#include "src/libutil/util.h"
#include "tap.h"

#define S NSEC_PER_SEC
#define CPUS 16
#define W UINT64_C(1000000) /* microjoules in a second */
#define HISTORIES 2000
#define TICKS 60

static char last_line[400];
static unsigned int lines;

static void note_line(enum logger_level level, const char *line)
{
	(void)level;
	lines++;
	(void)snprintf(last_line, sizeof(last_line), "%s", line);
}

/* --- a node ----------------------------------------------------------------------------- */

struct node {
	struct standing s;
	struct part part[16];
	size_t n;
	uint64_t now_ns;
	uint64_t busy_ns, socket_ns[SOCKETS_MAX]; /* in each tick of a second */
	struct gpu_reading gpu[4];
	size_t ngpus;
	uint64_t lag_ns[SOURCE_N];
};

static const uint32_t socket_cpus[SOCKETS_MAX] = { CPUS / 2, CPUS / 2 };

static struct part *has(struct node *n, enum source_id source, enum domain d, unsigned int unit, uint64_t uj)
{
	struct part *p = &n->part[n->n++];

	*p = (struct part){
		.domain = (uint8_t)(d == DOMAIN_N ? DOMAIN_OTHER : d),
		.unit = (uint8_t)unit,
		.source = (uint8_t)source,
		.scope = d == DOMAIN_N ? SCOPE_NODE : SCOPE_UNIT,
		.energy_uj = uj,
	};
	return p;
}

static void init(struct node *n)
{
	memset(n, 0, sizeof(*n));
	last_line[0] = '\0';
	lines = 0;
}

static void busy(struct node *n, uint64_t socket0_ns, uint64_t socket1_ns)
{
	n->busy_ns = socket0_ns + socket1_ns;
	n->socket_ns[0] = socket0_ns;
	n->socket_ns[1] = socket1_ns;
}

static void seconds(struct node *n, unsigned int count)
{
	unsigned int i;
	size_t g;

	for (i = 0; i < count; i++) {
		const struct standing_tick t = {
			.now_ns = n->now_ns += S,
			.dt_ns = S,
			.busy_ns = n->busy_ns,
			.socket_ns = n->socket_ns,
			.socket_cpus = socket_cpus,
			.cpus = CPUS,
			.gpu = n->gpu,
			.ngpus = n->ngpus,
			.lag_ns = n->lag_ns,
			.part = n->part,
			.nparts = n->n,
		};

		for (g = 0; g < n->ngpus; g++)
			n->gpu[g].until_ns = n->now_ns;
		standing_assess(&n->s, &t);
	}
}

static enum doubt doubt_of(const struct node *n, const struct part *p)
{
	return standing_doubt(&n->s, (enum domain)p->domain, p->unit, (enum source_id)p->source,
			      (enum part_scope)p->scope);
}

/* The same for a step that ends now. */
static enum doubt end_doubt_of(const struct node *n, const struct part *p, uint64_t *ret_lack_ns)
{
	struct part mark = *p;

	standing_mark(&n->s, &mark);
	if (ret_lack_ns)
		*ret_lack_ns = mark.end_lack_ns;
	return (enum doubt)(mark.end_doubt > mark.doubt ? mark.end_doubt : mark.doubt);
}

static void has_gpu(struct node *n, unsigned int unit, uint64_t mw, uint64_t ppm)
{
	struct gpu_reading *g = &n->gpu[n->ngpus++];

	*g = (struct gpu_reading){ .unit = (uint8_t)unit };
	gpu_values_forget(g->value);
	g->value[GPU_VALUE_POWER_MW] = mw;
	g->value[GPU_VALUE_BUSY_PPM] = ppm;
}

/* --- cases ------------------------------------------------------------------------------ */

static void test_package(void)
{
	struct part *p[2];
	struct node n;

	init(&n);
	p[0] = has(&n, SOURCE_RAPL, DOMAIN_CPU, 0, 50 * W);
	p[1] = has(&n, SOURCE_RAPL, DOMAIN_CPU, 1, 0);
	seconds(&n, 9);
	is_int(doubt_of(&n, p[1]), DOUBT_NONE, "a package that shows nothing for 9 s");
	seconds(&n, 2);
	is_int(doubt_of(&n, p[1]), DOUBT_STANDING, "beside one that moves, it stands still after 10 s");
	is_int(doubt_of(&n, p[0]), DOUBT_NONE, "  the other does not");
	is_str(last_line,
	       "rapl: the sensor of CPU 1 stands still although others like it move; jobs' cpu energy is a "
	       "lower bound until it moves",
	       "  one line says so");
	p[0]->energy_uj = 0;
	seconds(&n, 100);
	is_int(doubt_of(&n, p[1]), DOUBT_STANDING, "  it stays in doubt");
	is_int(doubt_of(&n, p[0]), DOUBT_NONE, "nothing works, nothing moves: no doubt of the other");
	p[0]->energy_uj = 50 * W;
	p[1]->energy_uj = 1000 * W;
	seconds(&n, 1);
	is_int(doubt_of(&n, p[1]), DOUBT_NONE, "it jumps ahead by what it missed: no doubt");
	ok(!strcmp(last_line, "rapl: the sensor of CPU 1 moves again") && lines == 2, "  and one line: %s",
	   last_line);

	init(&n);
	p[0] = has(&n, SOURCE_RAPL, DOMAIN_CPU, 0, 5 * W);
	p[1] = has(&n, SOURCE_RAPL, DOMAIN_CPU, 1, 5 * W);
	seconds(&n, 5);
	busy(&n, 0, 4 * S);
	p[0]->energy_uj = p[1]->energy_uj = 0;
	seconds(&n, 12);
	ok(doubt_of(&n, p[0]) == DOUBT_NONE && doubt_of(&n, p[1]) == DOUBT_STANDING,
	   "both stand still: that in doubt whose CPUs work");
}

static void test_alone(void)
{
	struct node n;
	struct part *p;

	init(&n);
	p = has(&n, SOURCE_RAPL, DOMAIN_CPU, 0, 0);
	seconds(&n, 300);
	is_int(doubt_of(&n, p), DOUBT_NONE, "one package, and no CPU works: nobody knows");
	busy(&n, S, 0);
	seconds(&n, 3);
	is_int(doubt_of(&n, p), DOUBT_STANDING, "some seconds of work show it");
	is_int(doubt_of(&n, p), DOUBT_STANDING, "a CPU is no part that one can do without");
}

static void test_dead(void)
{
	struct part *cpu, *dram, *psys;
	struct node n;

	init(&n);
	cpu = has(&n, SOURCE_RAPL, DOMAIN_CPU, 0, 50 * W);
	dram = has(&n, SOURCE_RAPL, DOMAIN_DRAM, 0, 0);
	psys = has(&n, SOURCE_RAPL, DOMAIN_N, 0, 0);
	busy(&n, S, S);
	seconds(&n, 12);
	ok(doubt_of(&n, cpu) == DOUBT_NONE && doubt_of(&n, dram) == DOUBT_DEAD &&
		   doubt_of(&n, psys) == DOUBT_DEAD,
	   "memory and platform that never count are dead: %d %d %d", doubt_of(&n, cpu), doubt_of(&n, dram),
	   doubt_of(&n, psys));
	ok(lines == 2 && strstr(last_line, "never moved"), "  each has a line");
	psys->energy_uj = W;
	seconds(&n, 1);
	is_int(doubt_of(&n, psys), DOUBT_NONE, "one that begins to count");
	psys->energy_uj = 0;
	seconds(&n, 12);
	is_int(doubt_of(&n, psys), DOUBT_STANDING, "  stands still when it stops, and is not dead");

	init(&n);
	(void)has(&n, SOURCE_RAPL, DOMAIN_CPU, 0, 50 * W);
	(void)has(&n, SOURCE_RAPL, DOMAIN_DRAM, 0, 5 * W);
	dram = has(&n, SOURCE_RAPL, DOMAIN_DRAM, 1, 0);
	seconds(&n, 12);
	is_int(doubt_of(&n, dram), DOUBT_STANDING, "the memory of one socket is missing, not dead");
}

static void test_gpu(void)
{
	static const struct {
		uint64_t mw, ppm, uj;
		enum doubt doubt;
		const char *what;
	} t[] = {
		{ 300000, 950000, 0, DOUBT_STANDING, "a GPU that works at 300 W" },
		{ 300000, 950000, 300 * W, DOUBT_NONE, "  one that moves" },
		{ 70000, 0, 0, DOUBT_STANDING, "one that is awake, at 70 W" },
		{ 5000, 0, 0, DOUBT_NONE, "one that sleeps" },
		{ GPU_VALUE_UNKNOWN, 0, 0, DOUBT_NONE, "one that sleeps and has no power reading" },
		{ GPU_VALUE_UNKNOWN, 900000, 0, DOUBT_STANDING, "one that works and has none" },
		{ GPU_VALUE_UNKNOWN, GPU_VALUE_UNKNOWN, 0, DOUBT_NONE, "one of which nothing else is known" },
	};
	struct node n;
	struct part *p;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		init(&n);
		busy(&n, 8 * S, 0);
		p = has(&n, SOURCE_NVML, DOMAIN_GPU, 0, t[i].uj);
		(void)has(&n, SOURCE_NVML, DOMAIN_GPU, 1, 500 * W);
		has_gpu(&n, 0, t[i].mw, t[i].ppm);
		seconds(&n, 60);
		is_int(doubt_of(&n, p), t[i].doubt, t[i].what);
	}
}

static void test_slow(void)
{
	struct node n;
	struct part *p;

	init(&n);
	busy(&n, 8 * S, 8 * S);
	(void)has(&n, SOURCE_RAPL, DOMAIN_CPU, 0, 200 * W);
	p = has(&n, SOURCE_REDFISH, DOMAIN_N, 0, 0);
	p->step_uj = UINT64_C(3600000000000);
	seconds(&n, 3 * 3600);
	is_int(doubt_of(&n, p), DOUBT_NONE, "a BMC's counter of kWh may stand still for hours");
	seconds(&n, 8 * 3600);
	is_int(doubt_of(&n, p), DOUBT_DEAD, "  but not while the parts use 2 kWh");

	init(&n);
	p = has(&n, SOURCE_EXTERNAL, DOMAIN_N, 0, 0);
	seconds(&n, 3600);
	is_int(doubt_of(&n, p), DOUBT_NONE, "a site's meter in steps of 0.1 kWh");
	seconds(&n, 4 * 3600);
	is_int(doubt_of(&n, p), DOUBT_STANDING, "  that shows nothing for 5 h");

	init(&n);
	busy(&n, 8 * S, 0);
	n.lag_ns[SOURCE_HWMON] = 5 * S;
	p = has(&n, SOURCE_HWMON, DOMAIN_CPU, 0, 0);
	seconds(&n, 14);
	is_int(doubt_of(&n, p), DOUBT_NONE, "a sensor that lags by 5 s has more time");
	seconds(&n, 2);
	is_int(doubt_of(&n, p), DOUBT_STANDING, "  but not for ever");
}

static void test_power(void)
{
	struct node n;
	struct part *p;
	int i;

	init(&n);
	n.lag_ns[SOURCE_IPMI] = 5 * S;
	p = has(&n, SOURCE_IPMI, DOMAIN_N, 0, 210 * W);
	p->quality = QUALITY_INTEGRATED;
	p->shown = 210000;
	seconds(&n, 1000);
	is_int(doubt_of(&n, p), DOUBT_NONE, "an idle node may show the same power for long");
	busy(&n, 8 * S, 8 * S);
	seconds(&n, 30);
	is_int(doubt_of(&n, p), DOUBT_NONE, "under load a BMC needs some time");
	seconds(&n, 60);
	is_int(doubt_of(&n, p), DOUBT_STANDING, "  but a power that never changes is none");
	p->shown = 400000;
	seconds(&n, 1);
	is_int(doubt_of(&n, p), DOUBT_NONE, "  until it changes");

	for (i = 0; i < 400; i++) {
		busy(&n, i / 100 % 2 ? 8 * S : 0, 0);
		p->shown = i / 100 % 2 ? 301000 : 212000;
		seconds(&n, 1);
	}
	is_int(doubt_of(&n, p), DOUBT_NONE, "one that follows the load");
}

static void test_lost(void)
{
	struct node n;
	struct part *p;

	init(&n);
	p = has(&n, SOURCE_NVML, DOMAIN_GPU, 0, 100 * W);
	seconds(&n, 3);
	p->energy_uj = 0;
	p->is_unread = true;
	seconds(&n, 14);
	is_int(doubt_of(&n, p), DOUBT_NONE, "one that cannot be read for 14 s may come back");
	seconds(&n, 2);
	is_int(doubt_of(&n, p), DOUBT_LOST, "  then it is lost");
	p->is_unread = false;
	seconds(&n, 1);
	is_int(doubt_of(&n, p), DOUBT_NONE, "  until it can be read");
	p->is_late = true;
	seconds(&n, 16);
	is_int(doubt_of(&n, p), DOUBT_SILENT, "one without new readings is silent");
	p->is_late = false;
	p->is_partial = true;
	p->energy_uj = W;
	seconds(&n, 1);
	is_int(doubt_of(&n, p), DOUBT_PARTIAL, "one says that it lacks something");
	p->is_partial = false;
	p->is_unsure = true;
	seconds(&n, 1);
	is_int(doubt_of(&n, p), DOUBT_PARTIAL, "one that may have wrapped unseen");
	p->is_unsure = false;
	seconds(&n, 1);
	is_int(doubt_of(&n, p), DOUBT_NONE, "  until the next reading");
	p->is_unsure = p->is_unread = true;
	seconds(&n, 1);
	is_int(doubt_of(&n, p), DOUBT_PARTIAL, "one of whose counters may have wrapped, and one is unread");
	p->is_unsure = p->is_unread = false;
	seconds(&n, 1);
	n.n = 0;
	seconds(&n, 16);
	is_int(doubt_of(&n, p), DOUBT_LOST, "one that is not there any more");
	is_u64(lines, 0, "the source has logged it");
}

static void test_restart(void)
{
	struct node n;
	struct part *p;

	init(&n);
	p = has(&n, SOURCE_RAPL, DOMAIN_CPU, 0, 0);
	standing_restore(&n.s, p, true, DOUBT_STANDING);
	seconds(&n, 2);
	is_int(doubt_of(&n, p), DOUBT_STANDING, "what stood still before a restart of slurmd still does");
	standing_restore(&n.s, p, true, DOUBT_NONE);
	is_int(doubt_of(&n, p), DOUBT_STANDING, "  the ledger does not change it later");
	standing_forget(&n.s, SOURCE_RAPL);
	is_int(doubt_of(&n, p), DOUBT_NONE, "a source that is not used is forgotten");
}

/* A step that ends before the verdict lacks what it used since the counter last moved. */
static void test_end(void)
{
	uint64_t lack_ns;
	struct node n;
	struct part *p;

	init(&n);
	p = has(&n, SOURCE_RAPL, DOMAIN_CPU, 0, 50 * W);
	busy(&n, 4 * S, 0);
	seconds(&n, 5);
	is_int(end_doubt_of(&n, p, &lack_ns), DOUBT_NONE, "a step that ends while the counter moves");
	p->energy_uj = 0;
	seconds(&n, 2);
	is_int(end_doubt_of(&n, p, &lack_ns), DOUBT_SILENT, "it stops: a step that ends now lacks energy");
	is_u64(lack_ns, 2 * S, "  of two seconds");
	is_int(doubt_of(&n, p), DOUBT_NONE, "  one that goes on may get it later");
	p->is_unread = true;
	seconds(&n, 1);
	is_int(end_doubt_of(&n, p, &lack_ns), DOUBT_LOST, "it cannot be read");
	p->is_unread = false;
	p->energy_uj = 200 * W;
	seconds(&n, 1);
	is_int(end_doubt_of(&n, p, &lack_ns), DOUBT_NONE, "the counter moves again");
	p->energy_uj = 0;
	seconds(&n, 9);
	is_int(end_doubt_of(&n, p, &lack_ns), DOUBT_NONE, "it is known now that it may pause");

	init(&n);
	p = has(&n, SOURCE_RAPL, DOMAIN_CPU, 0, 50 * W);
	seconds(&n, 5);
	p->energy_uj = 0;
	seconds(&n, 5);
	is_int(end_doubt_of(&n, p, NULL), DOUBT_NONE, "a counter that stands still while nothing works");

	init(&n);
	p = has(&n, SOURCE_REDFISH, DOMAIN_N, 0, 300 * W);
	busy(&n, 4 * S, 0);
	seconds(&n, 5);
	p->energy_uj = 0;
	seconds(&n, 20);
	is_int(end_doubt_of(&n, p, NULL), DOUBT_NONE, "a BMC may take its time");

	init(&n);
	p = has(&n, SOURCE_NVML, DOMAIN_GPU, 0, 300 * W);
	has_gpu(&n, 0, 300000, 950000);
	seconds(&n, 5);
	p->energy_uj = 0;
	seconds(&n, 2);
	is_int(end_doubt_of(&n, p, NULL), DOUBT_NONE, "a GPU that shows nothing for 2 s");
	seconds(&n, 1);
	is_int(end_doubt_of(&n, p, NULL), DOUBT_SILENT, "  for 3 s, while it works");
}

/* --- random nodes ----------------------------------------------------------------------- */

enum fault { FAULT_NONE, FAULT_FROZEN, FAULT_UNREAD, FAULT_LATE, FAULT_GONE, FAULTS };

struct plan {
	enum fault fault;
	unsigned int from, until; /* ticks with the fault */
	unsigned int pause;	  /* it shows energy every so many ticks */
	uint64_t idle_uj, load_uj;
	uint64_t missed_uj, pending_uj;
	unsigned int still; /* ticks since it last showed energy */
	uint64_t still_busy_ns;
	bool has_shown;
	unsigned int shown;  /* ticks with energy */
	unsigned int worked; /* ticks, with the fault */
};

static void plan_part(struct plan *p, bool is_gpu, bool is_slow)
{
	p->fault = rnd(2) ? FAULT_NONE : (enum fault)rnd(FAULTS);
	p->from = rnd(2) ? 0 : (unsigned int)rnd(TICKS / 2);
	p->until = rnd(2) ? TICKS : p->from + (unsigned int)rnd(TICKS);
	p->pause = is_slow ? 1 + (unsigned int)rnd(6) : 1 + (unsigned int)rnd(3);
	/* idle packages draw watts; a GPU may sleep */
	p->idle_uj = is_gpu && rnd(2) ? 0 : 1 + rnd(30 * W);
	p->load_uj = rnd(200 * W);
}

/* What the part shows in tick T of a second, in which it used UJ. */
static void show(struct plan *p, unsigned int t, uint64_t uj, struct part *ret)
{
	bool is_bad = p->fault && t >= p->from && t < p->until;

	ret->energy_uj = 0;
	ret->is_unread = is_bad && p->fault == FAULT_UNREAD;
	ret->is_late = is_bad && p->fault == FAULT_LATE;
	p->pending_uj += uj;
	if (is_bad) {
		p->missed_uj += uj;
	} else if (t % p->pause == 0 || p->fault) {
		ret->energy_uj = p->pending_uj;
		p->pending_uj = 0;
	}
	if (is_bad && p->fault == FAULT_FROZEN)
		p->pending_uj = 0; /* lost for good */
	p->has_shown |= ret->energy_uj != 0;
	p->shown += ret->energy_uj != 0;
}

/* Steps that end beside a frozen counter, and of these, those that nothing marks. */
static unsigned int ends, unmarked, unmarked_before;

/* Returns false if a step that ends now lacks the energy of a CPU for seconds and nobody says so. */
static bool note_end(const struct node *n, struct plan *p, const struct part *part)
{
	bool is_marked = end_doubt_of(n, part, NULL) != DOUBT_NONE;

	p->still = part->energy_uj ? 0 : p->still + 1;
	p->still_busy_ns = part->energy_uj ? 0 : p->still_busy_ns + n->socket_ns[part->unit];
	if (part->domain != DOMAIN_CPU || p->fault != FAULT_FROZEN || !p->has_shown || !p->still ||
	    p->still_busy_ns < S)
		return true;
	ends++;
	unmarked += !is_marked;
	unmarked_before += doubt_of(n, part) == DOUBT_NONE;
	return is_marked || p->still < 4 || p->shown < STANDING_END_MOVES;
}

/*
 * A random node with its broken sensors. Returns 1 if a healthy part was ever in doubt, 2 if a broken one
 * that lacked much was in none at the end, 4 if a step that ended lacked much and nothing said so.
 */
static unsigned int run_history(void)
{
	struct plan plan[8] = { 0 };
	bool works = false;
	unsigned int bad = 0;
	unsigned int t, i;
	size_t sockets = 1 + rnd(2);
	size_t gpus = rnd(3);
	struct node n;

	init(&n);
	for (i = 0; i < sockets; i++)
		(void)has(&n, SOURCE_RAPL, DOMAIN_CPU, i, 0);
	for (i = 0; i < sockets && rnd(2); i++)
		(void)has(&n, SOURCE_RAPL, DOMAIN_DRAM, i, 0);
	for (i = 0; i < gpus; i++) {
		(void)has(&n, SOURCE_NVML, DOMAIN_GPU, i, 0);
		has_gpu(&n, i, 0, 0);
	}
	for (i = 0; i < n.n; i++)
		plan_part(&plan[i], n.part[i].domain == DOMAIN_GPU, false);
	for (t = 0; t < TICKS; t++) {
		const size_t all = n.n;

		works = rnd(8) ? works : !works;
		/* noise of the system, or load */
		busy(&n, works ? rnd(8 * S) : rnd(S / 100),
		     sockets > 1 ? (works ? rnd(8 * S) : rnd(S / 100)) : 0);
		for (i = 0; i < all; i++) {
			bool is_gpu = n.part[i].domain == DOMAIN_GPU;
			bool is_load = works || (is_gpu && rnd(4) == 0);
			uint64_t uj = plan[i].idle_uj + (is_load ? plan[i].load_uj : 0);

			show(&plan[i], t, uj, &n.part[i]);
			plan[i].worked += plan[i].fault && t >= plan[i].from && works;
			if (is_gpu) {
				struct gpu_reading *g = &n.gpu[n.part[i].unit];

				g->value[GPU_VALUE_POWER_MW] = rnd(5) ? uj / 1000 : GPU_VALUE_UNKNOWN;
				g->value[GPU_VALUE_BUSY_PPM] = uj > STANDING_GPU_MW * 1000 && is_load ?
								       900000 :
								       0;
			}
		}
		seconds(&n, 1);
		for (i = 0; i < all; i++)
			if (!plan[i].fault && end_doubt_of(&n, &n.part[i], NULL))
				bad |= 1;
			else if (!note_end(&n, &plan[i], &n.part[i]))
				bad |= 4;
	}
	for (i = 0; i < n.n; i++) {
		const struct plan *p = &plan[i];
		bool is_broken = p->fault && p->until == TICKS && p->from + 25 < TICKS &&
				 p->fault != FAULT_GONE;
		bool is_gpu = n.part[i].domain == DOMAIN_GPU;

		/* 15 s at the most until a fault is seen; a GPU that sleeps and is not used has none */
		if (is_broken && doubt_of(&n, &n.part[i]) == DOUBT_NONE && p->worked > 15 &&
		    (!is_gpu || p->fault != FAULT_FROZEN || p->idle_uj > STANDING_GPU_MW * 1000))
			bad |= 2;
	}
	return bad;
}

int main(void)
{
	const char *text = getenv("STANDING_SEED");
	uint64_t seed = text ? strtoull(text, NULL, 0) : clock_wall_ns();
	unsigned int accused = 0, missed = 0, silent = 0;
	unsigned int i;

	logger_set_sink(note_line);
	test_package();
	test_alone();
	test_dead();
	test_gpu();
	test_slow();
	test_power();
	test_lost();
	test_restart();
	test_end();
	rng = seed;
	diag("%d random nodes; again with STANDING_SEED=%" PRIu64, HISTORIES, seed);
	for (i = 0; i < HISTORIES; i++) {
		unsigned int bad = run_history();

		accused += bad & 1;
		missed += bad >> 1 & 1;
		silent += bad >> 2 & 1;
	}
	is_u64(accused, 0, "a healthy part is never in doubt");
	is_u64(missed, 0, "a broken one always is");
	diag("%u ends of steps beside a frozen counter: %u not marked, %u by the verdict alone", ends,
	     unmarked, unmarked_before);
	is_u64(silent, 0, "no step lacks the energy of seconds without a mark");
	return done_testing();
}
