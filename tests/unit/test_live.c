/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What slurmd reads of running steps, from a ledger with steps of the test's own. The linker sends the reads of
 * cgroups and BPF maps here (-Wl,--wrap), so that the test says what they show.
 */
#include "src/libnode/live.h"

#include <stdlib.h>

#include "fake_sampler.h"
#include "scratch.h"
#include "src/libutil/util.h"
#include "tap.h"

#define STEPS_MAX 256

/* What the node shows of each step, and what was read of it. */
static struct {
	uint64_t user_ns; /* UINT64_MAX: CPU time cannot be read */
	uint64_t recv_bytes;
	unsigned int ncounters;	 /* how often the probes were read */
	uint64_t stalled_ns;	 /* 0: PSI is missing */
	unsigned int npressure;	 /* how often it was read */
} shown[STEPS_MAX];

int __wrap_readers_modes(struct readers *r, unsigned int slot, uint32_t claim, uint64_t *ret_user_ns,
			 uint64_t *ret_system_ns);
int __wrap_readers_modes(struct readers *r, unsigned int slot, uint32_t claim, uint64_t *ret_user_ns,
			 uint64_t *ret_system_ns)
{
	(void)r;
	(void)claim;
	if (shown[slot].user_ns == UINT64_MAX)
		return -ENOENT;
	*ret_user_ns = shown[slot].user_ns;
	*ret_system_ns = shown[slot].user_ns / 10;
	return 0;
}

void __wrap_pressure_read(const char *v2, const char *cpuacct, struct figures *f);
void __wrap_pressure_read(const char *v2, const char *cpuacct, struct figures *f)
{
	unsigned int step = (unsigned int)strtoul(v2, NULL, 10);
	uint64_t ns = shown[step].stalled_ns;

	(void)cpuacct;
	shown[step].npressure++;
	if (ns)
		figures_set(f, METRIC_CPU_PRESSURE_SOME, ns);
	else
		figures_miss(f, METRIC_CPU_PRESSURE_SOME, REASON_NO_PSI);
}

void __wrap_nodeprobes_read_steps(struct nodeprobes *np, const struct nodeprobes_step *step, size_t n);
void __wrap_nodeprobes_read_steps(struct nodeprobes *np, const struct nodeprobes_step *step, size_t n)
{
	size_t i;

	(void)np;
	for (i = 0; i < n; i++) {
		unsigned int s = (unsigned int)strtoul(step[i].slot->cgroup_v2, NULL, 10);

		shown[s].ncounters++;
		if (shown[s].recv_bytes)
			figures_set(step[i].figures, METRIC_TCP_RECEIVED_BYTES, shown[s].recv_bytes);
	}
}

/* --- the ledger ----------------------------------------------------------------------------- */

static char dir[] = SCRATCH_TEMPLATE;
static struct fake_sampler node;
static struct live *live;

static void begin(void)
{
	struct errmsg err = { 0 };

	memset(shown, 0, sizeof(shown));
	if (fake_start(&node, dir, "n1", &err) < 0 || live_create(&live) < 0) {
		diag("%s", err.text);
		exit(99);
	}
}

static void end(void)
{
	live_destroy(live);
	fake_stop(&node);
	scratch_clear(dir);
}

/* N more steps of one job, in the slots from 0 on; they count from the next tick on. */
static void claim(unsigned int from, unsigned int n)
{
	unsigned int slot, i;

	for (i = from; i < from + n; i++) {
		const struct ledger_identity id = { .job_id = 7, .step_id = i, .job_cpus = 1,
						    .step_cpus = 1, .node_count = 1 };
		struct ledger_slot *s;

		if (ledger_claim(node.l, &id, &slot) < 0 || slot != i)
			exit(99);
		s = ledger_slot(node.l, slot);
		(void)snprintf(s->cgroup_v2, sizeof(s->cgroup_v2), "%u", i);
		atomic_store(&s->cgroup_known, 1);
	}
}

static void tick(void)
{
	if (fake_tick(&node, 0, 1000, 1000) < 0)
		exit(99);
	live_read(live, node.l, NULL, NULL);
}

static const struct live_step *find(unsigned int slot)
{
	return live_find(live, slot, ledger_slot(node.l, slot)->claim);
}

static uint64_t value(unsigned int slot, enum metric m)
{
	const struct live_step *step = find(slot);

	return step && figures_has(&step->figures, m) ? step->figures.value[m] : UINT64_MAX;
}

/* As a slurmstepd does it at the step's end, before anything is booked. */
static void leave_figures(unsigned int slot, enum metric m, uint64_t n)
{
	struct ledger_slot *s = ledger_slot(node.l, slot);

	figures_set(&s->figures, m, n);
	atomic_store(&s->state, SLOT_CLOSING);
}

/* -------------------------------------------------------------------------------------------- */

