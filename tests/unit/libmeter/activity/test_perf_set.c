/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Groups of events on a simulated machine: what does not fit, what takes turns, what falls apart when a
 * CPU goes away, and what the sums make of it.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "src/libmeter/activity/perf_set.h"
#include "src/libutil/clock.h"
#include "src/libutil/util.h"
#include "tap.h"

#define MS UINT64_C(1000000)
#define FD 100 /* the first one, as no read() or close() shall hit a real one */
#define FDS 256

/* --- the machine --------------------------------------------------------------------------- */

struct played {
	unsigned int fits;	 /* members that a group may have; 0: any number */
	int fails[HWEVENTS_MAX]; /* by config */
	bool is_offline[4];
	bool is_torn;
	struct {
		bool is_open;
		struct perf_event_attr attr;
		int cpu, leader; /* itself, if it is one */
		pid_t pid;
		uint64_t id, value, enabled_ns, running_ns;
	} e[FDS];
	uint64_t ids;
	unsigned int reads, opens;
};

static int played_open(void *ctx, const struct perf_event_attr *attr, pid_t pid, int cpu, int group,
		       unsigned long flags)
{
	struct played *m = ctx;
	unsigned int members = 0;
	int i, fd = -1;

	(void)flags;
	if (cpu >= 0 && m->is_offline[cpu])
		return -ENODEV;
	if (attr->type == PERF_TYPE_RAW && m->fails[attr->config])
		return m->fails[attr->config];
	for (i = 0; i < FDS; i++) {
		members += m->e[i].is_open && group >= 0 && m->e[i].leader == group - FD;
		if (fd < 0 && !m->e[i].is_open)
			fd = i;
	}
	if (m->fits && group >= 0 && members >= m->fits)
		return -EINVAL;
	memset(&m->e[fd], 0, sizeof(m->e[fd]));
	m->e[fd].is_open = true;
	m->e[fd].attr = *attr;
	m->e[fd].cpu = cpu;
	m->e[fd].pid = pid;
	m->e[fd].leader = group < 0 ? fd : group - FD;
	m->e[fd].id = ++m->ids;
	m->opens++;
	return FD + fd;
}

static ssize_t played_read(void *ctx, int fd, void *buf, size_t size)
{
	struct played *m = ctx;
	uint64_t out[3 + HWEVENTS_MAX] = { 0 };
	size_t n;
	int i;

	fd -= FD;
	m->reads++;
	out[1] = m->e[fd].enabled_ns;
	out[2] = m->e[fd].running_ns;
	if (!(m->e[fd].attr.read_format & PERF_FORMAT_GROUP)) {
		out[0] = m->e[fd].value;
		n = 3;
	} else {
		for (i = 0; i < FDS; i++)
			if (m->e[i].is_open && m->e[i].leader == fd && (i == fd || !m->is_torn))
				out[3 + out[0]++] = m->e[i].value;
		n = 3 + out[0];
	}
	if (size < n * sizeof(out[0]))
		return -ENOSPC;
	memcpy(buf, out, n * sizeof(out[0]));
	return (ssize_t)(n * sizeof(out[0]));
}

static int played_id(void *ctx, int fd, uint64_t *ret)
{
	struct played *m = ctx;

	if (fd < FD || !m->e[fd - FD].is_open)
		return -EBADF;
	*ret = m->e[fd - FD].id;
	return 0;
}

static void played_close(void *ctx, int fd)
{
	struct played *m = ctx;

	m->e[fd - FD].is_open = false;
}

static const struct perf_event_ops played_ops = {
	.open = played_open,
	.read = played_read,
	.id = played_id,
	.close = played_close,
};

static unsigned int left_open(const struct played *m)
{
	unsigned int n = 0;
	int i;

	for (i = 0; i < FDS; i++)
		n += m->e[i].is_open;
	return n;
}

