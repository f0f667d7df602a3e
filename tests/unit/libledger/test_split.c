/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a tick's energy is split among jobs and steps: by cases, and by invariants over random ticks. */
#include "src/libledger/account.h"
#include "src/libledger/split.h"
#include "src/libutil/apportion.h"

#include <errno.h>
#include <stdlib.h>

#include "rnd.h"
#include "src/libutil/clock.h"
#include "src/libutil/util.h"
#include "tap.h"

#define S NSEC_PER_SEC
#define MAX_JOBS 10
#define MAX_LINES 40
#define HISTORIES 20000
#define WORK_WORDS 8192

/* A line whose activity is its CPU time, on socket 0. */
#define L(job_, kind_, cpus_, mem_, from_, until_, busy_)                                                \
	{                                                                                                \
		.job = (job_), .kind = (kind_), .alloc = { .cpus = (cpus_), .mem_mb = (mem_) },          \
		.from_ns = (from_), .until_ns = (until_), .busy_ns = (busy_), .cpu_weight = { (busy_) }, \
		.mem_weight = (busy_),                                                                   \
	}

/* --- apportion() ------------------------------------------------------------------ */

static const struct {
	const char *name;
	uint64_t total;
	uint64_t weight[4];
	uint64_t share[4];
	uint64_t rest;
} apportion_cases[] = {
	{ "nobody has a weight", 7, { 0, 0, 0, 0 }, { 0, 0, 0, 0 }, 7 },
	{ "nothing to share", 0, { 1, 2, 3, 4 }, { 0, 0, 0, 0 }, 0 },
	{ "one takes all", 7, { 0, 5, 0, 0 }, { 0, 7, 0, 0 }, 0 },
	{ "ties go to the lower index", 2, { 1, 1, 1, 1 }, { 1, 1, 0, 0 }, 0 },
	{ "a tie, but not among the largest", 10, { 3, 3, 1, 0 }, { 4, 4, 2, 0 }, 0 },
	{ "the largest remainder first", 10, { 1, 2, 4, 0 }, { 1, 3, 6, 0 }, 0 },
	{ "no weight, no unit", 3, { 0, 1, 0, 1 }, { 0, 2, 0, 1 }, 0 },
	{ "all bits",
	  UINT64_MAX,
	  { UINT64_MAX, UINT64_MAX, UINT64_MAX, 0 },
	  { UINT64_MAX / 3, UINT64_MAX / 3, UINT64_MAX / 3, 0 },
	  0 },
	{ "a unit against all bits",
	  UINT64_MAX,
	  { UINT64_MAX - 1, 1, 0, 0 },
	  { UINT64_MAX - 1, 1, 0, 0 },
	  0 },
};

static void test_apportion(void)
{
	uint64_t share[4];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(apportion_cases); i++) {
		is_u64(apportion(apportion_cases[i].total, apportion_cases[i].weight, 4, share),
		       apportion_cases[i].rest, apportion_cases[i].name);
		ok(!memcmp(share, apportion_cases[i].share, sizeof(share)), "shares: %s",
		   apportion_cases[i].name);
	}
	is_u64(apportion(5, NULL, 0, NULL), 5, "no lines at all");
}

/* --- who gets what: one domain (CPU), 10 W idle, 1 s, 8 cores --------------------------- */

