/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parts of the node, each split among those that hold it and those that are active there: two
 * sockets of 4 CPUs, a window of 1 s. test_split.c has the rules that all parts share.
 */
#include "src/libledger/split.h"

#include "src/libutil/clock.h"
#include "src/libutil/util.h"
#include "tap.h"

#define S NSEC_PER_SEC
#define MAX_WHO 3

/* What one line gets of one domain. */
struct got {
	uint64_t static_uj, dynamic_uj;
};

struct node_case {
	const char *name;
	struct part part[3];
	size_t nparts;
	struct split_alloc job[MAX_WHO];
	struct split_line line[MAX_WHO];
	size_t nlines;
	uint64_t cpu_weight[2];
	uint64_t mem_weight;
	enum domain domain; /* that is looked at */
	struct got line_got[MAX_WHO];
	struct got unallocated, system;
	uint64_t by_counters_uj[MAX_WHO]; /* of the lines */
};

/* clang-format off */
#define CPU(unit_, uj, mw)                                                                       \
	{ .domain = DOMAIN_CPU, .unit = (unit_), .energy_uj = (uj), .idle_mw = (mw) }
#define DRAM(unit_, uj, mw)                                                                      \
	{ .domain = DOMAIN_DRAM, .unit = (unit_), .energy_uj = (uj), .idle_mw = (mw) }
#define GPU(unit_, uj, mw)                                                                       \
	{ .domain = DOMAIN_GPU, .unit = (unit_), .energy_uj = (uj), .idle_mw = (mw) }
#define OTHER(uj, mw) { .domain = DOMAIN_OTHER, .energy_uj = (uj), .idle_mw = (mw) }
#define ALLOC(cpus_, ...) { .cpus = (cpus_), .mem_mb = 1000, __VA_ARGS__ }
#define ON(first, second) .socket_cpus = { (first), (second) }
#define LINE(job_, kind_, alloc_, ...)                                                           \
	{ .job = (job_), .kind = (kind_), .alloc = alloc_, .until_ns = S, __VA_ARGS__ }
#define BUSY(first, second) .busy_ns = (first) + (second), .cpu_weight = { (first), (second) }

