/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libnode/memweights.h"

#include <string.h>

#include "src/libmeter/activity/memuse.h"
#include "src/libnode/nodecpu.h"
#include "src/libutil/clock.h"
#include "src/libutil/logger.h"
#include "src/libutil/muldiv.h"

void memstep_open(struct memstep *m, const struct cgroup_paths *paths)
{
	struct errmsg err = { 0 };

	if (memuse_open(paths, &m->memuse, &err) < 0)
		logger_debug("%s", err.text);
}

void memstep_close(struct memstep *m)
{
	memuse_close(m->memuse);
	memset(m, 0, sizeof(*m));
}

void memweights_open(struct memweights *w, const char *sys_root)
{
	memset(w, 0, sizeof(*w));
	w->fd = nodecpu_open_proc(sys_root, "/proc/meminfo");
}

void memweights_close(struct memweights *w)
{
	if (w->fd >= 0)
		(void)close(w->fd);
	w->fd = -1;
}

static bool is_due(uint64_t read_ns, uint64_t now_ns, uint64_t every_ns)
{
	return !read_ns || now_ns < read_ns || now_ns - read_ns >= every_ns;
}

/* Reads a step's memory. If it cannot be read, the step has ended, and the last value stays. */
static void read_step(struct memstep *m, uint64_t now_ns)
{
	if (memuse_read(m->memuse, &m->bytes) == 0 || m->read_ns)
		m->read_ns = now_ns;
}

static void refresh(struct memweights *w, uint64_t now_ns, struct memstep *const *mem, size_t n)
{
	unsigned int left = MEMWEIGHTS_PER_TICK;
	size_t i;

	if (w->fd >= 0 && is_due(w->read_ns, now_ns, NSEC_PER_SEC) && memuse_node(w->fd, &w->bytes) == 0)
		w->read_ns = now_ns;
	for (i = 0; i < n && left; i++) {
		struct memstep *m = mem[w->turn++ % n];

		if (!m || !m->memuse || !is_due(m->read_ns, now_ns, MEMWEIGHTS_REFRESH_NS))
			continue;
		if (!memuse_opens_files(m->memuse)) {
			read_step(m, now_ns);
			left--;
		} else if (is_due(w->listed_ns, now_ns, MEMWEIGHTS_LIST_NS)) {
			read_step(m, now_ns);
			w->listed_ns = now_ns;
			break; /* one list per time; the next one reads the next step */
		}
	}
}

/* Scales memory by CPU use: a step that sleeps does not move data. */
static uint64_t in_use(uint64_t held, uint64_t busy_ns, uint64_t window_ns)
{
	return busy_ns < window_ns ? muldiv(held, busy_ns, window_ns) : held;
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

bool memweights_fill(struct memweights *w, struct memstep *const *mem, struct tick *t)
{
	const uint64_t now_ns = t->book.t_mono_ns;
	struct book_line *line = t->line;
	uint64_t window_ns = less(now_ns, w->tick_ns);
	uint64_t all_ns = t->book.mem_weight;
	uint64_t rest_ns = all_ns;
	uint64_t rest, sum = 0;
	size_t i;

	w->tick_ns = now_ns;
	refresh(w, now_ns, mem, t->nlines);
	if (!w->read_ns)
		return false;
	rest = w->bytes;
	for (i = 0; i < t->nlines; i++) {
		const struct memstep *m = mem[i];
		uint64_t ns = line[i].mem_weight;
		uint64_t held = m && m->read_ns ? m->bytes : muldiv(w->bytes, ns, all_ns);

		line[i].mem_weight = in_use(held, ns, window_ns);
		sum += line[i].mem_weight;
		rest = less(rest, held);
		rest_ns = less(rest_ns, ns);
	}
	t->book.mem_weight = sum + in_use(rest, rest_ns, window_ns);
	return true;
}
