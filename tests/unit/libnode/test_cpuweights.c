/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libnode/cpuweights.h"

#include "src/libutil/clock.h"
#include "src/libutil/util.h"
#include "tap.h"

#define MS NSEC_PER_MSEC

/* clang-format off */
static const struct {
	const char *name;
	uint32_t step_cpus[2][SOCKETS_MAX]; /* of the two lines; all 0: not known */
	uint64_t busy_ns[2];
	uint64_t socket_ns[SOCKETS_MAX];
	uint64_t line_weight[2][SOCKETS_MAX];
	uint64_t node_weight[SOCKETS_MAX];
} ticks[] = {
	{ .name = "nobody computes" },
	{ .name = "the system alone", .socket_ns = { 5, 7 }, .node_weight = { 5, 7 } },
	{ .name = "each on its socket", .step_cpus = { { 4, 0 }, { 0, 4 } },
	  .busy_ns = { 30, 40 }, .socket_ns = { 30, 50 },
	  .line_weight = { { 30, 0 }, { 0, 40 } }, .node_weight = { 30, 50 } },
	{ .name = "by cores on both", .step_cpus = { { 3, 1 } }, .busy_ns = { 40 },
	  .socket_ns = { 30, 10 }, .line_weight = { { 30, 10 } }, .node_weight = { 30, 10 } },
	{ .name = "the step's CPUs unknown: as the sockets were busy", .busy_ns = { 40 },
	  .socket_ns = { 10, 70 }, .line_weight = { { 5, 35 } }, .node_weight = { 10, 70 } },
	{ .name = "neither known: by the sockets' sizes", .busy_ns = { 40 },
	  .line_weight = { { 20, 20 } }, .node_weight = { 20, 20 } },
};
/* clang-format on */

static struct ledger_slot slot[2];

static void fill_of(struct cpuweights *w, const uint32_t socket_cpus[SOCKETS_MAX], const uint64_t *socket_ns,
		    struct book_line line[2], struct book_tick *tick)
{
	static struct ledger_page page;
	struct tick t = { .page = &page, .line = line, .nlines = 2 };

	memcpy(page.socket_cpus, socket_cpus, sizeof(page.socket_cpus));
	memcpy(t.socket_ns, socket_ns, sizeof(t.socket_ns));
	cpuweights_fill(w, &t);
	*tick = t.book;
}

static void fill(struct cpuweights *w, const uint64_t busy_ns[2], const uint64_t *socket_ns,
		 struct book_line line[2], struct book_tick *tick)
{
	static const uint32_t socket_cpus[SOCKETS_MAX] = { 4, 4 };
	unsigned int i;

	for (i = 0; i < 2; i++)
		line[i] = (struct book_line){ .s = &slot[i],
					      .booked_ns = 1000,
					      .busy_ns = 1000 + busy_ns[i] };
	fill_of(w, socket_cpus, socket_ns, line, tick);
}

static void test_spread(void)
{
	struct book_line line[2];
	struct book_tick tick;
	unsigned int k;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ticks); i++) {
		struct cpuweights w = { 0 };

		for (k = 0; k < 2; k++)
			memcpy(slot[k].id.step_socket_cpus, ticks[i].step_cpus[k],
			       sizeof(ticks[i].step_cpus[k]));
		fill(&w, ticks[i].busy_ns, ticks[i].socket_ns, line, &tick);
		ok(!memcmp(line[0].cpu_weight, ticks[i].line_weight[0], sizeof(uint64_t) * 8) &&
			   !memcmp(line[1].cpu_weight, ticks[i].line_weight[1], sizeof(uint64_t) * 8),
		   "%s", ticks[i].name);
		ok(!memcmp(tick.cpu_weight, ticks[i].node_weight, sizeof(tick.cpu_weight)),
		   "  the node: %" PRIu64 " %" PRIu64, tick.cpu_weight[0], tick.cpu_weight[1]);
	}
}

/* A step computes all the time; /proc/stat shows that every 10 ms only, and nothing else ran. */
static void test_late_node(void)
{
	const uint64_t busy_ns[2] = { 2 * MS };
	struct cpuweights w = { 0 };
	struct book_line line[2];
	struct book_tick tick;
	uint64_t system_ns = 0;
	unsigned int i;

	memset(slot, 0, sizeof(slot));
	slot[0].id.step_socket_cpus[0] = 1;
	for (i = 1; i <= 100; i++) {
		const uint64_t socket_ns[SOCKETS_MAX] = { i % 5 ? 0 : 10 * MS };

		fill(&w, busy_ns, socket_ns, line, &tick);
		system_ns += tick.cpu_weight[0] - line[0].cpu_weight[0];
	}
	is_u64(system_ns, 0, "a node that is counted in ticks of the clock has no system time");
}

/* Two steps use a CPU each. late_ns: how long before the window the first one was last read. */
static void test_told_late(void)
{
	static const struct {
		const char *name;
		uint64_t late_ns, want_ns;
	} t[] = {
		{ "not read for an hour: only one second of it counts in this window", 3599 * NSEC_PER_SEC,
		  NSEC_PER_SEC },
		{ "not read in one tick: only this window counts", NSEC_PER_SEC, NSEC_PER_SEC },
		{ "read a moment late: that time counts too", 70 * MS, 1070 * MS },
		{ "read in every tick", 0, NSEC_PER_SEC },
	};
	const uint64_t from_ns = 7200 * NSEC_PER_SEC;
	const uint64_t until_ns = from_ns + NSEC_PER_SEC;
	static const uint32_t socket_cpus[SOCKETS_MAX] = { 4 };
	static const uint64_t socket_ns[SOCKETS_MAX] = { 2 * NSEC_PER_SEC };
	size_t i;

	memset(slot, 0, sizeof(slot));
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct book_line line[2] = {
			{ .s = &slot[0],
			  .busy_ns = NSEC_PER_SEC + t[i].late_ns,
			  .since_ns = from_ns - t[i].late_ns,
			  .from_ns = from_ns,
			  .until_ns = until_ns },
			{ .s = &slot[1],
			  .busy_ns = NSEC_PER_SEC,
			  .since_ns = from_ns,
			  .from_ns = from_ns,
			  .until_ns = until_ns },
		};
		struct cpuweights w = { 0 };
		struct book_tick tick;

		fill_of(&w, socket_cpus, socket_ns, line, &tick);
		is_u64(line[0].cpu_weight[0], t[i].want_ns, t[i].name);
		is_u64(line[1].cpu_weight[0], NSEC_PER_SEC, "  beside one that is read");
	}
}

/* CPU time that was not known until a step's end says nothing about what comes after it. */
static void test_debt_is_bounded(void)
{
	const uint64_t much_ns[2] = { 3600 * NSEC_PER_SEC };
	const uint64_t none_ns[2] = { 0 };
	const uint64_t second_ns[SOCKETS_MAX] = { NSEC_PER_SEC };
	struct cpuweights w = { 0 };
	struct book_line line[2];
	struct book_tick tick;

	fill(&w, much_ns, second_ns, line, &tick);
	is_u64(tick.cpu_weight[0], 3600 * NSEC_PER_SEC, "an hour comes at once");
	fill(&w, none_ns, second_ns, line, &tick);
	ok(tick.cpu_weight[0] >= NSEC_PER_SEC / 2, "at least half of the next second of the system counts");
	fill(&w, none_ns, second_ns, line, &tick);
	is_u64(tick.cpu_weight[0], NSEC_PER_SEC, "and all of the one after");
}

int main(void)
{
	test_spread();
	test_late_node();
	test_told_late();
	test_debt_is_bounded();
	return done_testing();
}
