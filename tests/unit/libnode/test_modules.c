/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Superchips: what CPU, memory, GPU and module show is booked so that each joule counts once, and what
 * cannot be known is unknown. First single nodes, then random ones, whose true energy is known.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "rnd.h"
#include "src/libnode/sources.h"
#include "src/libutil/clock.h"
#include "src/libutil/util.h"
#include "tap.h"

#define MODULES_MAX 4
#define SIM_GPUS_MAX 4
#define SIM_NODES 2000
#define SIM_TICKS 24
#define DRAIN_TICKS 8 /* at the end, in which nothing is used and all sensors answer */

/* A sensor that shows the energy since its last good reading. */
struct meter {
	uint64_t *truth[2 * MODULES_MAX + SIM_GPUS_MAX + MODULES_MAX + 1]; /* of which it is the sum */
	size_t n;
	struct part part;
	uint64_t shown_uj;
	bool has_base;
};

/* What one source has. */
struct sensor {
	bool is_there, fails;
	unsigned int period; /* ticks between two new values */
	size_t n;
	struct meter meter[16];
};

static struct {
	unsigned int modules, gpus, tick;
	unsigned int module_of[SIM_GPUS_MAX];
	/* the truth so far, in uJ */
	uint64_t cpu[MODULES_MAX], dram[MODULES_MAX], loss[MODULES_MAX], gpu[SIM_GPUS_MAX], fans;
	struct sensor sensor[SOURCE_N];
	uint64_t now_ns;
	/* what was booked */
	uint64_t booked[DOMAIN_N], booked_gpu[GPUS_MAX], disagreement_uj;
	struct sources_reading r;
} sim;

static int sim_open(enum source_id id, struct source **ret, struct errmsg *err)
{
	if (!sim.sensor[id].is_there)
		return errmsg_errno(err, -ENODEV, "none");
	*ret = (struct source *)&sim.sensor[id];
	return 0;
}

static uint64_t truth_of(const struct meter *m)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < m->n; i++)
		sum += *m->truth[i];
	return sum;
}

static int sim_read(struct source *s, uint64_t dt_ns, uint32_t busy_ppm, struct source_state *state,
		    struct reading *ret)
{
	struct sensor *sensor = (struct sensor *)s;
	bool is_fresh = sim.tick % sensor->period == 0;
	size_t i;

	(void)dt_ns, (void)busy_ppm;
	if (sensor->fails)
		return -EIO;
	for (i = 0; i < sensor->n; i++) {
		struct meter *m = &sensor->meter[i];
		struct part *p = &ret->part[ret->nparts++];

		if (is_fresh) {
			m->part.energy_uj = truth_of(m) - m->shown_uj;
			m->part.until_ns = sim.now_ns;
			m->shown_uj += m->part.energy_uj;
		}
		*p = m->part;
		p->is_new_base = !m->has_base;
		m->has_base = true;
		m->part.energy_uj = 0;
	}
	return source_state_put(state, "sim", 1);
}

static void sim_close(struct source *s)
{
	(void)s;
}

#define SIM(ID)                                                                                     \
	static int open_##ID(const struct source_env *env, struct source **ret, struct errmsg *err) \
	{                                                                                           \
		(void)env;                                                                          \
		return sim_open(SOURCE_##ID, ret, err);                                             \
	}                                                                                           \
	static const struct source_ops ops_##ID = {                                                 \
		.id = SOURCE_##ID, .open = open_##ID, .read = sim_read, .close = sim_close          \
	}
SIM(EXTERNAL);
SIM(HWMON);
SIM(NVML);
static const struct source_ops *const all[] = { &ops_EXTERNAL, &ops_HWMON, &ops_NVML };

/* --- a node ------------------------------------------------------------------------------ */

static struct meter *add_meter(enum source_id id, enum part_scope scope, unsigned int module, enum domain d,
			       unsigned int unit, uint64_t *truth)
{
	struct sensor *s = &sim.sensor[id];
	struct meter *m = &s->meter[s->n++];

	s->is_there = true;
	if (!s->period)
		s->period = 1;
	m->part = (struct part){
		.domain = (uint8_t)d,
		.unit = (uint8_t)unit,
		.scope = (uint8_t)scope,
		.module = (uint8_t)module,
	};
	if (truth)
		m->truth[m->n++] = truth;
	return m;
}

static void contains_module(struct meter *m, unsigned int module)
{
	unsigned int g;

	m->truth[m->n++] = &sim.cpu[module];
	m->truth[m->n++] = &sim.dram[module];
	m->truth[m->n++] = &sim.loss[module];
	for (g = 0; g < sim.gpus; g++)
		if (sim.module_of[g] == module)
			m->truth[m->n++] = &sim.gpu[g];
}