/* Events of CONFIG ran on CPU; their counters had RUNNING_NS of it. */
static void run(struct played *m, int cpu, uint64_t config, uint64_t value, uint64_t enabled_ns,
		uint64_t running_ns)
{
	int i;

	for (i = 0; i < FDS; i++)
		if (m->e[i].is_open && m->e[i].cpu == cpu && m->e[i].attr.config == config) {
			m->e[i].value += value;
			m->e[i].enabled_ns += enabled_ns;
			m->e[i].running_ns += running_ns;
		}
}

/* --- sets ------------------------------------------------------------------------------------ */

/* Two groups: 0, 1, 2 and 3, 4; an event's config is its index. */
static struct perf_set *new_set(struct played *m)
{
	struct hwevents events = { .n = 5 };
	struct perf_set *s;
	uint32_t i;

	for (i = 0; i < events.n; i++) {
		events.event[i].attr.type = PERF_TYPE_RAW;
		events.event[i].attr.config = i;
		events.event[i].group = i >= 3;
		events.event[i].factor = 1;
	}
	return perf_set_create(&played_ops, m, &events, &s) == 0 ? s : NULL;
}

static int add_cpu(struct perf_set *s, int cpu)
{
	return perf_set_add(s,
			    &(struct perf_set_target){ .pid = 7, .cpu = cpu, .flags = PERF_FLAG_PID_CGROUP });
}

/* CPUs cannot have run for longer than their events are open; so the test waits a little. */
static void wait_ms(uint64_t ms)
{
	uint64_t until = clock_mono_ns() + ms * MS;

	while (clock_mono_ns() < until)
		(void)usleep(1000);
}

static void test_refused(void)
{
	struct played *m = calloc(1, sizeof(*m));
	struct perf_sum sum[HWEVENTS_MAX];
	struct perf_set *s = new_set(m);

	perf_set_read(s, sum);
	is_u64(sum[0].reason, REASON_NOT_MEASURED, "no target: not measured");
	ok(!perf_set_counts(s), "nothing counts");
	m->fails[0] = -ENOENT;
	m->fails[1] = -EACCES;
	m->fails[2] = -EMFILE;
	m->fails[3] = -EBUSY;
	m->fails[4] = -E2BIG;
	is_int(add_cpu(s, 0), 0, "all refused is no error");
	perf_set_read(s, sum);
	is_u64(sum[0].reason, REASON_NO_PMU, "ENOENT: no PMU");
	is_u64(sum[1].reason, REASON_NO_PERMISSION, "EACCES: no permission");
	is_u64(sum[2].reason, REASON_NO_COUNTER, "EMFILE: no free counter");
	is_u64(sum[3].reason, REASON_NO_COUNTER, "EBUSY: no free counter");
	is_u64(sum[4].reason, REASON_FAILED, "anything else failed");
	ok(perf_set_is_full(s), "and the set reports that descriptors ran out");
	perf_set_destroy(s);

	s = new_set(m);
	memset(m->fails, 0, sizeof(m->fails));
	m->fails[1] = -ENOENT;
	m->opens = 0;
	ok(add_cpu(s, 0) == 0 && add_cpu(s, 1) == 0, "one event of a group is refused");
	is_u64(m->opens, 8, "it is not tried on the next CPU: half a sum looks like a number");
	perf_set_read(s, sum);
	ok(sum[0].reason == REASON_NONE && sum[1].reason == REASON_NO_PMU && sum[2].reason == REASON_NONE &&
		   sum[4].reason == REASON_NONE,
	   "the others count");
	perf_set_destroy(s);
	is_u64(left_open(m), 0, "all closed");
	perf_set_destroy(NULL);
	free(m);
}

static void test_leader_refused(void)
{
	struct played *m = calloc(1, sizeof(*m));
	struct perf_sum sum[HWEVENTS_MAX];
	struct perf_set *s = new_set(m);

	m->fails[0] = -ENOENT;
	is_int(add_cpu(s, 0), 0, "a group's leader is refused");
	wait_ms(2);
	run(m, 0, 1, 11, MS, MS);
	run(m, 0, 2, 22, MS, MS);
	perf_set_read(s, sum);
	ok(sum[1].value == 11 && sum[2].value == 22, "the next event leads");
	perf_set_destroy(s);
	free(m);
}