static void test_nothing(void)
{
	begin();
	live_read(live, node.l, NULL, NULL);
	ok(!live_find(live, 0, 1), "of a ledger without steps nothing is known");
	ok(!live_find(live, 0, 0) && !live_find(live, LEDGER_STEPS, 1) && !live_find(NULL, 0, 1),
	   "nor of no step, of a slot too far, or without a textfile");
	claim(0, 1);
	atomic_store(&ledger_slot(node.l, 0)->cgroup_known, 0);
	tick();
	ok(find(0) != NULL, "a step without a cgroup is known");
	is_u64(shown[0].ncounters, 0, "and not read");
	live_destroy(NULL);
	end();
}

static void test_counters(void)
{
	static const struct {
		const char *name;
		uint64_t user_ns, recv_bytes, want_ns, want_bytes;
	} t[] = {
		{ "nothing can be read", UINT64_MAX, 0, UINT64_MAX, UINT64_MAX },
		{ "the first values", 1000, 50, 1000, 50 },
		{ "more of both", 2000, 80, 2000, 80 },
		{ "less of one, as a task ended", 1500, 90, 2000, 90 },
		{ "one cannot be read", UINT64_MAX, 95, 2000, 95 },
		{ "the other neither", UINT64_MAX, 0, 2000, 95 },
		{ "both again", 2100, 96, 2100, 96 },
	};
	size_t i;

	begin();
	claim(0, 2);
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		shown[0].user_ns = t[i].user_ns;
		shown[0].recv_bytes = t[i].recv_bytes;
		tick();
		is_u64(value(0, METRIC_CPU_USER_TIME), t[i].want_ns, t[i].name);
		is_u64(value(0, METRIC_CPU_SYSTEM_TIME), t[i].want_ns == UINT64_MAX ? UINT64_MAX : t[i].want_ns / 10,
		       "its system time");
		is_u64(value(0, METRIC_TCP_RECEIVED_BYTES), t[i].want_bytes, "its bytes");
	}
	is_u64(value(1, METRIC_CPU_USER_TIME), 0, "the other step has its own values");
	end();
}

/* What a step waited for shows while it waits. */
static void test_pressure(void)
{
	unsigned int i, even = 0;

	begin();
	claim(0, 2);
	shown[0].stalled_ns = 70;
	tick();
	is_u64(value(0, METRIC_CPU_PRESSURE_SOME), 70, "pressure of a running step");
	is_u64(value(1, METRIC_CPU_PRESSURE_SOME), UINT64_MAX, "where there is no PSI it is unknown, not 0");
	shown[0].stalled_ns = 0;
	tick();
	is_u64(value(0, METRIC_CPU_PRESSURE_SOME), 70, "one that cannot be read any more leaves the last one");
	leave_figures(0, METRIC_CPU_PRESSURE_SOME, 90);
	tick();
	is_u64(value(0, METRIC_CPU_PRESSURE_SOME), 90, "the end has the slurmstepd's");
	is_u64(shown[0].npressure, 2, "the cgroup is not read any more");
	end();
	begin();
	claim(0, 2 * LIVE_PRESSURE_MAX);
	for (i = 0; i < 4; i++)
		tick();
	for (i = 0; i < 2 * LIVE_PRESSURE_MAX; i++)
		even += shown[i].npressure == 2;
	is_u64(even, 2 * LIVE_PRESSURE_MAX, "of many steps each has its turn");
	end();
}

static void test_closing(void)
{
	struct ledger_slot *s;

	begin();
	claim(0, 1);
	shown[0].user_ns = 1000;
	shown[0].recv_bytes = 50;
	tick();
	leave_figures(0, METRIC_CPU_USER_TIME, 1200);
	shown[0].user_ns = 9999;
	live_read(live, node.l, NULL, NULL);
	is_u64(value(0, METRIC_CPU_USER_TIME), 1200, "a step that ends has what its slurmstepd left");
	is_u64(value(0, METRIC_TCP_RECEIVED_BYTES), 50, "and what that did not");
	is_u64(shown[0].ncounters, 1, "it is not read any more");
	s = ledger_slot(node.l, 0);
	figures_set(&s->figures, METRIC_CPU_USER_TIME, 1100);
	atomic_store(&s->state, SLOT_CLOSED);
	live_read(live, node.l, NULL, NULL);
	is_u64(value(0, METRIC_CPU_USER_TIME), 1200, "its last value does not go back either");
	end();
}

/* A new step in a slot begins anew. */
static void test_reuse(void)
{
	uint32_t before;

	begin();
	claim(0, 1);
	shown[0].user_ns = 1000;
	tick();
	before = ledger_slot(node.l, 0)->claim;
	leave_figures(0, METRIC_CPU_USER_TIME, 1200);
	ledger_leave(node.l, 0);
	tick(); /* books its end */
	tick();
	ok(!live_find(live, 0, before), "a step that has left is forgotten");
	claim(0, 1);
	shown[0].user_ns = 5;
	tick();
	ok(!live_find(live, 0, before), "the step before it in its slot is another one");
	is_u64(value(0, METRIC_CPU_USER_TIME), 5, "the new step begins with its own value");
	end();
}

int main(void)
{
	alarm(60);
	if (!mkdtemp(dir))
		return 99;
	test_nothing();
	test_counters();
	test_pressure();
	test_closing();
	test_reuse();
	(void)rmdir(dir);
	return done_testing();
}