/* clang-format off */
static const struct {
	const char *name;
	uint64_t measured_uj;
	uint64_t node_busy_ns;
	struct split_alloc job[2];
	struct split_line line[4];
	size_t nlines;
	uint64_t static_uj[4], total_uj[4];
	uint64_t unallocated_uj, system_uj;
} who[] = {
	{ .name = "an idle node without jobs", .measured_uj = 10000000,
	  .unallocated_uj = 10000000 },
	{ .name = "nobody computes but power is above idle", .measured_uj = 12000000,
	  .unallocated_uj = 10000000, .system_uj = 2000000 },
	{ .name = "less than idle power: all static", .measured_uj = 800,
	  .job = { { .cpus = 8 } }, .nlines = 1,
	  .line = { L(0, LINE_BATCH, 8, 0, 0, S, S) },
	  .static_uj = { 800 }, .total_uj = { 800 } },
	{ .name = "static by cores, dynamic by CPU time, the system's to system",
	  .measured_uj = 30000000, .node_busy_ns = 4 * S,
	  .job = { { .cpus = 2 }, { .cpus = 4 } }, .nlines = 2,
	  .line = { L(0, LINE_BATCH, 2, 0, 0, S, S), L(1, LINE_BATCH, 4, 0, 0, S, 2 * S) },
	  .static_uj = { 2500000, 5000000 }, .total_uj = { 7500000, 15000000 },
	  .unallocated_uj = 2500000, .system_uj = 5000000 },
	{ .name = "a job of half the window holds half",
	  .measured_uj = 10000000, .job = { { .cpus = 8 } }, .nlines = 1,
	  .line = { L(0, LINE_BATCH, 8, 0, S / 2, 5 * S, 0) },
	  .static_uj = { 5000000 }, .total_uj = { 5000000 }, .unallocated_uj = 5000000 },
	{ .name = "a step holds its cores, batch the rest, extern nothing",
	  .measured_uj = 10000000, .job = { { .cpus = 8 } }, .nlines = 3,
	  .line = { L(0, LINE_STEP, 6, 0, 0, S, 0), L(0, LINE_BATCH, 8, 0, 0, S, 0),
		    L(0, LINE_EXTERN, 8, 0, 0, S, 0) },
	  .static_uj = { 7500000, 2500000, 0 }, .total_uj = { 7500000, 2500000, 0 } },
	{ .name = "without batch extern holds the rest, also after the step",
	  .measured_uj = 10000000, .job = { { .cpus = 8 } }, .nlines = 2,
	  .line = { L(0, LINE_STEP, 8, 0, 0, S / 2, 0), L(0, LINE_EXTERN, 8, 0, 0, S, 0) },
	  .static_uj = { 5000000, 5000000 }, .total_uj = { 5000000, 5000000 } },
	{ .name = "batch and interactive share the rest by presence",
	  .measured_uj = 10000000, .job = { { .cpus = 8 } }, .nlines = 2,
	  .line = { L(0, LINE_BATCH, 8, 0, 0, S, 0), L(0, LINE_BATCH, 8, 0, S / 2, S, 0) },
	  .static_uj = { 6666667, 3333333 }, .total_uj = { 6666667, 3333333 } },
	{ .name = "a lonely step holds all of its job",
	  .measured_uj = 10000000, .job = { { .cpus = 8 } }, .nlines = 1,
	  .line = { L(0, LINE_STEP, 1, 0, 0, S, 0) },
	  .static_uj = { 10000000 }, .total_uj = { 10000000 } },
	{ .name = "a lonely step of no cores too",
	  .measured_uj = 10000000, .job = { { .cpus = 8 } }, .nlines = 1,
	  .line = { L(0, LINE_STEP, 0, 0, 0, S, 0) },
	  .static_uj = { 10000000 }, .total_uj = { 10000000 } },
	{ .name = "overlapping steps are scaled to the job",
	  .measured_uj = 10000000, .job = { { .cpus = 4 } }, .nlines = 3,
	  .line = { L(0, LINE_STEP, 4, 0, 0, S, 0), L(0, LINE_STEP, 4, 0, 0, S, 0),
		    L(0, LINE_BATCH, 4, 0, 0, S, 0) },
	  .static_uj = { 2500000, 2500000, 0 }, .total_uj = { 2500000, 2500000, 0 },
	  .unallocated_uj = 5000000 },
	{ .name = "an oversubscribed node is scaled too",
	  .measured_uj = 10000000, .job = { { .cpus = 8 }, { .cpus = 8 } }, .nlines = 2,
	  .line = { L(0, LINE_BATCH, 8, 0, 0, S, 0), L(1, LINE_BATCH, 8, 0, 0, S, 0) },
	  .static_uj = { 5000000, 5000000 }, .total_uj = { 5000000, 5000000 } },
	{ .name = "lines with more CPU time than the node leave nothing to system",
	  .measured_uj = 20000000, .node_busy_ns = 1, .job = { { .cpus = 8 } }, .nlines = 1,
	  .line = { L(0, LINE_BATCH, 8, 0, 0, S, 7 * S) },
	  .static_uj = { 10000000 }, .total_uj = { 20000000 } },
	{ .name = "processes that the extern step adopted are the job's",
	  .measured_uj = 20000000, .node_busy_ns = 4 * S, .job = { { .cpus = 8 } }, .nlines = 2,
	  .line = { L(0, LINE_BATCH, 8, 0, 0, S, S), L(0, LINE_EXTERN, 8, 0, 0, S, 2 * S) },
	  .static_uj = { 10000000, 0 }, .total_uj = { 12500000, 5000000 },
	  .system_uj = 2500000 },
	{ .name = "a step outside the window gets dynamic only",
	  .measured_uj = 20000000, .node_busy_ns = S, .job = { { .cpus = 8 } }, .nlines = 1,
	  .line = { L(0, LINE_BATCH, 8, 0, 2 * S, 3 * S, S) },
	  .total_uj = { 10000000 }, .unallocated_uj = 10000000 },
};
/* clang-format on */

