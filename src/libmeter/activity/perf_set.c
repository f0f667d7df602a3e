/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libmeter/activity/perf_set.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "src/libutil/clock.h"
#include "src/libutil/logger.h"
#include "src/libutil/muldiv.h"
#include "src/libutil/util.h"

/* descriptors that are left for slurmstepd itself; half of them, if the limit is small */
#define KEEP_FDS 1024

struct perf_reading {
	uint64_t value, enabled_ns, running_ns;
};

struct perf_counter {
	int fd;
	uint8_t event;
	/* how many events a read of this one returns, itself included; 0: the leader's read returns it */
	uint8_t members;
	bool is_grouped; /* one read of the leader returns all members */
	uint64_t id;	 /* id of the event in the kernel, by which is_ours() recognises our descriptor */
	uint64_t opened_mono_ns;
	struct perf_reading base;
};

struct perf_set {
	const struct perf_event_ops *ops;
	void *ctx;
	struct hwevents events;
	enum metric_reason reason[HWEVENTS_MAX];
	bool is_full;
	struct perf_counter *counter; /* members follow their leader */
	size_t n, size;
};

enum metric_reason perf_reason(int error)
{
	switch (error) {
	case ENOENT:
	case ENODEV:
	case ENXIO:
	case EOPNOTSUPP:
	case ENOSYS:
		return REASON_NO_PMU;
	case EACCES:
	case EPERM:
		return REASON_NO_PERMISSION;
	case EMFILE:
	case ENFILE:
	case EINVAL:
	case EBUSY:
		return REASON_NO_COUNTER;
	default:
		return REASON_FAILED;
	}
}

/* --- opening -------------------------------------------------------------------------------- */

int perf_set_create(const struct perf_event_ops *ops, void *ctx, const struct hwevents *events,
		    struct perf_set **ret)
{
	struct perf_set *s = calloc(1, sizeof(*s));
	uint32_t i;

	if (!s)
		return -ENOMEM;
	s->ops = ops;
	s->ctx = ctx;
	s->events = *events;
	for (i = 0; i < events->n; i++)
		s->reason[i] = events->event[i].reason;
	*ret = s;
	return 0;
}

static int grow(struct perf_set *s)
{
	size_t size = s->size ? s->size * 2 : HWEVENTS_MAX;
	struct perf_counter *more;

	if (s->n < s->size)
		return 0;
	more = reallocarray(s->counter, size, sizeof(*more));
	if (!more)
		return -ENOMEM;
	s->counter = more;
	s->size = size;
	return 0;
}

/*
 * Returns the largest descriptor to use. Ten events of 400 tasks could take all descriptors; then slurmstepd
 * could neither receive a message nor read a file until its step ends.
 */
static int last_fd(void)
{
	struct rlimit limit;
	uint64_t keep;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur > INT_MAX)
		return INT_MAX;
	keep = limit.rlim_cur / 2 < KEEP_FDS ? limit.rlim_cur / 2 : KEEP_FDS;
	return (int)(limit.rlim_cur - keep);
}

static int open_one(struct perf_set *s, const struct perf_set_target *t, uint32_t event, int leader, int last)
{
	struct perf_event_attr attr = s->events.event[event].attr;
	int fd;

	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	if (t->is_inherited) {
		/* one read per event: inherited groups cannot be read before 6.13 */
		attr.inherit = 1;
		attr.disabled = leader < 0; /* members run if their leader does */
		attr.enable_on_exec = leader < 0;
	} else {
		attr.read_format |= PERF_FORMAT_GROUP;
	}
	fd = s->ops->open(s->ctx, &attr, t->pid, t->cpu, leader, t->flags);
	if (fd <= last)
		return fd;
	s->ops->close(s->ctx, fd);
	return -EMFILE;
}

static void log_refusal(const struct perf_set *s, const struct perf_set_target *t, uint32_t event, int rc)
{
	logger_debug("perf: %s on %s %d: %s", s->events.event[event].name, t->cpu < 0 ? "process" : "CPU",
		     t->cpu < 0 ? (int)t->pid : t->cpu, strerror(-rc));
}

/* Reads a group; the values are in the order of its members. */
static int read_leader(const struct perf_set *s, const struct perf_counter *leader,
		       struct perf_reading ret[HWEVENTS_MAX])
{
	struct {
		uint64_t nr, enabled_ns, running_ns, value[HWEVENTS_MAX];
	} group;
	ssize_t n;
	size_t i;