static void add_grace(unsigned int module)
{
	(void)add_meter(SOURCE_HWMON, SCOPE_UNIT, 0, DOMAIN_CPU, module, &sim.cpu[module]);
	(void)add_meter(SOURCE_HWMON, SCOPE_UNIT, 0, DOMAIN_DRAM, module, &sim.dram[module]);
}

static struct meter *add_module(enum source_id id, unsigned int module, enum domain rest, unsigned int unit)
{
	struct meter *m = add_meter(id, SCOPE_MODULE, 1 + module, rest, unit, NULL);

	contains_module(m, module);
	return m;
}

static void add_gpu(unsigned int gpu)
{
	(void)add_meter(SOURCE_NVML, SCOPE_UNIT, 1 + sim.module_of[gpu], DOMAIN_GPU, gpu, &sim.gpu[gpu]);
}

static void add_node(void)
{
	struct meter *m = add_meter(SOURCE_EXTERNAL, SCOPE_NODE, 0, DOMAIN_OTHER, 0, &sim.fans);
	unsigned int i;

	for (i = 0; i < sim.modules; i++)
		contains_module(m, i);
}

static void begin(unsigned int modules, unsigned int gpus)
{
	unsigned int g;

	memset(&sim, 0, sizeof(sim));
	sim.modules = modules;
	sim.gpus = gpus;
	sim.now_ns = 1000 * NSEC_PER_SEC;
	for (g = 0; g < gpus; g++)
		sim.module_of[g] = g % modules;
}

static struct sources *sim_sources(void)
{
	const struct source_env env = { .sys_root = "/" };
	struct sources *s = NULL;
	struct errmsg err = { 0 };

	if (sources_open("auto", all, ARRAY_SIZE(all), &env, &s, &err) < 0)
		exit(99);
	return s;
}

static void tick(struct sources *s, struct source_state *state)
{
	uint32_t i;

	sim.now_ns += NSEC_PER_SEC;
	sources_read(s, sim.now_ns, NSEC_PER_SEC, 0, state, &sim.r);
	sim.tick++;
	sim.disagreement_uj += sim.r.disagreement_uj;
	for (i = 0; i < sim.r.nparts; i++) {
		const struct part *p = &sim.r.part[i];

		sim.booked[p->domain] += p->energy_uj;
		if (p->domain == DOMAIN_GPU)
			sim.booked_gpu[p->unit] += p->energy_uj;
	}
}

/* A second of 100 W CPU, 20 W memory, 350 W GPU each and 30 W loss for each module; fans 50 W. */
static void use_watts(void)
{
	unsigned int i;

	for (i = 0; i < sim.modules; i++) {
		sim.cpu[i] += 100000000;
		sim.dram[i] += 20000000;
		sim.loss[i] += 30000000;
	}
	for (i = 0; i < sim.gpus; i++)
		sim.gpu[i] += 350000000;
	sim.fans += 50000000;
}

static uint64_t sum(const uint64_t *uj, size_t n)
{
	uint64_t s = 0;

	while (n--)
		s += uj[n];
	return s;
}

/* --- single nodes ------------------------------------------------------------------------ */

static const char *watts_text(char *buf, size_t size, unsigned int ticks)
{
	size_t used = 0;
	unsigned int d;

	for (d = 0; d < DOMAIN_N; d++) {
		int n = sim.r.from[d] == SOURCE_N && !sim.booked[d] ?
				snprintf(buf + used, size - used, "%s%s ?", used ? ", " : "",
					 domain_name((enum domain)d)) :
				snprintf(buf + used, size - used, "%s%s %llu", used ? ", " : "",
					 domain_name((enum domain)d),
					 (unsigned long long)(sim.booked[d] / 1000000 / ticks));
		used += n > 0 ? (size_t)n : 0;
	}
	return buf;
}

enum has {
	HAS_GRACE = 1,
	HAS_MODULE = 2,
	HAS_GPU = 4,	  /* a value of its own */
	HAS_GPU_REST = 8, /* only the module's value is there for the GPU */
	HAS_NODE = 16,
	HAS_HWMON_MODULE = 32,
	HAS_GRACE_0 = 64, /* sensors of the first socket only */
};

static void build(unsigned int has)
{
	unsigned int i;

	for (i = 0; i < sim.modules; i++)
		if (has & HAS_GRACE || (has & HAS_GRACE_0 && !i))
			add_grace(i);
	for (i = 0; i < sim.modules; i++)
		if (has & HAS_HWMON_MODULE)
			add_module(SOURCE_HWMON, i, DOMAIN_OTHER, 0)->part.quality = QUALITY_INTEGRATED;
	for (i = 0; i < sim.gpus; i++)
		if (has & HAS_GPU)
			add_gpu(i);
		else if (has & HAS_GPU_REST)
			(void)add_module(SOURCE_NVML, sim.module_of[i], DOMAIN_GPU, i);
	for (i = 0; i < sim.modules; i++)
		if (has & HAS_MODULE)
			(void)add_module(SOURCE_NVML, i, DOMAIN_OTHER, 0);
	if (has & HAS_NODE)
		add_node();
}