static void test_who(void)
{
	struct account line[4];
	struct account free_;
	struct account sys;
	uint64_t work[128];
	size_t i;
	size_t k;

	for (i = 0; i < ARRAY_SIZE(who); i++) {
		const struct part part = { .domain = DOMAIN_CPU,
					   .source = SOURCE_RAPL,
					   .energy_uj = who[i].measured_uj,
					   .idle_mw = 10000 };
		struct split_input in = {
			.from_ns = 0,
			.until_ns = S,
			.node = { .cpus = 8 },
			.cpu_weight = { who[i].node_busy_ns },
			.part = &part,
			.nparts = 1,
			.job = who[i].job,
			.njobs = 2,
			.line = who[i].line,
			.nlines = who[i].nlines,
		};
		bool same;

		is_int(split_tick(&in, work, line, &free_, &sys), 0, who[i].name);
		same = free_.total_uj[0] == who[i].unallocated_uj && sys.total_uj[0] == who[i].system_uj;
		for (k = 0; k < who[i].nlines; k++)
			same = same && line[k].static_uj[0] == who[i].static_uj[k] &&
			       line[k].total_uj[0] == who[i].total_uj[k];
		if (ok(same, "shares: %s", who[i].name))
			continue;
		for (k = 0; k < who[i].nlines; k++)
			diag("line %zu: %" PRIu64 " of it static %" PRIu64, k, line[k].total_uj[0],
			     line[k].static_uj[0]);
		diag("unallocated %" PRIu64 " system %" PRIu64, free_.total_uj[0], sys.total_uj[0]);
	}
}

static void test_memory(void)
{
	const struct split_alloc jobs[] = { { .cpus = 4, .mem_mb = 6000 }, { .cpus = 4 } };
	const struct part part = { .domain = DOMAIN_DRAM, .energy_uj = 8000, .idle_mw = 1000 };
	struct split_line lines[] = { L(0, LINE_BATCH, 4, 6000, 0, S, 0), L(1, LINE_BATCH, 4, 0, 0, S, 0) };
	struct split_input in = { .until_ns = S,
				  .node = { .cpus = 8, .mem_mb = 8000 },
				  .part = &part,
				  .nparts = 1,
				  .job = jobs,
				  .njobs = 2,
				  .line = lines,
				  .nlines = 2 };
	struct account line[2];
	struct account free_;
	struct account sys;
	uint64_t work[128];

	(void)split_tick(&in, work, line, &free_, &sys);
	is_u64(line[0].static_uj[DOMAIN_DRAM], 4800, "DRAM by memory");
	is_u64(line[1].static_uj[DOMAIN_DRAM], 3200, "memory not known: by cores");
	in.node.mem_mb = 0;
	(void)split_tick(&in, work, line, &free_, &sys);
	is_u64(line[0].static_uj[DOMAIN_DRAM], 4000, "the node's not known: all by cores");
}

