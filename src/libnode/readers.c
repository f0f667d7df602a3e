/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libnode/readers.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "src/libmeter/activity/cputime.h"
#include "src/libutil/logger.h"
#include "src/libutil/pages.h"

struct reader {
	struct cputime *cputime;
	struct weights_step *step;
	uint64_t before_ns; /* CPU time before cputime was opened that cputime does not show */
	uint32_t claim;	    /* claim number of the step in this slot that is read; 0: none */
	bool is_settled;    /* cputime was opened, or cannot be opened */
	bool is_needed;	    /* the step exists in the next tick, too */
};

struct readers {
	struct weights *w;
	struct reader reader[LEDGER_STEPS];	 /* by slot */
	unsigned int used;			 /* entries from this index on were never used */
	bool have_young;			 /* a step is younger than READERS_YOUNG_NS */
	struct weights_step *step[LEDGER_STEPS]; /* by line */
};

int readers_create(struct weights *w, struct readers **ret)
{
	struct readers *r = pages_alloc(sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->w = w;
	*ret = r;
	return 0;
}

static void close_reader(struct reader *r)
{
	cputime_close(r->cputime);
	weights_step_close(r->step);
	memset(r, 0, sizeof(*r));
}

void readers_destroy(struct readers *r)
{
	unsigned int i;

	if (!r)
		return;
	for (i = 0; i < r->used; i++)
		close_reader(&r->reader[i]);
	pages_free(r, sizeof(*r));
}

static bool can_wait(const struct readers *all, const struct book_line *line)
{
	if (line->is_last || line->until_ns >= line->s->t_open_mono_ns + READERS_YOUNG_NS)
		return false;
	return !weights_has_counters(all->w) || !atomic_load(&line->s->cgroup_known);
}

static void open_reader(struct readers *all, struct reader *r, const struct book_line *line)
{
	const struct ledger_slot *slot = line->s;
	struct errmsg err = { 0 };

	r->claim = line->claim;
	if (!r->is_settled && can_wait(all, line)) {
		all->have_young = true;
		return;
	}
	if (r->is_settled || !atomic_load_explicit(&slot->cgroup_known, memory_order_acquire))
		return;
	r->is_settled = true;
	if (cputime_open(&slot->cgroup, &r->cputime, &err) < 0 &&
	    cputime_open_tree(atomic_load(&slot->stepd_pid), &r->cputime, &err) < 0) {
		logger_debug("job %u step %u: no CPU time until it ends: %s", slot->id.job_id,
			     slot->id.step_id, err.text);
		return;
	}
	r->step = weights_step_open(all->w, &slot->cgroup);
}

/*
 * Reads the CPU time of a step. If it is summed over living processes, it lacks those that ended before a
 * restart of slurmd. Their time is in the step's account already, and is added here.
 */
static void read_cputime(struct reader *r, struct book_line *line)
{
	uint64_t busy_ns;

	if (cputime_read(r->cputime, &busy_ns) < 0)
		return;
	if (busy_ns + r->before_ns < line->booked_ns)
		r->before_ns = line->booked_ns - busy_ns;
	line->busy_ns = busy_ns + r->before_ns;
	line->is_told = true;
}

void readers_read(struct readers *all, struct tick *t)
{
	struct book_line *line = t->line;
	size_t i;

	all->have_young = false;
	for (i = 0; i < t->nlines; i++) {
		struct reader *r = &all->reader[line[i].slot];

		if (line[i].slot >= all->used)
			all->used = line[i].slot + 1;
		if (r->claim != line[i].claim)
			close_reader(r);
		r->is_needed = !line[i].busy_is_final;
		if (r->is_needed)
			open_reader(all, r, &line[i]);
		if (r->is_needed && r->cputime)
			read_cputime(r, &line[i]);
		all->step[i] = r->step;
	}
	t->step = all->step;
}

int readers_modes(struct readers *all, unsigned int slot, uint32_t claim, uint64_t *ret_user_ns,
		  uint64_t *ret_system_ns)
{
	struct reader *r = &all->reader[slot];

	return r->claim != claim || !r->cputime ? -ENOENT :
						  cputime_read_modes(r->cputime, ret_user_ns, ret_system_ns);
}

uint64_t readers_patience_ns(const struct readers *all)
{
	return all->have_young && weights_has_counters(all->w) ? READERS_COUNTED_NS : UINT64_MAX;
}

void readers_close_gone(struct readers *all)
{
	unsigned int i;

	for (i = 0; i < all->used; i++) {
		struct reader *r = &all->reader[i];

		if (r->claim && !r->is_needed)
			close_reader(r);
		r->is_needed = false;
	}
}