static void test_nodes(void)
{
	static const struct {
		const char *what;
		unsigned int modules, gpus, has;
		const char *watts;
	} t[] = {
		{ "GH200: all are measured", 1, 1, HAS_GRACE | HAS_MODULE | HAS_GPU,
		  "cpu 100, dram 20, gpu 350, other 30" },
		{ "without Grace's sensors, other is the rest of the module", 1, 1, HAS_MODULE | HAS_GPU,
		  "cpu ?, dram ?, gpu 350, other 150" },
		{ "without a value of the GPU, it is the module less Grace", 1, 1, HAS_GRACE | HAS_GPU_REST,
		  "cpu 100, dram 20, gpu 380, other ?" },
		{ "nothing but the module: the GPU is unknown", 1, 1, HAS_GPU_REST,
		  "cpu ?, dram ?, gpu ?, other 500" },
		{ "hwmon's module, without NVML", 1, 1, HAS_GRACE | HAS_HWMON_MODULE,
		  "cpu 100, dram 20, gpu ?, other 380" },
		{ "two that show the module", 1, 1, HAS_GRACE | HAS_HWMON_MODULE | HAS_MODULE | HAS_GPU,
		  "cpu 100, dram 20, gpu 350, other 30" },
		{ "the node has its modules", 1, 1, HAS_GRACE | HAS_MODULE | HAS_GPU | HAS_NODE,
		  "cpu 100, dram 20, gpu 350, other 80" },
		{ "the node and a GPU without a value", 1, 1, HAS_GRACE | HAS_GPU_REST | HAS_NODE,
		  "cpu 100, dram 20, gpu 380, other 50" },
		{ "four GH200", 4, 4, HAS_GRACE | HAS_MODULE | HAS_GPU,
		  "cpu 400, dram 80, gpu 1400, other 120" },
		{ "GB200: a module of two GPUs", 1, 2, HAS_GRACE | HAS_MODULE | HAS_GPU,
		  "cpu 100, dram 20, gpu 700, other 30" },
		{ "GB200: two GPUs without values are unknown, their module counts once", 1, 2,
		  HAS_GRACE | HAS_GPU_REST, "cpu 100, dram 20, gpu ?, other 730" },
		{ "two modules, the sensors of one socket: which parts these are is unknown", 2, 2,
		  HAS_GRACE_0 | HAS_MODULE | HAS_GPU, "cpu 100, dram 20, gpu 700, other ?" },
	};
	struct source_state state[SOURCE_N];
	char text[128];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct sources *s;
		unsigned int k;

		begin(t[i].modules, t[i].gpus);
		build(t[i].has);
		memset(state, 0, sizeof(state));
		s = sim_sources();
		tick(s, state);
		for (k = 0; k < 10; k++) {
			use_watts();
			tick(s, state);
		}
		is_str(watts_text(text, sizeof(text), 10), t[i].watts, t[i].what);
		sources_close(s);
	}
}

/* slurmd is restarted: the rest goes on, and none of it is lost. */
static void test_restart(void)
{
	struct source_state state[SOURCE_N];
	struct sources *s;
	unsigned int k;

	begin(1, 1);
	build(HAS_GRACE | HAS_MODULE | HAS_GPU);
	memset(state, 0, sizeof(state));
	s = sim_sources();
	tick(s, state);
	use_watts();
	tick(s, state);
	sources_close(s);
	s = sim_sources();
	for (k = 0; k < 3; k++) {
		use_watts();
		tick(s, state);
	}
	is_u64(sum(sim.booked, DOMAIN_N), 4 * UINT64_C(500000000), "a restart loses no energy of the module");
	sources_close(s);
}

/* --- random nodes ------------------------------------------------------------------------ */

static void use_random(void)
{
	unsigned int i;

	for (i = 0; i < sim.modules; i++) {
		sim.cpu[i] += rnd(300000000);
		sim.dram[i] += rnd(60000000);
		sim.loss[i] += rnd(80000000);
	}
	for (i = 0; i < sim.gpus; i++)
		sim.gpu[i] += rnd(1000000000);
	sim.fans += rnd(500000000);
}

static void fail_some(bool may_fail)
{
	static unsigned int left;
	unsigned int id;

	/* for less than REMAINDER_HOLD_NS, after which a part is no longer waited for */
	left = left ? left - 1 : rnd(4);
	for (id = 0; id < SOURCE_N; id++)
		sim.sensor[id].fails = may_fail && left && (sim.sensor[id].fails || !rnd(3));
}

