/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libnode/live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/libmeter/activity/pressure.h"
#include "src/libutil/pages.h"

struct entry {
	uint32_t claim; /* 0: of no step */
	struct live_step step;
};

struct live {
	struct entry entry[LEDGER_STEPS]; /* by slot */
	unsigned int turn; /* of running steps, the one whose pressure is read first */
};

int live_create(struct live **ret)
{
	struct live *live = pages_alloc(sizeof(*live));

	if (!live)
		return -ENOMEM;
	*ret = live;
	return 0;
}

void live_destroy(struct live *live)
{
	if (live)
		pages_free(live, sizeof(*live));
}

static void entry_open(struct entry *e, uint32_t claim)
{
	e->claim = claim;
	figures_init(&e->step.figures);
}

/* --- counters ------------------------------------------------------------------------------- */

/* A task that ended while the others were listed is missing until the next reading. */
static void take_figures(struct figures *to, const struct figures *from)
{
	unsigned int m;

	metric_foreach(m)
		if (figures_has(from, (enum metric)m) &&
		    (!figures_has(to, (enum metric)m) || from->value[m] > to->value[m]))
			figures_set(to, (enum metric)m, from->value[m]);
}

static void read_modes(struct readers *readers, unsigned int slot, uint32_t claim, struct figures *f)
{
	uint64_t user_ns, system_ns;

	if (readers_modes(readers, slot, claim, &user_ns, &system_ns) < 0)
		return;
	figures_set(f, METRIC_CPU_USER_TIME, user_ns);
	figures_set(f, METRIC_CPU_SYSTEM_TIME, system_ns);
}

static void read_counters(struct live *live, struct ledger *l, struct nodeprobes *np,
			  struct readers *readers, const unsigned int *slot, size_t n)
{
	_cleanup_free_ struct nodeprobes_step *step = calloc(n + 1, sizeof(*step));
	_cleanup_free_ struct figures *figures = calloc(n + 1, sizeof(*figures));
	size_t i;

	if (!step || !figures)
		return;
	for (i = 0; i < n; i++) {
		figures_init(&figures[i]);
		step[i] = (struct nodeprobes_step){ ledger_slot(l, slot[i]), &figures[i] };
	}
	nodeprobes_read_steps(np, step, n);
	for (i = 0; i < n; i++) {
		struct entry *e = &live->entry[slot[i]];

		read_modes(readers, slot[i], e->claim, &figures[i]);
		take_figures(&e->step.figures, &figures[i]);
	}
}

/* --- pressure ------------------------------------------------------------------------------- */

static void read_pressure(struct live *live, struct ledger *l, const unsigned int *slot, size_t n)
{
	struct figures figures;
	size_t i;

	for (i = 0; i < n && i < LIVE_PRESSURE_MAX; i++) {
		unsigned int at = slot[(live->turn + i) % n];
		const struct ledger_slot *s = ledger_slot(l, at);

		figures_init(&figures);
		pressure_read(s->cgroup_v2, s->cgroup_cpuacct, &figures);
		take_figures(&live->entry[at].step.figures, &figures);
	}
	live->turn += (unsigned int)i;
}

/* -------------------------------------------------------------------------------------------- */

/* Writes the slots of running steps; returns how many. Of an ended step, takes what its slurmstepd left. */
static size_t find_running(struct live *live, struct ledger *l, unsigned int slot[LEDGER_STEPS])
{
	const struct ledger_page *page = ledger_current(l);
	size_t n = 0;
	unsigned int i;

	for (i = 0; i < page->nsteps && i < LEDGER_STEPS; i++) {
		const struct ledger_step_account *a = &page->step[i];
		struct ledger_slot *s = ledger_slot(l, i);
		struct entry *e = &live->entry[i];

		if (!a->job || s->claim != a->claim) {
			e->claim = 0;
			continue;
		}
		if (e->claim != a->claim)
			entry_open(e, a->claim);
		/* an acquire load: the slurmstepd wrote its figures before this state */
		if (atomic_load(&s->state) >= SLOT_CLOSING)
			take_figures(&e->step.figures, &s->figures);
		else if (atomic_load_explicit(&s->cgroup_known, memory_order_acquire))
			slot[n++] = i;
	}
	return n;
}

void live_read(struct live *live, struct ledger *l, struct nodeprobes *np, struct readers *readers)
{
	unsigned int slot[LEDGER_STEPS];
	size_t n = find_running(live, l, slot);

	if (!n)
		return;
	read_counters(live, l, np, readers, slot, n);
	read_pressure(live, l, slot, n);
}

const struct live_step *live_find(const struct live *live, unsigned int slot, uint32_t claim)
{
	return live && slot < LEDGER_STEPS && claim && live->entry[slot].claim == claim ?
		       &live->entry[slot].step :
		       NULL;
}