	if (!leader->is_grouped) {
		n = s->ops->read(s->ctx, leader->fd, ret, sizeof(*ret));
		return n < 0 ? (int)n : n == sizeof(*ret) ? 0 : -EIO;
	}
	n = s->ops->read(s->ctx, leader->fd, &group, sizeof(group));
	if (n < 0)
		return (int)n;
	/* the CPU went offline: the group fell apart, and its counts are lost */
	if (n < (ssize_t)(3 * sizeof(uint64_t)) || group.nr != leader->members)
		return -EIO;
	for (i = 0; i < group.nr; i++)
		ret[i] = (struct perf_reading){ group.value[i], group.enabled_ns, group.running_ns };
	return 0;
}

/* Stores the first values of the counters from FIRST on, which are those of one target. */
static void take_bases(struct perf_set *s, size_t first)
{
	struct perf_reading now[HWEVENTS_MAX];
	uint64_t mono_ns = clock_mono_ns();
	size_t i, k;

	for (i = first; i < s->n; i++)
		s->counter[i].opened_mono_ns = mono_ns;
	for (i = first; i < s->n; i++)
		if (s->counter[i].members && read_leader(s, &s->counter[i], now) == 0)
			for (k = 0; k < s->counter[i].members; k++)
				s->counter[i + k].base = now[k];
}

/*
 * An event that cannot join the group is opened alone. Members after it join this event's group, so
 * that members always follow their leader.
 */
int perf_set_add(struct perf_set *s, const struct perf_set_target *t)
{
	size_t first = s->n, leader = 0;
	int last = last_fd();
	bool has_leader = false;
	uint8_t group = 0;
	uint32_t i;

	for (i = 0; i < s->events.n; i++) {
		struct perf_counter c = { .event = (uint8_t)i, .is_grouped = !t->is_inherited };

		if (s->reason[i] != REASON_NONE)
			continue;
		if (s->events.event[i].group != group)
			has_leader = false;
		group = s->events.event[i].group;
		if (grow(s) < 0) {
			s->reason[i] = REASON_FAILED;
			return -ENOMEM;
		}
		c.fd = open_one(s, t, i, has_leader ? s->counter[leader].fd : -1, last);
		if (c.fd == -EINVAL && has_leader) {
			has_leader = false;
			c.fd = open_one(s, t, i, -1, last);
		}
		if (c.fd == -ENODEV && t->cpu >= 0 && s->n == first)
			return -ENODEV;
		if (c.fd < 0) {
			s->reason[i] = perf_reason(-c.fd);
			s->is_full |= c.fd == -EMFILE;
			log_refusal(s, t, i, c.fd);
			continue;
		}
		if (s->ops->id(s->ctx, c.fd, &c.id) < 0)
			c.id = 0;
		if (!has_leader || t->is_inherited)
			c.members = 1;
		else
			s->counter[leader].members++;
		if (!has_leader)
			leader = s->n;
		has_leader = true;
		s->counter[s->n++] = c;
	}
	take_bases(s, first);
	return 0;
}

int perf_set_try(const struct perf_set *s, const struct perf_set_target *t)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.config = PERF_COUNT_SW_DUMMY,
					.size = sizeof(attr) };
	int fd = s->ops->open(s->ctx, &attr, t->pid, t->cpu, -1, t->flags);

	if (fd < 0)
		return fd;
	s->ops->close(s->ctx, fd);
	return 0;
}

/* --- reading -------------------------------------------------------------------------------- */

/*
 * Returns true if the descriptor is still our counter. With contain_spank (24.05) Slurm calls us in
 * a process that shares our memory, but not our descriptors. There, the number may be another file,
 * which must not be read or closed.
 */
static bool is_ours(const struct perf_set *s, const struct perf_counter *c)
{
	uint64_t id;

	return s->ops->id(s->ctx, c->fd, &id) == 0 && id == c->id;
}

/* The sums of one event over all targets. */
struct total {
	uint64_t scaled;     /* counts, scaled up where the event had the PMU for only a part of the time */
	uint64_t counted_ns; /* time in which the event had the PMU, as far as SCALED covers it */
	uint64_t enabled_ns, running_ns;
};

