/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libnode/membook.h"

#include <errno.h>
#include <string.h>

#include "src/libutil/clock.h"
#include "src/libutil/logger.h"
#include "src/libutil/pages.h"

struct entry {
	struct memuse *memuse; /* NULL: cannot be read, or was not tried */
	uint32_t claim;	       /* claim number of the step in this slot that is watched; 0: none */
	bool is_tried;	       /* memuse was opened, or could not be */
	bool is_known;	       /* KINDS is the last reading */
	bool is_needed;	       /* the step exists in this tick */
	struct memuse_kinds kinds;
};

struct membook {
	struct entry entry[LEDGER_STEPS]; /* by slot */
	unsigned int used;		  /* entries from this index on were never opened */
	size_t turn, list_turn;		  /* lines with which the next tick begins */
	uint64_t listed_ns;		  /* when processes were last listed */
	/* memory of all steps of each job, by the job's index in the page */
	uint64_t job_bytes[LEDGER_JOBS];
};

int membook_create(struct membook **ret)
{
	struct membook *w = pages_alloc(sizeof(*w));

	if (!w)
		return -ENOMEM;
	*ret = w;
	return 0;
}

static void close_entry(struct entry *e)
{
	memuse_close(e->memuse);
	memset(e, 0, sizeof(*e));
}

void membook_destroy(struct membook *w)
{
	unsigned int i;

	if (!w)
		return;
	for (i = 0; i < w->used; i++)
		close_entry(&w->entry[i]);
	pages_free(w, sizeof(*w));
}

/* --- accounts ----------------------------------------------------------------------------- */

/*
 * Between two readings, memory is assumed to change linearly. Before the first reading, it is
 * assumed to be as in the first.
 */
static uint64_t mean_of(uint64_t before, uint64_t now)
{
	return before == UINT64_MAX || now == UINT64_MAX ? now : before / 2 + now / 2 + (before & now & 1);
}

static void raise(uint64_t *peak, uint64_t value)
{
	if (value != UINT64_MAX && (*peak == UINT64_MAX || value > *peak))
		*peak = value;
}

static void book_kinds(struct ledger_memory *m, const struct memuse_kinds *p, uint64_t open_ns,
		       uint64_t now_ns)
{
	uint64_t since_ns = m->read_mono_ns ? m->read_mono_ns : open_ns;
	uint64_t dt_ns = now_ns > since_ns ? now_ns - since_ns : 0;

	if (!m->read_mono_ns) {
		m->held_bytes = p->held;
		m->cache_bytes = p->page_cache;
		m->swap_peak_bytes = UINT64_MAX;
	}
	m->held_kib_s += ledger_kib_s(mean_of(m->held_bytes, p->held), dt_ns);
	m->cache_kib_s += ledger_kib_s(mean_of(m->cache_bytes, p->page_cache), dt_ns);
	m->held_bytes = p->held;
	m->cache_bytes = p->page_cache;
	raise(&m->peak_bytes, p->held);
	raise(&m->swap_peak_bytes, p->swap);
	m->read_mono_ns = now_ns;
}

static void book_jobs(struct membook *w, const struct tick *t)
{
	const struct book_line *line = t->line;
	struct ledger_page *page = t->page;
	size_t i;

	memset(w->job_bytes, 0, page->njobs * sizeof(*w->job_bytes));
	for (i = 0; i < t->nlines; i++) {
		const struct ledger_step_account *a = &page->step[line[i].slot];

		if (a->job && a->memory.read_mono_ns && !line[i].is_last)
			w->job_bytes[a->job - 1] += a->memory.held_bytes;
	}
	for (i = 0; i < t->nlines; i++) {
		struct ledger_step_account *a = &page->step[line[i].slot];

		if (a->job && a->memory.read_mono_ns && line[i].s->id.step_id == LEDGER_STEP_EXTERN)
			raise(&a->memory.peak_bytes, w->job_bytes[a->job - 1]);
	}
}

/* --- reading ------------------------------------------------------------------------------ */