static uint64_t modules_uj(void)
{
	return sum(sim.cpu, sim.modules) + sum(sim.dram, sim.modules) + sum(sim.loss, sim.modules) +
	       sum(sim.gpu, sim.gpus);
}

/* Returns what is wrong with a random node; NULL: nothing. */
static const char *run_random(unsigned int has, bool may_fail, bool is_slow)
{
	struct source_state state[SOURCE_N] = { 0 };
	struct sources *s = sim_sources();
	bool is_unclear = has & HAS_GRACE_0 && sim.modules > 1;
	const char *wrong = NULL;
	uint64_t whole_uj;
	unsigned int k, g;

	tick(s, state); /* all bases */
	for (k = 0; k < SIM_TICKS; k++) {
		bool is_last = k >= SIM_TICKS - DRAIN_TICKS;

		if (!is_last)
			use_random();
		fail_some(may_fail && !is_last);
		for (g = 0; is_last && g < SOURCE_N; g++)
			sim.sensor[g].period = 1;
		tick(s, state);
		whole_uj = modules_uj() + (has & HAS_NODE ? sim.fans : 0);
		/* the time of parts that come late is not known exactly, so a slow module may be ahead */
		if (sum(sim.booked, DOMAIN_N) > whole_uj && !(may_fail && is_slow))
			wrong = "more is booked than was used";
	}
	whole_uj = modules_uj() + (has & HAS_NODE ? sim.fans : 0) + sim.disagreement_uj;
	if (sum(sim.booked, DOMAIN_N) > whole_uj)
		wrong = "more was booked than was used";
	if (has & (HAS_NODE | HAS_MODULE | HAS_HWMON_MODULE) && (has & HAS_NODE || !is_unclear) &&
	    sum(sim.booked, DOMAIN_N) < whole_uj)
		wrong = "a joule of the whole is missing";
	if (has & HAS_GRACE && (sim.booked[DOMAIN_CPU] != sum(sim.cpu, sim.modules) ||
				sim.booked[DOMAIN_DRAM] != sum(sim.dram, sim.modules)))
		wrong = "CPU or memory is not what they used";
	for (g = 0; g < sim.gpus; g++)
		if (has & HAS_GPU && sim.booked_gpu[g] != sim.gpu[g])
			wrong = "a GPU has not what it used";
	if (!(has & (HAS_GRACE | HAS_GRACE_0)) &&
	    (sim.r.from[DOMAIN_CPU] != SOURCE_N || sim.booked[DOMAIN_CPU]))
		wrong = "CPUs without a sensor are not unknown";
	if (!(has & HAS_GPU) && (!(has & HAS_GPU_REST) || !(has & HAS_GRACE) || sim.gpus > sim.modules) &&
	    !(has & HAS_GRACE_0) && (sim.gpus > sim.modules ? sim.booked_gpu[0] : sim.booked[DOMAIN_GPU]))
		wrong = "a GPU without a value is not unknown";
	if (sim.disagreement_uj && !(may_fail && is_slow))
		wrong = "parts and wholes agree, but not here";
	sources_close(s);
	return wrong;
}

static void test_random(void)
{
	unsigned int failures = 0;
	unsigned int i;
	const char *seed = getenv("MODULES_SEED");

	rng = seed ? strtoull(seed, NULL, 10) : clock_wall_ns();
	diag("%d random nodes; again with MODULES_SEED=%" PRIu64, SIM_NODES, rng);
	for (i = 0; i < SIM_NODES; i++) {
		unsigned int modules = 1 + rnd(MODULES_MAX);
		unsigned int has = rnd(128);
		bool may_fail = rnd(2);
		bool is_slow = rnd(2);
		const char *wrong;

		begin(modules, modules + rnd(SIM_GPUS_MAX + 1 - modules));
		if (has & HAS_GRACE)
			has &= ~(unsigned int)HAS_GRACE_0;
		build(has);
		if (is_slow) {
			/* a whole's sensor is the slowest: remainder.h */
			sim.sensor[SOURCE_NVML].period = has & (HAS_NODE | HAS_HWMON_MODULE) ? 1 : 1 + rnd(4);
			sim.sensor[SOURCE_EXTERNAL].period = 1 + rnd(6);
		}
		wrong = run_random(has, may_fail, is_slow);
		if (!wrong)
			continue;
		if (!failures++)
			diag("%u modules, %u GPUs, has 0x%x, fails %d, slow %d: %s", sim.modules, sim.gpus,
			     has, may_fail, is_slow, wrong);
	}
	ok(!failures, "%u random nodes: each joule once, the unknown unknown; %u wrong", SIM_NODES, failures);
}

int main(void)
{
	test_nodes();
	test_restart();
	test_random();
	return done_testing();
}