static void test_groups(void)
{
	struct played *m = calloc(1, sizeof(*m));
	struct perf_sum sum[HWEVENTS_MAX];
	struct perf_set *s = new_set(m);
	uint32_t i;

	is_int(add_cpu(s, 0), 0, "add");
	ok(m->e[0].leader == 0 && m->e[1].leader == 0 && m->e[2].leader == 0 && m->e[3].leader == 3 &&
		   m->e[4].leader == 3,
	   "members count with their leader");
	ok(!m->e[0].attr.inherit && !m->e[0].attr.disabled, "a cgroup's count at once");
	wait_ms(12);
	for (i = 0; i < 5; i++)
		run(m, 0, i, 100 + i, 10 * MS, 10 * MS);
	m->reads = 0;
	perf_set_read(s, sum);
	is_u64(m->reads, 2, "one read for each group");
	ok(sum[0].value == 100 && sum[2].value == 102 && sum[4].value == 104, "each value to its event");
	perf_set_destroy(s);

	s = new_set(m);
	is_int(perf_set_add(s, &(struct perf_set_target){ .pid = 7, .cpu = -1, .is_inherited = true }), 0,
	       "add a task");
	ok(m->e[0].attr.inherit && m->e[0].attr.disabled && m->e[0].attr.enable_on_exec &&
		   m->e[1].attr.inherit && !m->e[1].attr.disabled && !m->e[1].attr.enable_on_exec,
	   "a task's group begins with its leader, at exec");
	ok(!(m->e[0].attr.read_format & PERF_FORMAT_GROUP), "and is read one by one");
	perf_set_destroy(s);
	free(m);
}

static void test_does_not_fit(void)
{
	struct played *m = calloc(1, sizeof(*m));
	struct perf_sum sum[HWEVENTS_MAX];
	struct perf_set *s = new_set(m);
	uint32_t i;

	m->fits = 2;
	is_int(add_cpu(s, 0), 0, "groups of three on two counters");
	ok(m->e[1].leader == 0 && m->e[2].leader == 2 && m->e[4].leader == 3,
	   "the third counts apart, the next group is whole");
	wait_ms(12);
	for (i = 0; i < 5; i++)
		run(m, 0, i, 100 + i, 10 * MS, i == 2 ? 5 * MS : 10 * MS);
	perf_set_read(s, sum);
	ok(sum[1].value == 101 && sum[2].value == 204 && sum[4].value == 104,
	   "and is scaled by its own share");
	perf_set_destroy(s);
	is_u64(left_open(m), 0, "all closed");
	free(m);
}