static const struct node_case nodes[] = {
	{ .name = "each socket is split among those on it",
	  .part = { CPU(0, 3000, 1), CPU(1, 9000, 1) }, .nparts = 2,
	  .job = { ALLOC(4, ON(4, 0)), ALLOC(2, ON(0, 2)) },
	  .line = { LINE(0, LINE_BATCH, ALLOC(4, ON(4, 0)), BUSY(100, 0)),
		    LINE(1, LINE_BATCH, ALLOC(2, ON(0, 2)), BUSY(0, 100)) },
	  .nlines = 2, .cpu_weight = { 200, 100 }, .domain = DOMAIN_CPU,
	  .line_got = { { 1000, 1000 }, { 500, 8000 } },
	  .unallocated = { 500, 0 }, .system = { 0, 1000 } },
	{ .name = "CPUs of unknown place lie on both",
	  .part = { CPU(0, 1000, 1), CPU(1, 1000, 1) }, .nparts = 2,
	  .job = { ALLOC(1) }, .line = { LINE(0, LINE_BATCH, ALLOC(1)) }, .nlines = 1,
	  .domain = DOMAIN_CPU, .line_got = { { 250, 0 } }, .unallocated = { 1750, 0 } },
	{ .name = "a step holds its part of each socket, batch the rest",
	  .part = { CPU(0, 1000, 1), CPU(1, 1000, 1) }, .nparts = 2,
	  .job = { ALLOC(8, ON(4, 4)) },
	  .line = { LINE(0, LINE_STEP, ALLOC(3, ON(3, 0))),
		    LINE(0, LINE_BATCH, ALLOC(8, ON(4, 4))) },
	  .nlines = 2, .domain = DOMAIN_CPU, .line_got = { { 750, 0 }, { 1250, 0 } } },
	{ .name = "the only part is of all sockets",
	  .part = { CPU(0, 4000, 2) }, .nparts = 1,
	  .job = { ALLOC(4, ON(0, 4)) },
	  .line = { LINE(0, LINE_BATCH, ALLOC(4, ON(0, 4)), BUSY(0, 50)) }, .nlines = 1,
	  .cpu_weight = { 50, 50 }, .domain = DOMAIN_CPU,
	  .line_got = { { 1000, 1000 } }, .unallocated = { 1000, 0 }, .system = { 0, 1000 } },
	{ .name = "and so is one of a socket without processors",
	  .part = { CPU(0, 0, 0), CPU(5, 4000, 2) }, .nparts = 2,
	  .job = { ALLOC(4, ON(0, 4)) },
	  .line = { LINE(0, LINE_BATCH, ALLOC(4, ON(0, 4)), BUSY(0, 50)) }, .nlines = 1,
	  .cpu_weight = { 50, 50 }, .domain = DOMAIN_CPU,
	  .line_got = { { 1000, 1000 } }, .unallocated = { 1000, 0 }, .system = { 0, 1000 } },
	{ .name = "a suspended line has its static share only, whatever it weighs",
	  .part = { CPU(0, 2000, 1) }, .nparts = 1,
	  .job = { ALLOC(4), ALLOC(4) },
	  .line = { LINE(0, LINE_BATCH, ALLOC(4), .cpu_weight = { 70 }),
		    LINE(1, LINE_BATCH, ALLOC(4), BUSY(10, 0)) },
	  .nlines = 2, .cpu_weight = { 10 }, .domain = DOMAIN_CPU,
	  .line_got = { { 500, 0 }, { 500, 1000 } } },
	{ .name = "  nor does its memory weigh",
	  .part = { DRAM(0, 2000, 1) }, .nparts = 1,
	  .job = { ALLOC(4), ALLOC(4) },
	  .line = { LINE(0, LINE_BATCH, ALLOC(4), .mem_weight = 7000),
		    LINE(1, LINE_BATCH, ALLOC(4), BUSY(1, 0), .mem_weight = 10) },
	  .nlines = 2, .mem_weight = 20, .domain = DOMAIN_DRAM,
	  .line_got = { { 125, 0 }, { 125, 500 } },
	  .unallocated = { 750, 0 }, .system = { 0, 500 } },
	{ .name = "memory is where its CPUs are",
	  .part = { DRAM(0, 1000, 1), DRAM(1, 5000, 1) }, .nparts = 2,
	  .job = { ALLOC(4, ON(4, 0)), ALLOC(4, ON(0, 4)) },
	  .line = { LINE(0, LINE_BATCH, ALLOC(4, ON(4, 0)), BUSY(9, 0), .mem_weight = 500),
		    LINE(1, LINE_BATCH, ALLOC(4, ON(0, 4)), BUSY(0, 1), .mem_weight = 300) },
	  .nlines = 2, .cpu_weight = { 9, 2 }, .mem_weight = 900, .domain = DOMAIN_DRAM,
	  .line_got = { { 250, 0 }, { 250, 3000 } },
	  .unallocated = { 1500, 0 }, .system = { 0, 1000 } },
	{ .name = "a GPU is its owner's, busy or not",
	  .part = { GPU(0, 3000, 1), GPU(3, 5000, 1) }, .nparts = 2,
	  .job = { ALLOC(4, .gpu_ppm = { [3] = 1000000 }) },
	  .line = { LINE(0, LINE_BATCH, ALLOC(4, .gpu_ppm = { [3] = 1000000 })) }, .nlines = 1,
	  .domain = DOMAIN_GPU, .line_got = { { 1000, 4000 } }, .unallocated = { 1000, 2000 } },
	{ .name = "a slice of it is a slice of its energy",
	  .part = { GPU(0, 8000, 4) }, .nparts = 1,
	  .job = { ALLOC(1, .gpu_ppm = { 500000 }), ALLOC(1, .gpu_ppm = { 250000 }) },
	  .line = { LINE(0, LINE_BATCH, ALLOC(1, .gpu_ppm = { 500000 })),
		    LINE(1, LINE_BATCH, ALLOC(1, .gpu_ppm = { 250000 })) },
	  .nlines = 2, .domain = DOMAIN_GPU, .line_got = { { 2000, 2000 }, { 1000, 1000 } },
	  .unallocated = { 1000, 1000 } },
	{ .name = "a step has its GPU, extern the job's other one",
	  .part = { GPU(0, 3000, 1), GPU(1, 5000, 1) }, .nparts = 2,
	  .job = { ALLOC(4, .gpu_ppm = { 1000000, 1000000 }) },
	  .line = { LINE(0, LINE_STEP, ALLOC(4, .gpu_ppm = { 0, 1000000 })),
		    LINE(0, LINE_EXTERN, ALLOC(4, .gpu_ppm = { 1000000, 1000000 })) },
	  .nlines = 2, .domain = DOMAIN_GPU, .line_got = { { 1000, 4000 }, { 1000, 2000 } } },
	{ .name = "the rest of the node: idle by CPUs, else as the other parts",
	  .part = { CPU(0, 3000, 0), GPU(0, 1000, 0), OTHER(9000, 1) }, .nparts = 3,
	  .job = { ALLOC(2), ALLOC(2, .gpu_ppm = { 1000000 }) },
	  .line = { LINE(0, LINE_BATCH, ALLOC(2), BUSY(10, 0)),
		    LINE(1, LINE_BATCH, ALLOC(2, .gpu_ppm = { 1000000 })) },
	  .nlines = 2, .cpu_weight = { 15 }, .domain = DOMAIN_OTHER,
	  .line_got = { { 250, 4000 }, { 250, 2000 } },
	  .unallocated = { 500, 0 }, .system = { 0, 2000 } },
	{ .name = "nothing else is measured: by CPU activity",
	  .part = { OTHER(9000, 1) }, .nparts = 1,
	  .job = { ALLOC(2) }, .line = { LINE(0, LINE_BATCH, ALLOC(2), BUSY(10, 20)) },
	  .nlines = 1, .cpu_weight = { 10, 30 }, .domain = DOMAIN_OTHER,
	  .line_got = { { 250, 6000 } }, .unallocated = { 750, 0 }, .system = { 0, 2000 } },
	{ .name = "energy that comes late is idle for all of its time",
	  .part = { { .domain = DOMAIN_OTHER, .energy_uj = 9000, .idle_mw = 1,
		      .used_ns = 4 * S } }, .nparts = 1,
	  .job = { ALLOC(8) }, .line = { LINE(0, LINE_BATCH, ALLOC(8), BUSY(10, 0)) },
	  .nlines = 1, .cpu_weight = { 10 }, .domain = DOMAIN_OTHER,
	  .line_got = { { 4000, 5000 } } },
	{ .name = "what counters split is the dynamic energy of CPUs",
	  .part = { CPU(0, 3000, 1), OTHER(9000, 1) }, .nparts = 2,
	  .job = { ALLOC(8) }, .line = { LINE(0, LINE_BATCH, ALLOC(8), BUSY(10, 0), .by_counters = true) },
	  .nlines = 1, .cpu_weight = { 20 }, .domain = DOMAIN_CPU,
	  .line_got = { { 1000, 1000 } }, .system = { 0, 1000 }, .by_counters_uj = { 1000 } },
	{ .name = "and of those lines that they counted",
	  .part = { CPU(0, 3000, 1) }, .nparts = 1, .job = { ALLOC(4), ALLOC(4) },
	  .line = { LINE(0, LINE_BATCH, ALLOC(4), BUSY(10, 0), .by_counters = true),
		    LINE(1, LINE_BATCH, ALLOC(4), BUSY(10, 0)) },
	  .nlines = 2, .cpu_weight = { 20 }, .domain = DOMAIN_CPU,
	  .line_got = { { 500, 1000 }, { 500, 1000 } }, .by_counters_uj = { 1000, 0 } },
};
/* clang-format on */

