/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What slurmd reads of running steps, from a ledger with steps of the test's own. The linker sends the reads
 * of cgroups and BPF maps here (-Wl,--wrap), so that the test says what they show.
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
	unsigned int ncounters; /* how often the probes were read */
	uint64_t stalled_ns;	/* 0: PSI is missing */
	unsigned int npressure; /* how often it was read */
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

void __wrap_pressure_read(const struct cgroup_paths *paths, struct values *f);
void __wrap_pressure_read(const struct cgroup_paths *paths, struct values *f)
{
	unsigned int step = (unsigned int)strtoul(paths->v2, NULL, 10);
	uint64_t ns = shown[step].stalled_ns;

	shown[step].npressure++;
	if (ns)
		values_set(f, METRIC_CPU_PRESSURE_SOME, ns);
	else
		values_miss(f, METRIC_CPU_PRESSURE_SOME, REASON_NO_PSI);
}

void __wrap_nodeprobes_read_steps(struct nodeprobes *np, const struct nodeprobes_step *step, size_t n);
void __wrap_nodeprobes_read_steps(struct nodeprobes *np, const struct nodeprobes_step *step, size_t n)
{
	size_t i;

	(void)np;
	for (i = 0; i < n; i++) {
		unsigned int s = (unsigned int)strtoul(step[i].slot->cgroup.v2, NULL, 10);

		shown[s].ncounters++;
		if (shown[s].recv_bytes)
			values_set(step[i].values, METRIC_TCP_RECEIVED_BYTES, shown[s].recv_bytes);
	}
}

/* --- the ledger ----------------------------------------------------------------------------- */

static char dir[] = SCRATCH_TEMPLATE;
static struct fake_sampler node;
static struct live live;

static void begin(void)
{
	struct errmsg err = { 0 };

	memset(shown, 0, sizeof(shown));
	memset(&live, 0, sizeof(live));
	if (fake_start(&node, dir, "n1", &err) < 0) {
		diag("%s", err.text);
		exit(99);
	}
}

static void end(void)
{
	fake_stop(&node);
	scratch_clear(dir);
}

/* N more steps of one job, in the slots from 0 on; they count from the next tick on. */
static void claim(unsigned int from, unsigned int n)
{
	unsigned int slot, i;

	for (i = from; i < from + n; i++) {
		const struct ledger_identity id = {
			.job_id = 7, .step_id = i, .job_cpus = 1, .step_cpus = 1, .node_count = 1
		};
		struct ledger_slot *s;

		if (ledger_claim(node.l, &id, &slot) < 0 || slot != i)
			exit(99);
		s = ledger_slot(node.l, slot);
		(void)snprintf(s->cgroup.v2, sizeof(s->cgroup.v2), "%u", i);
		atomic_store(&s->cgroup_known, 1);
	}
}

static void tick(void)
{
	if (fake_tick(&node, 0, 1000, 1000) < 0)
		exit(99);
	live_read(&live, node.l, NULL, NULL);
}

static const struct values *find(unsigned int slot)
{
	return ledger_live(node.l, slot, ledger_slot(node.l, slot)->claim);
}

static uint64_t value(unsigned int slot, enum metric m)
{
	const struct values *f = find(slot);

	return f && values_has(f, m) ? f->value[m] : UINT64_MAX;
}

/* As a slurmstepd does it at the step's end, before anything is booked. */
static void leave_values(unsigned int slot, enum metric m, uint64_t n)
{
	struct ledger_slot *s = ledger_slot(node.l, slot);

	values_set(&s->values, m, n);
	atomic_store(&s->state, SLOT_CLOSING);
}

/* -------------------------------------------------------------------------------------------- */

static void test_nothing(void)
{
	begin();
	live_read(&live, node.l, NULL, NULL);
	ok(!ledger_live(node.l, 0, 1), "of a ledger without steps nothing is known");
	ok(!ledger_live(node.l, 0, 0) && !ledger_live(node.l, LEDGER_STEPS, 1),
	   "nor of no step or of a slot too far");
	claim(0, 1);
	atomic_store(&ledger_slot(node.l, 0)->cgroup_known, 0);
	tick();
	ok(find(0) != NULL, "a step without a cgroup is known");
	is_u64(shown[0].ncounters, 0, "and not read");
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
		is_u64(value(0, METRIC_CPU_SYSTEM_TIME),
		       t[i].want_ns == UINT64_MAX ? UINT64_MAX : t[i].want_ns / 10, "its system time");
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
	is_u64(value(0, METRIC_CPU_PRESSURE_SOME), 70, "if PSI cannot be read any more the last value stays");
	leave_values(0, METRIC_CPU_PRESSURE_SOME, 90);
	tick();
	is_u64(value(0, METRIC_CPU_PRESSURE_SOME), 90, "at the step's end slurmstepd's value counts");
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
	leave_values(0, METRIC_CPU_USER_TIME, 1200);
	shown[0].user_ns = 9999;
	live_read(&live, node.l, NULL, NULL);
	is_u64(value(0, METRIC_CPU_USER_TIME), 1200, "a step that ends has what its slurmstepd left");
	is_u64(value(0, METRIC_TCP_RECEIVED_BYTES), 50, "and what the sampler had read before");
	is_u64(shown[0].ncounters, 1, "it is not read any more");
	s = ledger_slot(node.l, 0);
	values_set(&s->values, METRIC_CPU_USER_TIME, 1100);
	atomic_store(&s->state, SLOT_CLOSED);
	live_read(&live, node.l, NULL, NULL);
	is_u64(value(0, METRIC_CPU_USER_TIME), 1200, "its last value does not go back either");
	end();
}