static void test_scaling(void)
{
	static const struct {
		const char *name;
		struct {
			uint64_t value, enabled_ms, running_ms;
		} cpu[2];
		uint64_t value;
		enum metric_reason reason;
	} t[] = {
		{ "never on the PMU", { { 0, 10, 0 }, { 0, 8, 0 } }, 0, REASON_NO_COUNTER },
		{ "the step never ran", { { 0, 0, 0 }, { 0, 0, 0 } }, 0, REASON_NONE },
		{ "all of the time", { { 70, 10, 10 }, { 30, 8, 8 } }, 100, REASON_NONE },
		{ "half of the time", { { 70, 10, 5 }, { 30, 8, 4 } }, 200, REASON_NONE },
		{ "each CPU by its own share", { { 70, 10, 5 }, { 30, 8, 2 } }, 260, REASON_NONE },
		{ "a CPU without a turn is like the others",
		  { { 80, 8, 4 }, { 0, 4, 0 } },
		  240,
		  REASON_NONE },
		{ "one CPU only", { { 80, 8, 8 }, { 0, 0, 0 } }, 80, REASON_NONE },
	};
	size_t i;
	int c;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct played *m = calloc(1, sizeof(*m));
		struct perf_set *s = new_set(m);
		struct perf_sum sum[HWEVENTS_MAX];

		diag("%s", t[i].name);
		(void)add_cpu(s, 0);
		(void)add_cpu(s, 1);
		wait_ms(12);
		for (c = 0; c < 2; c++)
			run(m, c, 0, t[i].cpu[c].value, t[i].cpu[c].enabled_ms * MS,
			    t[i].cpu[c].running_ms * MS);
		perf_set_read(s, sum);
		is_u64(sum[0].reason, t[i].reason, "reason");
		is_u64(sum[0].value, t[i].value, "value");
		is_u64(sum[0].enabled_ns, (t[i].cpu[0].enabled_ms + t[i].cpu[1].enabled_ms) * MS, "wanted");
		is_u64(sum[0].running_ns, (t[i].cpu[0].running_ms + t[i].cpu[1].running_ms) * MS, "had");
		perf_set_destroy(s);
		free(m);
	}
}

/* What a kernel says of a cgroup's first event on a CPU: its uptime on top of both times. */
static void test_uptime(void)
{
	struct played *m = calloc(1, sizeof(*m));
	struct perf_set *s = new_set(m);
	struct perf_sum sum[HWEVENTS_MAX];

	(void)add_cpu(s, 0);
	wait_ms(12);
	run(m, 0, 0, 50, 10 * MS + 1505388718067, 10 * MS + 1505388718067);
	perf_set_read(s, sum);
	is_u64(sum[0].value, 50, "uptime: the value is not scaled by it");
	ok(sum[0].enabled_ns < 600000 * MS && sum[0].running_ns <= sum[0].enabled_ns,
	   "and is no CPU time of the step");
	perf_set_destroy(s);
	free(m);
}

static void test_offline(void)
{
	struct played *m = calloc(1, sizeof(*m));
	struct perf_set *s = new_set(m);
	struct perf_sum sum[HWEVENTS_MAX];

	m->is_offline[1] = true;
	ok(add_cpu(s, 0) == 0 && add_cpu(s, 1) == -ENODEV && add_cpu(s, 2) == 0,
	   "an offline CPU is left out");
	wait_ms(12);
	run(m, 0, 0, 10, 8 * MS, 8 * MS);
	run(m, 2, 0, 10, 8 * MS, 8 * MS);
	perf_set_read(s, sum);
	ok(sum[0].reason == REASON_NONE && sum[0].value == 20, "the others count");
	m->is_torn = true; /* a CPU went away: its groups are pieces */
	perf_set_read(s, sum);
	is_u64(sum[0].reason, REASON_FAILED, "torn groups: what they had counted is not known");
	is_u64(sum[2].reason, REASON_FAILED, "of no member");
	perf_set_destroy(s);
	is_u64(left_open(m), 0, "all closed");
	free(m);
}

/* contain_spank: the number is another process's file by now, or an event that is not ours. */
static void test_foreign(void)
{
	struct played *m = calloc(1, sizeof(*m));
	struct perf_set *s = new_set(m);
	struct perf_sum sum[HWEVENTS_MAX];

	(void)add_cpu(s, 0);
	m->e[0].id += 1000;
	perf_set_read(s, sum);
	ok(sum[0].reason == REASON_FAILED && sum[1].reason == REASON_FAILED,
	   "a group whose leader is not ours is not read");
	ok(sum[3].reason == REASON_NONE, "the other group is");
	perf_set_destroy(s);
	is_u64(left_open(m), 1, "what is not ours stays open");
	free(m);
}

int main(void)
{
	test_refused();
	test_leader_refused();
	test_groups();
	test_does_not_fit();
	test_scaling();
	test_uptime();
	test_offline();
	test_foreign();
	return done_testing();
}