static struct entry *entry_of(struct membook *w, const struct book_line *line)
{
	struct entry *e = &w->entry[line->slot];

	if (line->slot >= w->used)
		w->used = line->slot + 1;
	if (e->claim != line->claim) {
		close_entry(e);
		e->claim = line->claim;
	}
	return e;
}

static void try_open(struct entry *e, const struct ledger_slot *s)
{
	struct errmsg err = { 0 };

	e->is_tried = true;
	if (memuse_open(&s->cgroup, &e->memuse, &err) < 0)
		logger_debug("%s", err.text);
}

static bool is_due(const struct ledger_memory *m, uint64_t open_ns, uint64_t now_ns)
{
	uint64_t every_ns = (m->read_mono_ns - open_ns) / 8;

	if (!m->read_mono_ns || m->read_mono_ns < open_ns)
		return true;
	return now_ns - m->read_mono_ns >= (every_ns < MEMBOOK_EVERY_NS ? every_ns : MEMBOOK_EVERY_NS);
}

/* Returns the entry to read for a line. NULL: it is not due in this tick, or cannot be read. */
static struct entry *due_entry(struct membook *w, const struct tick *t, const struct book_line *line)
{
	struct entry *e = &w->entry[line->slot];

	if (line->state != SLOT_OPEN || line->is_dead ||
	    !is_due(&t->page->step[line->slot].memory, line->s->t_open_mono_ns, t->book.t_mono_ns) ||
	    !atomic_load_explicit(&line->s->cgroup_known, memory_order_acquire))
		return NULL;
	if (!e->is_tried)
		try_open(e, line->s);
	return e->memuse ? e : NULL;
}

/* Reads the memory of a step and adds it to its account. If that fails, the last values stay. */
static void read_entry(struct entry *e, const struct tick *t, const struct book_line *line)
{
	struct memuse_kinds kinds;

	if (memuse_read_kinds(e->memuse, &kinds) < 0)
		return;
	e->kinds = kinds;
	e->is_known = true;
	book_kinds(&t->page->step[line->slot].memory, &kinds, line->s->t_open_mono_ns, t->book.t_mono_ns);
}

static void read_files(struct membook *w, const struct tick *t)
{
	unsigned int left = MEMBOOK_FILES;
	size_t i;

	for (i = 0; i < t->nlines && left; i++) {
		const struct book_line *l = &t->line[w->turn++ % t->nlines];
		struct entry *e = due_entry(w, t, l);

		if (!e || memuse_opens_files(e->memuse))
			continue;
		read_entry(e, t, l);
		left--;
	}
}

static void read_list(struct membook *w, const struct tick *t)
{
	size_t i;

	for (i = 0; i < t->nlines; i++) {
		const struct book_line *l = &t->line[w->list_turn++ % t->nlines];
		struct entry *e = due_entry(w, t, l);

		if (!e || !memuse_opens_files(e->memuse))
			continue;
		read_entry(e, t, l);
		w->listed_ns = t->book.t_mono_ns;
		return;
	}
}

static void close_gone(struct membook *w)
{
	unsigned int i;

	for (i = 0; i < w->used; i++) {
		if (w->entry[i].claim && !w->entry[i].is_needed)
			close_entry(&w->entry[i]);
		w->entry[i].is_needed = false;
	}
}

void membook_read(struct membook *w, const struct tick *t)
{
	size_t i;

	for (i = 0; i < t->nlines; i++)
		entry_of(w, &t->line[i])->is_needed = true;
	close_gone(w);
	read_files(w, t);
	if (t->book.t_mono_ns - w->listed_ns >= MEMBOOK_LIST_NS)
		read_list(w, t);
	book_jobs(w, t);
}

const struct memuse_kinds *membook_find(const struct membook *w, unsigned int slot, uint32_t claim)
{
	return w && slot < LEDGER_STEPS && claim && w->entry[slot].claim == claim && w->entry[slot].is_known ?
		       &w->entry[slot].kinds :
		       NULL;
}