static void test_refused(void)
{
	const struct split_alloc job = { .cpus = 1 };
	struct part part = { .domain = DOMAIN_N };
	const struct split_instance instance = { .gi = GPU_INSTANCES_MAX };
	struct split_line l = { .job = 1, .until_ns = S };
	struct split_input in = { .from_ns = S, .until_ns = S, .node = { .cpus = 1 } };
	struct account line = { .total_uj = { 77 } };
	struct account other = { .total_uj = { 77 } };
	uint64_t work[32];

	is_int(split_tick(&in, work, &line, &other, &other), -EINVAL, "an empty window");
	in.from_ns = S + 1;
	is_int(split_tick(&in, work, &line, &other, &other), -EINVAL, "a backward window");
	in.from_ns = 0;
	in.job = &job;
	in.njobs = 1;
	in.line = &l;
	in.nlines = 1;
	is_int(split_tick(&in, work, &line, &other, &other), -EINVAL, "a job out of range");
	l.job = 0;
	in.part = &part;
	in.nparts = 1;
	is_int(split_tick(&in, work, &line, &other, &other), -EINVAL, "a domain out of range");
	part = (struct part){ .source = SOURCE_N };
	is_int(split_tick(&in, work, &line, &other, &other), -EINVAL, "a source out of range");
	part.source = SOURCE_NVML;
	in.instance = &instance;
	in.ninstances = 1;
	is_int(split_tick(&in, work, &line, &other, &other), -EINVAL, "an instance out of range");
	ok(line.total_uj[0] == 77 && other.total_uj[0] == 77, "nothing was written");
}

/* --- properties of random ticks --------------------------------------------------------- */

#define MAX_PARTS 24
#define MAX_INSTANCES 60

struct tick {
	struct split_alloc job[MAX_JOBS];
	struct split_line line[MAX_LINES];
	struct part part[MAX_PARTS];
	struct split_instance instance[MAX_INSTANCES];
	struct split_input in;
};

struct result {
	struct account line[MAX_LINES];
	struct account unallocated, system;
};

static void add_part(struct tick *t, enum domain d, unsigned int unit, bool huge)
{
	t->part[t->in.nparts++] = (struct part){
		.domain = (uint8_t)d,
		.unit = (uint8_t)unit,
		.source = (uint8_t)rnd(SOURCE_N),
		.energy_uj = rnd(8) ? rnd(huge ? UINT64_C(1) << 50 : 400000000) : 0,
		.idle_mw = rnd(4) ? rnd(huge ? UINT64_MAX : 200000) : 0,
		.used_ns = rnd(4) ? 0 : rnd(20 * S),
	};
}

static void random_parts(struct tick *t, unsigned int sockets, bool huge)
{
	unsigned int gpus = (unsigned int)rnd(9);
	unsigned int i;

	for (i = 0; i < sockets; i++) {
		if (rnd(8))
			add_part(t, DOMAIN_CPU, i, huge);
		if (rnd(2))
			add_part(t, DOMAIN_DRAM, i, huge);
	}
	for (i = 0; i < gpus; i++)
		add_part(t, DOMAIN_GPU, (unsigned int)rnd(GPUS_MAX + 2), huge);
	if (rnd(2))
		add_part(t, DOMAIN_OTHER, 0, huge);
	t->in.part = t->part;
}

/* Instances of some of the GPUs, most of them active. */
static void random_instances(struct tick *t)
{
	size_t n = rnd(2) ? 0 : rnd(MAX_INSTANCES + 1);
	size_t i;

	for (i = 0; i < n; i++)
		t->instance[i] = (struct split_instance){
			.unit = (uint8_t)rnd(GPUS_MAX),
			.gi = (uint8_t)rnd(GPU_INSTANCES_MAX),
			.size_ppm = (uint32_t)rnd(1000001),
			.activity = rnd(3) ? (uint32_t)rnd(rnd(4) ? 1000001 : UINT64_C(1) << 32) : 0,
		};
	t->in.instance = t->instance;
	t->in.ninstances = n;
}

static void random_alloc(struct split_alloc *a, uint64_t cpus, uint64_t mem_mb, unsigned int sockets)
{
	unsigned int i;

	a->cpus = (uint32_t)rnd(cpus);
	a->mem_mb = rnd(3) ? rnd(mem_mb) : 0;
	for (i = 0; i < sockets && rnd(3); i++)
		a->socket_cpus[i] = (uint32_t)rnd((uint64_t)a->cpus + 1);
	for (i = 0; i < GPUS_MAX; i++)
		a->gpu_ppm[i] = rnd(3) ? 0 : (uint32_t)rnd(1200000);
	for (i = 0; i < GPUS_MAX; i++)
		a->gpu_instances[i] = a->gpu_ppm[i] && rnd(2) ? (uint16_t)rnd(1u << GPU_INSTANCES_MAX) : 0;
}