/*
 * Corrects a bug of Linux 6.18: for the first event of a cgroup on its CPU, both times include the
 * uptime. No CPU can have run longer than the event is open.
 */
static void cut_uptime(const struct perf_counter *c, uint64_t mono_ns, struct perf_reading *delta)
{
	uint64_t most_ns = mono_ns - c->opened_mono_ns;
	uint64_t extra_ns = delta->enabled_ns > most_ns ? delta->enabled_ns - most_ns : 0;

	if (!c->is_grouped)
		return; /* an inherited counter sums over threads, so its times may be longer */
	delta->enabled_ns -= extra_ns;
	delta->running_ns -= extra_ns < delta->running_ns ? extra_ns : delta->running_ns;
}

static enum metric_reason add_one(const struct perf_counter *c, const struct perf_reading *now,
				  uint64_t mono_ns, struct total *to)
{
	struct perf_reading delta = { now->value - c->base.value, now->enabled_ns - c->base.enabled_ns,
				      now->running_ns - c->base.running_ns };

	if (now->value < c->base.value || now->enabled_ns < c->base.enabled_ns ||
	    now->running_ns < c->base.running_ns)
		return REASON_FAILED;
	cut_uptime(c, mono_ns, &delta);
	to->enabled_ns += delta.enabled_ns;
	to->running_ns += delta.running_ns;
	if (delta.running_ns) {
		to->scaled += muldiv(delta.value, delta.enabled_ns, delta.running_ns);
		to->counted_ns += delta.enabled_ns;
	}
	return REASON_NONE;
}

static struct perf_sum sum_of(const struct total *t, enum metric_reason reason)
{
	struct perf_sum sum = {
		.value = t->counted_ns == t->enabled_ns ? t->scaled :
							  muldiv(t->scaled, t->enabled_ns, t->counted_ns),
		.enabled_ns = t->enabled_ns,
		.running_ns = t->running_ns,
		.reason = (uint8_t)reason,
	};

	if (reason == REASON_NONE && t->enabled_ns && !t->counted_ns)
		sum.reason = REASON_NO_COUNTER; /* it was never on the PMU */
	if (sum.reason != REASON_NONE)
		sum.value = 0;
	return sum;
}

void perf_set_read(const struct perf_set *s, struct perf_sum ret[HWEVENTS_MAX])
{
	struct total total[HWEVENTS_MAX] = { { 0 } };
	enum metric_reason reason[HWEVENTS_MAX];
	uint64_t mono_ns = clock_mono_ns();
	size_t i, k;

	memcpy(reason, s->reason, sizeof(reason));
	for (i = 0; i < s->n; i++) {
		const struct perf_counter *c = &s->counter[i];
		struct perf_reading now[HWEVENTS_MAX];
		int rc = is_ours(s, c) ? 0 : -EBADF;

		if (rc == 0 && c->members)
			rc = read_leader(s, c, now);
		for (k = 0; k < (rc < 0 ? 1u : c->members); k++) {
			const struct perf_counter *m = &s->counter[i + k];
			enum metric_reason why = REASON_FAILED;

			if (rc == 0)
				why = add_one(m, &now[k], mono_ns, &total[m->event]);
			if (why != REASON_NONE)
				reason[m->event] = why;
		}
		/* without its leader, no member of the group can be read */
		for (k = 1; rc < 0 && k < c->members; k++)
			reason[s->counter[i + k].event] = REASON_FAILED;
	}
	for (i = 0; i < s->events.n; i++)
		ret[i] = sum_of(&total[i],
				reason[i] == REASON_NONE && !s->n ? REASON_NOT_MEASURED : reason[i]);
}

bool perf_set_counts(const struct perf_set *s)
{
	uint32_t i;

	for (i = 0; s->n && i < s->events.n; i++)
		if (s->reason[i] == REASON_NONE)
			return true;
	return false;
}

bool perf_set_is_full(const struct perf_set *s)
{
	return s->is_full;
}

void perf_set_destroy(struct perf_set *s)
{
	size_t i;

	if (!s)
		return;
	for (i = s->n; i--;) /* close the leader last, or its group would fall apart */
		if (is_ours(s, &s->counter[i]))
			s->ops->close(s->ctx, s->counter[i].fd);
	free(s->counter);
	free(s);
}