/* What only a slurmstepd can read: it publishes that, and finds there what the sampler read. */
static void test_told(void)
{
	struct values f;

	begin();
	claim(0, 1);
	is_int(ledger_step_live(node.l, 0, &f), -ENODATA,
	       "of a step that was not read nothing is known, not 0");
	shown[0].user_ns = 1000;
	values_init(&f);
	values_set(&f, METRIC_CYCLES, 500);
	ledger_tell(node.l, 0, &f);
	tick();
	is_u64(value(0, METRIC_CYCLES), 500, "the sampler takes over slurmstepd's counters");
	values_set(&f, METRIC_CYCLES, 700);
	ledger_tell(node.l, 0, &f);
	is_u64(value(0, METRIC_CYCLES), 500, "a later value only at its next reading");
	is_int(ledger_step_live(node.l, 0, &f), 0, "the slurmstepd itself");
	is_u64(f.value[METRIC_CYCLES], 700, "  has its last value at once");
	is_u64(f.value[METRIC_CPU_USER_TIME], 1000, "  and what the sampler read");
	ok(!values_has(&f, METRIC_MEMORY_PEAK), "  and nothing that nobody read");
	tick();
	values_set(&f, METRIC_CYCLES, 600);
	ledger_tell(node.l, 0, &f);
	tick();
	is_u64(value(0, METRIC_CYCLES), 700, "an estimate never goes back");
	end();
}

/* The extern step tells the whole job while it runs as it does at its end. */
static void test_job(void)
{
	struct ledger_slot *s;
	struct values f;

	begin();
	claim(0, 3);
	shown[0].user_ns = 1000;
	shown[1].user_ns = 20;
	shown[2].user_ns = UINT64_MAX;
	tick();
	is_int(ledger_job_total(node.l, 7, NULL, &f, NULL), 0, "a job of three running steps");
	is_u64(f.value[METRIC_CPU_USER_TIME], 1020, "  has what they did so far");
	leave_values(0, METRIC_CPU_USER_TIME, 1100);
	is_int(ledger_job_total(node.l, 7, NULL, &f, NULL), 0, "one ends");
	is_u64(f.value[METRIC_CPU_USER_TIME], 1120, "  and counts once, with its last value");
	s = ledger_slot(node.l, 0);
	ledger_leave(node.l, 0);
	tick();
	tick();
	is_int((int)atomic_load(&s->state), SLOT_FREE, "it is gone");
	is_int(ledger_job_total(node.l, 7, NULL, &f, NULL), 0, "the job");
	is_u64(f.value[METRIC_CPU_USER_TIME], 1120, "  still has it once");
	end();
}

/* A writer that is killed in the middle leaves an odd counter: nothing is taken from there, nobody waits. */
static void test_torn(void)
{
	struct values f;

	begin();
	claim(0, 1);
	shown[0].user_ns = 1000;
	tick();
	atomic_fetch_add(&ledger_slot(node.l, 0)->live.seq, 1);
	is_int(ledger_step_live(node.l, 0, &f), -ENODATA,
	       "half-written values of a killed slurmd are not used");
	tick();
	is_int(ledger_step_live(node.l, 0, &f), 0, "the next slurmd writes them anew");
	is_u64(f.value[METRIC_CPU_USER_TIME], 1000, "  all of it");
	atomic_fetch_add(&ledger_slot(node.l, 0)->values_seq, 1);
	ok(!ledger_told(ledger_slot(node.l, 0), &f),
	   "half-written values of a killed slurmstepd are not used");
	is_int(ledger_step_live(node.l, 0, &f), 0, "then there are the sampler's values only");
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
	leave_values(0, METRIC_CPU_USER_TIME, 1200);
	ledger_leave(node.l, 0);
	tick(); /* books its end */
	tick();
	ok(!ledger_live(node.l, 0, before), "a step that has left is forgotten");
	claim(0, 1);
	shown[0].user_ns = 5;
	tick();
	ok(!ledger_live(node.l, 0, before), "the step before it in its slot is another one");
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
	test_told();
	test_job();
	test_torn();
	(void)rmdir(dir);
	return done_testing();
}