static void random_line(struct tick *t, struct split_line *l, uint64_t span, bool huge, unsigned int sockets)
{
	unsigned int i;

	l->job = (uint32_t)rnd(t->in.njobs);
	l->kind = (enum line_kind)rnd(3);
	random_alloc(&l->alloc, (uint64_t)t->job[l->job].cpus + 2, t->job[l->job].mem_mb + 1, sockets);
	l->from_ns = rnd(2) ? 0 : t->in.from_ns + rnd(span);
	l->until_ns = rnd(2) ? UINT64_MAX : l->from_ns + rnd(span);
	l->busy_ns = rnd(3) ? rnd(huge ? UINT64_MAX : 8 * span) : 0;
	l->mem_weight = rnd(huge ? UINT64_MAX : 1000000);
	l->by_counters = rnd(2);
	for (i = 0; i < sockets; i++)
		l->cpu_weight[i] = rnd(3) ? rnd(huge ? UINT64_MAX : 8 * span) : 0;
}

static void random_tick(struct tick *t)
{
	bool huge = !rnd(16);
	uint64_t span = huge ? UINT64_C(10000000000000000) : 3 * S;
	unsigned int sockets = 1 + (unsigned int)rnd(4);
	size_t i;

	memset(t, 0, sizeof(*t));
	t->in.from_ns = rnd(span);
	t->in.until_ns = t->in.from_ns + 1 + rnd(rnd(4) ? span : 5);
	t->in.node.cpus = (uint32_t)rnd(huge ? UINT32_MAX : 257);
	t->in.node.mem_mb = rnd(5) ? rnd(huge ? UINT64_MAX : 1000000) : 0;
	t->in.mem_weight = rnd(huge ? UINT64_MAX : 10000000);
	t->in.by_counters = rnd(2);
	for (i = 0; i < sockets; i++) {
		t->in.node.socket_cpus[i] = (uint32_t)rnd(129);
		t->in.cpu_weight[i] = rnd(huge ? UINT64_MAX : 64 * span);
	}
	random_parts(t, sockets, huge);
	random_instances(t);
	t->in.njobs = rnd(MAX_JOBS + 1);
	t->in.nlines = t->in.njobs ? rnd(MAX_LINES + 1) : 0;
	for (i = 0; i < t->in.njobs; i++)
		random_alloc(&t->job[i], huge ? UINT32_MAX : 65, huge ? UINT64_MAX : 300000, sockets);
	for (i = 0; i < t->in.nlines; i++)
		random_line(t, &t->line[i], span, huge, sockets);
	t->in.job = t->job;
	t->in.line = t->line;
}

static bool run(const struct tick *t, struct result *r)
{
	static uint64_t work[WORK_WORDS];

	return split_work_size(t->in.njobs, t->in.nlines) <= sizeof(work) &&
	       split_tick(&t->in, work, r->line, &r->unallocated, &r->system) == 0;
}

static void add_share(struct account *to, const struct account *s)
{
	struct account a = { .by_counters_uj = s->by_counters_uj, .by_activity_uj = s->by_activity_uj };

	memcpy(a.total_uj, s->total_uj, sizeof(a.total_uj));
	memcpy(a.static_uj, s->static_uj, sizeof(a.static_uj));
	memcpy(a.source_uj, s->source_uj, sizeof(a.source_uj));
	account_add(to, &a);
}

static bool conserves(const struct tick *t, const struct result *r)
{
	struct account measured = { 0 };
	struct account sum = { 0 };
	size_t i;

	for (i = 0; i < t->in.nparts; i++) {
		measured.total_uj[t->part[i].domain] += t->part[i].energy_uj;
		measured.source_uj[t->part[i].source] += t->part[i].energy_uj;
	}
	for (i = 0; i < t->in.nlines; i++)
		add_share(&sum, &r->line[i]);
	add_share(&sum, &r->unallocated);
	add_share(&sum, &r->system);
	return !memcmp(sum.total_uj, measured.total_uj, sizeof(sum.total_uj)) &&
	       !memcmp(sum.source_uj, measured.source_uj, sizeof(sum.source_uj)) &&
	       (t->in.by_counters || !sum.by_counters_uj) && (t->in.ninstances || !sum.by_activity_uj) &&
	       sum.by_activity_uj <= sum.total_uj[DOMAIN_GPU];
}

