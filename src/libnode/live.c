/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libnode/live.h"

#include <stdlib.h>

#include "src/libmeter/activity/pressure.h"
#include "src/libutil/clock.h"
#include "src/libutil/util.h"

/* One step in this reading. */
struct live_step {
	unsigned int slot;
	uint32_t claim;
	struct values values;
};

/* --- reading one step ------------------------------------------------------------------------ */

static void read_modes(struct readers *readers, unsigned int slot, uint32_t claim, struct values *f)
{
	uint64_t user_ns, system_ns;

	if (readers_modes(readers, slot, claim, &user_ns, &system_ns) < 0)
		return;
	values_set(f, METRIC_CPU_USER_TIME, user_ns);
	values_set(f, METRIC_CPU_SYSTEM_TIME, system_ns);
}

static void read_account(struct ledger *l, unsigned int slot, struct values *f)
{
	const struct ledger_step_account *a = &ledger_current(l)->step[slot];

	if (a->told_mono_ns)
		values_set(f, METRIC_CPU_TIME, a->busy_ns);
	ledger_memory_values(&ledger_slot(l, slot)->id, &a->memory, clock_mono_ns(), f);
}

static void read_counters(struct ledger *l, struct nodeprobes *np, struct readers *readers,
			  struct live_step *r, size_t n)
{
	_cleanup_free_ struct nodeprobes_step *step = calloc(n + 1, sizeof(*step));
	size_t i;

	if (!step)
		return;
	for (i = 0; i < n; i++)
		step[i] = (struct nodeprobes_step){ ledger_slot(l, r[i].slot), &r[i].values };
	nodeprobes_read_steps(np, step, n);
	for (i = 0; i < n; i++) {
		read_modes(readers, r[i].slot, r[i].claim, &r[i].values);
		read_account(l, r[i].slot, &r[i].values);
	}
}

static void read_pressure(struct live *live, struct ledger *l, struct live_step *r, size_t n)
{
	size_t i;

	for (i = 0; i < n && i < LIVE_PRESSURE_MAX; i++) {
		struct live_step *one = &r[(live->turn + i) % n];
		const struct ledger_slot *s = ledger_slot(l, one->slot);

		pressure_read(&s->cgroup, &one->values);
	}
	live->turn += (unsigned int)i;
}

/* -------------------------------------------------------------------------------------------- */

/*
 * Publishes the values of a step. No value decreases: if one is lower than before, because a task has just
 * ended and is missing in this reading, the earlier value stays.
 */
static void publish(struct ledger *l, unsigned int slot, uint32_t claim, const struct values *read)
{
	const struct values *before = ledger_live(l, slot, claim);
	struct values now, told;

	if (before)
		now = *before;
	else
		values_init(&now);
	values_raise(&now, read);
	if (ledger_told(ledger_slot(l, slot), &told))
		values_raise(&now, &told);
	ledger_set_live(l, slot, claim, &now);
}

/*
 * Finds the slots of running steps and returns how many. For an ended step, takes what its
 * slurmstepd wrote.
 */
static size_t find_running(struct ledger *l, unsigned int slot[LEDGER_STEPS])
{
	const struct ledger_page *page = ledger_current(l);
	struct values none;
	size_t n = 0;
	unsigned int i;

	values_init(&none);
	for (i = 0; i < page->nsteps && i < LEDGER_STEPS; i++) {
		const struct ledger_step_account *a = &page->step[i];
		struct ledger_slot *s = ledger_slot(l, i);

		if (!a->job || s->claim != a->claim) {
			if (s->live.claim)
				ledger_set_live(l, i, /* claim= */ 0, &none);
			continue;
		}
		/*
		 * in SLOT_CLOSING, slurmstepd has written all its values; the atomic
		 * load makes them visible here
		 */
		if (atomic_load(&s->state) < SLOT_CLOSING &&
		    atomic_load_explicit(&s->cgroup_known, memory_order_acquire))
			slot[n++] = i;
		else
			publish(l, i, a->claim, &none);
	}
	return n;
}

void live_read(struct live *live, struct ledger *l, struct nodeprobes *np, struct readers *readers)
{
	_cleanup_free_ struct live_step *r = NULL;
	unsigned int slot[LEDGER_STEPS];
	size_t n = find_running(l, slot);
	size_t i;

	r = n ? calloc(n, sizeof(*r)) : NULL;
	if (!r)
		return;
	for (i = 0; i < n; i++) {
		r[i].slot = slot[i];
		r[i].claim = ledger_slot(l, slot[i])->claim;
		values_init(&r[i].values);
	}
	read_counters(l, np, readers, r, n);
	read_pressure(live, l, r, n);
	for (i = 0; i < n; i++)
		publish(l, r[i].slot, r[i].claim, &r[i].values);
}
