/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libnode/cpuweights.h"
#include "src/libutil/apportion.h"

#include <string.h>

#include "src/libutil/clock.h"
#include "src/libutil/muldiv.h"

/* How far /proc/stat may lag: seven fields per CPU, each rounded down to 10 ms. */
#define LAG_NS (70 * NSEC_PER_MSEC)

static bool is_empty(const uint64_t v[SOCKETS_MAX])
{
	unsigned int s;

	for (s = 0; s < SOCKETS_MAX; s++)
		if (v[s])
			return false;
	return true;
}

static void widen(const uint32_t from[SOCKETS_MAX], uint64_t to[SOCKETS_MAX])
{
	unsigned int s;

	for (s = 0; s < SOCKETS_MAX; s++)
		to[s] = from[s];
}

/*
 * Returns the CPU time of a step in this window. If it was not read in earlier windows, the reading has the
 * CPU time of those, too. Then only a part in proportion to the window's length counts. A delay of up to
 * LAG_NS does not matter, since /proc/stat may be as late.
 */
static uint64_t used_in_window(const struct book_line *line)
{
	uint64_t busy_ns = line->busy_ns > line->booked_ns ? line->busy_ns - line->booked_ns : 0;
	uint64_t window_ns = line->until_ns > line->from_ns ? line->until_ns - line->from_ns : 0;

	if (line->from_ns - line->since_ns <= LAG_NS)
		return busy_ns;
	return muldiv(busy_ns, window_ns, window_ns + line->from_ns - line->since_ns);
}

/*
 * Returns the system's CPU time: the node's minus that of the lines. The node's is counted in clock ticks and
 * so comes late: the lines may have more than the node. *DEBT_NS keeps the difference, which is subtracted
 * when the node's time catches up.
 */
static uint64_t system_time(uint64_t *debt_ns, uint64_t node_ns, uint64_t lines_ns, uint64_t max_debt_ns)
{
	uint64_t known = lines_ns + *debt_ns;

	*debt_ns = known > node_ns ? known - node_ns : 0;
	if (*debt_ns > max_debt_ns)
		*debt_ns = max_debt_ns;
	return node_ns > known ? node_ns - known : 0;
}

void cpuweights_fill(struct cpuweights *w, struct tick *t)
{
	const uint32_t *socket_cpus = t->page->socket_cpus;
	struct book_tick *tick = &t->book;
	struct book_line *line = t->line;
	uint64_t capacity[SOCKETS_MAX];
	uint64_t known[SOCKETS_MAX];
	unsigned int s;
	size_t i;

	widen(socket_cpus, capacity);
	memset(tick->cpu_weight, 0, sizeof(tick->cpu_weight));
	for (i = 0; i < t->nlines; i++) {
		uint64_t busy_ns = used_in_window(&line[i]);
		const uint64_t *where = known;

		widen(line[i].s->id.step_socket_cpus, known);
		if (is_empty(known))
			where = is_empty(t->socket_ns) ? capacity : t->socket_ns;
		(void)apportion(busy_ns, where, SOCKETS_MAX, line[i].cpu_weight);
		line[i].mem_weight = busy_ns;
		tick->mem_weight += busy_ns;
		for (s = 0; s < SOCKETS_MAX; s++)
			tick->cpu_weight[s] += line[i].cpu_weight[s];
	}
	for (s = 0; s < SOCKETS_MAX; s++) {
		uint64_t rest = system_time(&w->debt_ns[s], t->socket_ns[s], tick->cpu_weight[s],
					    LAG_NS * socket_cpus[s]);

		tick->cpu_weight[s] += rest;
		tick->mem_weight += rest;
	}
}