static uint64_t dynamic_uj(const struct account *s, enum domain d)
{
	return s->total_uj[d] - s->static_uj[d];
}

/* The line or its job has a GPU, whose dynamic energy is its owner's, busy or not. */
static bool has_gpu(const struct tick *t, const struct split_line *l)
{
	unsigned int g;

	for (g = 0; g < GPUS_MAX; g++)
		if (l->alloc.gpu_ppm[g] || t->job[l->job].gpu_ppm[g])
			return true;
	return false;
}

static bool static_is_sane(const struct tick *t, const struct result *r)
{
	unsigned int d;
	size_t i;

	for (d = 0; d < DOMAIN_N; d++) {
		if (r->system.static_uj[d])
			return false;
		if (d < DOMAIN_GPU && dynamic_uj(&r->unallocated, d))
			return false;
		for (i = 0; i < t->in.nlines; i++)
			if (r->line[i].static_uj[d] > r->line[i].total_uj[d])
				return false;
	}
	for (i = 0; i < t->in.nlines; i++) {
		const struct account *s = &r->line[i];

		if (t->line[i].busy_ns)
			continue; /* idle, and yet it got more? */
		if (dynamic_uj(s, DOMAIN_CPU) || dynamic_uj(s, DOMAIN_DRAM) ||
		    (dynamic_uj(s, DOMAIN_OTHER) && !has_gpu(t, &t->line[i])))
			return false;
	}
	return true;
}

/* At most one unit per part apart in each of the two parts: ties go by index. */
static bool is_close(const struct tick *t, const struct account *a, const struct account *b)
{
	int64_t parts[DOMAIN_N] = { 0 };
	unsigned int d;
	size_t i;

	for (i = 0; i < t->in.nparts; i++)
		parts[t->part[i].domain]++;
	for (d = 0; d < DOMAIN_N; d++) {
		int64_t st = (int64_t)(a->static_uj[d] - b->static_uj[d]);
		int64_t dyn = (int64_t)(dynamic_uj(a, d) - dynamic_uj(b, d));

		if (st < -parts[d] || st > parts[d] || dyn < -parts[d] || dyn > parts[d])
			return false;
	}
	return true;
}

static bool order_does_not_matter(const struct tick *t, const struct result *r)
{
	struct tick p = *t;
	struct result q;
	size_t place[MAX_LINES];
	size_t i;

	p.in.line = p.line;
	p.in.part = p.part;
	for (i = 0; i < p.in.nlines; i++)
		place[i] = i;
	for (i = p.in.nlines; i > 1; i--) {
		size_t k = rnd(i);
		size_t tmp = place[k];

		place[k] = place[i - 1];
		place[i - 1] = tmp;
	}
	for (i = 0; i < p.in.nlines; i++)
		p.line[i] = t->line[place[i]];
	if (!run(&p, &q))
		return false;
	for (i = 0; i < p.in.nlines; i++)
		if (!is_close(t, &q.line[i], &r->line[place[i]]))
			return false;
	return is_close(t, &q.unallocated, &r->unallocated) && is_close(t, &q.system, &r->system);
}

/* The same job a second time: each line gets what its twin gets. */
static bool equals_get_equal(const struct tick *t)
{
	struct tick p = *t;
	struct result q;
	size_t twin[MAX_LINES];
	size_t n = t->in.nlines;
	size_t i;

	if (!t->in.njobs || t->in.njobs == MAX_JOBS || n > MAX_LINES / 2)
		return true;
	p.in.job = p.job;
	p.in.line = p.line;
	p.in.part = p.part;
	p.job[p.in.njobs] = p.job[0];
	for (i = 0; i < n; i++) {
		if (p.line[i].job)
			continue;
		twin[p.in.nlines] = i;
		p.line[p.in.nlines] = p.line[i];
		p.line[p.in.nlines++].job = (uint32_t)p.in.njobs;
	}
	p.in.njobs++;
	if (!run(&p, &q))
		return false;
	for (i = n; i < p.in.nlines; i++)
		if (!is_close(t, &q.line[i], &q.line[twin[i]]))
			return false;
	return true;
}