static bool has_got(const struct account *s, enum domain d, struct got want, const char *name)
{
	uint64_t dynamic_uj = s->total_uj[d] - s->static_uj[d];

	if (s->static_uj[d] == want.static_uj && dynamic_uj == want.dynamic_uj)
		return true;
	diag("%s: static %" PRIu64 " dynamic %" PRIu64, name, s->static_uj[d], dynamic_uj);
	return false;
}

static void test_parts(void)
{
	struct account line[MAX_WHO];
	struct account free_;
	struct account sys;
	uint64_t work[128];
	size_t i;
	size_t k;

	for (i = 0; i < ARRAY_SIZE(nodes); i++) {
		const struct node_case *c = &nodes[i];
		struct split_input in = {
			.until_ns = S,
			.node = { .cpus = 8, .mem_mb = 8000, ON(4, 4) },
			.cpu_weight = { c->cpu_weight[0], c->cpu_weight[1] },
			.mem_weight = c->mem_weight,
			.by_counters = c->by_counters_uj[0] != 0,
			.part = c->part,
			.nparts = c->nparts,
			.job = c->job,
			.njobs = MAX_WHO,
			.line = c->line,
			.nlines = c->nlines,
		};
		bool same;

		is_int(split_tick(&in, work, line, &free_, &sys), 0, c->name);
		same = has_got(&free_, c->domain, c->unallocated, "unallocated") &&
		       has_got(&sys, c->domain, c->system, "system");
		for (k = 0; k < c->nlines; k++)
			same = has_got(&line[k], c->domain, c->line_got[k], "a line") && same;
		ok(same, "shares: %s", c->name);
		for (k = 0; k < c->nlines; k++)
			is_u64(line[k].by_counters_uj, c->by_counters_uj[k], "  by counters");
	}
}

int main(void)
{
	test_parts();
	return done_testing();
}