static void test_properties(void)
{
	const char *env = getenv("SPLIT_SEED");
	uint64_t seed = env ? strtoull(env, NULL, 0) : clock_wall_ns() | 1;
	unsigned int bad[5] = { 0 };
	unsigned int first = 0;
	unsigned int i;

	diag("%d random ticks; again with SPLIT_SEED=%" PRIu64, HISTORIES, seed);
	rng = seed ? seed : 1;
	for (i = 0; i < HISTORIES; i++) {
		struct tick t;
		struct result r;

		random_tick(&t);
		if (!run(&t, &r)) {
			bad[0]++;
			continue;
		}
		bad[1] += !conserves(&t, &r);
		bad[2] += !static_is_sane(&t, &r);
		bad[3] += !order_does_not_matter(&t, &r);
		bad[4] += !equals_get_equal(&t);
		if (!first && bad[1] + bad[2] + bad[3] + bad[4])
			first = i + 1;
	}
	is_u64(bad[0], 0, "every tick can be split");
	is_u64(bad[1], 0, "lines + unallocated + system == measured, in every domain");
	is_u64(bad[2], 0, "static is a part of the total, and all of it for the idle");
	is_u64(bad[3], 0, "the order of the lines changes nothing");
	is_u64(bad[4], 0, "equal jobs get equal energy");
	if (first)
		diag("first failure in tick %u", first);
}

/*
 * Without idle power, all energy of the part is dynamic, and each account says of how much of it that is so.
 */
static void test_no_idle(void)
{
	struct part part[] = {
		{ .domain = DOMAIN_CPU, .source = SOURCE_RAPL, .energy_uj = 9000000 },
		{ .domain = DOMAIN_DRAM, .source = SOURCE_RAPL, .energy_uj = 1000000, .idle_mw = 500 },
	};
	const struct split_alloc job = { .cpus = 4 };
	const struct split_line line = { .kind = LINE_STEP,
					 .alloc = job,
					 .until_ns = S,
					 .busy_ns = 1,
					 .cpu_weight = { 1 },
					 .mem_weight = 1 };
	const struct split_input in = { .until_ns = S,
					.node = { .cpus = 8 },
					.cpu_weight = { 3 },
					.mem_weight = 1,
					.part = part,
					.nparts = ARRAY_SIZE(part),
					.job = &job,
					.njobs = 1,
					.line = &line,
					.nlines = 1 };
	_cleanup_free_ void *work = malloc(split_work_size(1, 1));
	struct account of_line, unallocated, system, sum = { 0 };

	require(work && split_tick(&in, work, &of_line, &unallocated, &system) == 0);
	is_u64(of_line.static_uj[DOMAIN_CPU], 0, "no idle power: no static energy");
	is_u64(of_line.no_idle_uj[DOMAIN_CPU], 3000000, "  of energy of which nobody knows");
	is_u64(of_line.no_idle_uj[DOMAIN_DRAM], 0, "  but the memory's idle power is known");
	account_add(&sum, &of_line);
	account_add(&sum, &unallocated);
	account_add(&sum, &system);
	is_u64(sum.no_idle_uj[DOMAIN_CPU], 9000000, "  the accounts add up to the part");
	part[0].idle_mw = 1000;
	require(split_tick(&in, work, &of_line, &unallocated, &system) == 0);
	account_add(&sum, &of_line);
	is_u64(account_idle_unknown_uj(&sum), 9000000 + of_line.total_uj[DOMAIN_CPU],
	       "  once unknown, the domain's static energy stays so");
}

static void test_account(void)
{
	struct account a = { .total_uj = { 1, 2, 3, 4 },
			     .static_uj = { 1, 1, 0, 0 },
			     .source_uj = { 3, 7 },
			     .co2e_ng = { 2, 7 },
			     .market_ng = 5,
			     .factor_uj = { 1, 2, 3, 4 } };
	struct account b = a;

	account_add(&b, &a);
	is_u64(account_total_uj(&b), 20, "accounts add up");
	is_u64(account_static_uj(&b), 4, "static too");
	is_u64(b.source_uj[1], 14, "by source");
	is_u64(account_co2e_ng(&b), 18, "and emissions");
	is_u64(b.market_ng, 10, "of both kinds");
	is_u64(b.factor_uj[FACTOR_DEFAULT], 8, "and where the factors were from");
}

int main(void)
{
	test_apportion();
	test_refused();
	test_who();
	test_memory();
	test_account();
	test_no_idle();
	test_properties();
	return done_testing();
}
