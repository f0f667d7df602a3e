/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libmeter/activity/perf.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "src/libmeter/activity/bperf.h"
#include "src/libmeter/activity/hwevents.h"
#include "src/libmeter/activity/perf_set.h"
#include "src/libutil/logger.h"
#include "src/libutil/muldiv.h"
#include "src/libutil/util.h"
#include "src/libutil/wide_math.h"

#define PPM 1000000u
/* CPU time from which a share is computed; groups take turns every few ms */
#define MIN_INTERVAL_NS 100000000u
/* counters are closed if their share is below this part of the best share */
#define YIELD_BELOW_PPM 800000u
/* CPU time that may be missing without scaling: tasks run before their exec */
#define MIN_LACK_NS 100000000u

/* The groups of events; those of a group are opened and closed together. */
enum group {
	GROUP_HW,
	GROUP_OWN,
	GROUP_SW, /* software events, which use no counter and are never closed early */
	GROUP_N
};

struct group_events {
	struct hwevents events;
	/* SET or BPERF is in use; both NULL: not asked for, or closed for a profiler */
	struct perf_set *set;
	struct bperf *bperf;
	struct perf_sum kept[HWEVENTS_MAX]; /* the counts when it was closed */
	const char *way;		    /* how the events are counted, as text; NULL: not asked for */
};

struct perf {
	struct group_events group[GROUP_N];
	int cgroup_fd; /* our own descriptor of the cgroup; -1: none */
	pid_t *pid;
	size_t n;
	bool is_given_back;
	struct {
		uint64_t enabled_ns, running_ns;
	} last; /* at the last perf_poll(), all events together */
	uint32_t best_share_ppm;
};

/* The metrics that each group makes. */
static const struct {
	enum metric metric;
	enum group group;
} made[] = {
	{ METRIC_TASK_CLOCK, GROUP_SW },       { METRIC_CONTEXT_SWITCHES, GROUP_SW },
	{ METRIC_PAGE_FAULTS, GROUP_SW },      { METRIC_CPU_MIGRATIONS, GROUP_SW },
	{ METRIC_CYCLES, GROUP_HW },	       { METRIC_INSTRUCTIONS, GROUP_HW },
	{ METRIC_CACHE_REFERENCES, GROUP_HW }, { METRIC_CACHE_MISSES, GROUP_HW },
	{ METRIC_BRANCHES, GROUP_HW },	       { METRIC_BRANCH_MISSES, GROUP_HW },
	{ METRIC_FP_OPERATIONS, GROUP_HW },    { METRIC_MEMORY_BYTES, GROUP_HW },
	{ METRIC_PMU_ENABLED, GROUP_HW },      { METRIC_PMU_RUNNING, GROUP_HW },
};

/* --- opening -------------------------------------------------------------------------------- */

/*
 * Chooses the software events to open. With task counters, this is only the clock: they
 * count the others already.
 */
static void software_events(bool is_taskcount_on, struct hwevents *ret)
{
	static const struct {
		enum metric metric;
		uint64_t config;
	} t[] = {
		{ METRIC_TASK_CLOCK, PERF_COUNT_SW_TASK_CLOCK },
		{ METRIC_CONTEXT_SWITCHES, PERF_COUNT_SW_CONTEXT_SWITCHES },
		{ METRIC_CPU_MIGRATIONS, PERF_COUNT_SW_CPU_MIGRATIONS },
		{ METRIC_PAGE_FAULTS, PERF_COUNT_SW_PAGE_FAULTS },
	};
	size_t n = is_taskcount_on ? 1 : ARRAY_SIZE(t);

	memset(ret, 0, sizeof(*ret));
	for (; ret->n < n; ret->n++) {
		struct hwevent *e = &ret->event[ret->n];

		(void)snprintf(e->name, sizeof(e->name), "%s", metric_table[t[ret->n].metric].name);
		e->attr.size = sizeof(e->attr);
		e->attr.type = PERF_TYPE_SOFTWARE;
		e->attr.config = t[ret->n].config;
		e->metric = (uint8_t)t[ret->n].metric;
		e->factor = 1;
	}
}

/*
 * Opens a group, by cgroup if possible, which costs nothing at a fork or a switch within the step.
 * It needs a descriptor per CPU; if these do not suffice, one per task may be fewer.
 */
static int open_group(struct perf *p, struct group_events *group)
{
	int rc = perf_set_create(&perf_event_kernel, NULL, &group->events, &group->set);

	group->way = "per task";
	if (rc < 0)
		return rc;
	if (p->cgroup_fd >= 0 && p->n) {
		rc = perf_cgroup_open(group->set, p->cgroup_fd, p->pid[0]);
		if (rc == 0 && !perf_set_is_full(group->set)) {
			group->way = "per cgroup";
			return 0;
		}
		perf_set_destroy(TAKE_PTR(group->set));
		if (rc == -ENOMEM)
			return rc;
		rc = perf_set_create(&perf_event_kernel, NULL, &group->events, &group->set);
		if (rc < 0)
			return rc;
	}
	return perf_task_open(group->set, p->pid, p->n);
}

/*
 * Uses bperf if possible: it costs nothing at a fork or at a switch within the step, and no
 * descriptors.
 */
static bool open_bperf(struct perf *p, const struct perf_target *target)
{
	struct group_events *hw = &p->group[GROUP_HW];
	_cleanup_free_ uint32_t *cpu = NULL;
	struct errmsg err = { 0 };
	size_t n;

	if (!target->probes || !target->slot || !p->n || perf_cgroup_cpus(p->pid[0], &cpu, &n) < 0)
		return false;
	if (bperf_open(target->probes, target->slot, &hw->events, cpu, n, &hw->bperf, &err) < 0) {
		logger_debug("perf: bperf is not used: %s", err.text);
		return false;
	}
	hw->way = "bperf";
	return true;
}

static int open_groups(struct perf *p, const struct perf_target *target)
{
	static const uint32_t asks[GROUP_N] = {
		[GROUP_HW] = PERF_GROUP_HW,
		[GROUP_OWN] = PERF_GROUP_EVENTS,
		[GROUP_SW] = PERF_GROUP_HW | PERF_GROUP_SW,
	};
	int rc = 0;
	size_t i;

	if (target->request->groups & PERF_GROUP_HW)
		hwevents_default(&p->group[GROUP_HW].events);
	if (target->request->groups & PERF_GROUP_EVENTS)
		hwevents_own(target->request, &p->group[GROUP_OWN].events);
	software_events(target->slot != 0, &p->group[GROUP_SW].events);
	if ((target->request->groups & PERF_GROUP_HW) && open_bperf(p, target)) {
		p->group[GROUP_SW].events.n = 0; /* the task counters' CPU time is used as the task clock */
		if (!(target->request->groups & PERF_GROUP_EVENTS))
			return 0;
		return open_group(p, &p->group[GROUP_OWN]);
	}
	for (i = 0; i < GROUP_N && rc == 0; i++)
		if (target->request->groups & asks[i])
			rc = open_group(p, &p->group[i]);
	return rc;
}

bool perf_lacks_own(const struct perf *p, char *buf, size_t size)
{
	const struct hwevents *own = &p->group[GROUP_OWN].events;
	uint32_t i;

	for (i = 0; i < own->n; i++) {
		const struct hwevent *e = &own->event[i];

		if (e->reason == REASON_NONE)
			continue;
		(void)snprintf(buf, size, "%s (%s)", e->name,
			       own->is_unnamed ? "no libpfm4 on this node" :
						 metric_reason_text((enum metric_reason)e->reason));
		return true;
	}
	return false;
}

int perf_open(const struct perf_target *target, struct perf **ret, struct errmsg *err)
{
	struct perf *p = calloc(1, sizeof(*p));
	int rc = -ENOMEM;

	if (!p)
		return errmsg_errno(err, rc, "perf");
	p->cgroup_fd = target->cgroup_fd < 0 ? -1 : fcntl(target->cgroup_fd, F_DUPFD_CLOEXEC, 0);
	p->pid = calloc(target->n ? target->n : 1, sizeof(*p->pid));
	if (!p->pid)
		goto fail;
	if (target->n)
		memcpy(p->pid, target->pid, target->n * sizeof(*p->pid));
	p->n = target->n;
	rc = open_groups(p, target);
	if (rc < 0)
		goto fail;
	*ret = p;
	return 0;
fail:
	perf_close(p);
	return errmsg_errno(err, rc, "perf");
}

void perf_close(struct perf *p)
{
	size_t i;

	if (!p)
		return;
	for (i = 0; i < GROUP_N; i++) {
		perf_set_destroy(p->group[i].set);
		bperf_close(p->group[i].bperf);
	}
	if (p->cgroup_fd >= 0)
		(void)close(p->cgroup_fd);
	free(p->pid);
	free(p);
}

/* --- giving back ------------------------------------------------------------------------------ */

static void read_bperf(const struct group_events *group, struct perf_sum ret[HWEVENTS_MAX])
{
	struct bperf_value v[PROBES_HW_EVENTS];
	int rc = bperf_read(group->bperf, v);
	uint32_t i;

	for (i = 0; i < group->events.n; i++) {
		int error = rc < 0 ? -EIO : bperf_error(group->bperf, i);

		ret[i] = (struct perf_sum){ .reason = group->events.event[i].reason };
		if (ret[i].reason == REASON_NONE && error < 0)
			ret[i].reason = (uint8_t)perf_reason(-error);
		if (ret[i].reason != REASON_NONE)
			continue;
		ret[i].enabled_ns = v[i].enabled_ns;
		ret[i].running_ns = v[i].running_ns;
		if (v[i].enabled_ns && !v[i].running_ns)
			ret[i].reason = REASON_NO_COUNTER;
		else if (v[i].running_ns)
			ret[i].value = muldiv(v[i].count, v[i].enabled_ns, v[i].running_ns);
	}
}
_Static_assert(PROBES_HW_EVENTS >= HWEVENTS_MAX, "bperf has room for all events");

static void read_group(const struct group_events *group, struct perf_sum ret[HWEVENTS_MAX])
{
	if (group->set)
		perf_set_read(group->set, ret);
	else if (group->bperf)
		read_bperf(group, ret);
	else
		memcpy(ret, group->kept, sizeof(group->kept));
}

static bool is_open(const struct perf *p, enum group group)
{
	return p->group[group].bperf || (p->group[group].set && perf_set_counts(p->group[group].set));
}

/*
 * Computes the share of the time since the last call in which our events were on the PMU. False:
 * the time was too short.
 */
static bool share_of_pmu(struct perf *p, uint32_t *ret_ppm)
{
	uint64_t enabled_ns = 0, running_ns = 0, wanted_ns;
	struct perf_sum sum[HWEVENTS_MAX];
	uint32_t events = 0;
	size_t i, k;

	for (i = GROUP_HW; i <= GROUP_OWN; i++) {
		if (!is_open(p, (enum group)i))
			continue;
		read_group(&p->group[i], sum);
		for (k = 0; k < p->group[i].events.n; k++) {
			enabled_ns += sum[k].enabled_ns;
			running_ns += sum[k].running_ns;
			events += sum[k].enabled_ns > 0;
		}
	}
	wanted_ns = enabled_ns - p->last.enabled_ns;
	if (enabled_ns < p->last.enabled_ns || running_ns < p->last.running_ns || !events ||
	    wanted_ns / events < MIN_INTERVAL_NS)
		return false;
	*ret_ppm = (uint32_t)muldiv(running_ns - p->last.running_ns, PPM, wanted_ns);
	p->last.enabled_ns = enabled_ns;
	p->last.running_ns = running_ns;
	return true;
}

static bool is_short_of_pmu(struct perf *p)
{
	uint32_t share_ppm;

	if (!share_of_pmu(p, &share_ppm))
		return false;
	if (share_ppm > p->best_share_ppm)
		p->best_share_ppm = share_ppm;
	return share_ppm < muldiv(p->best_share_ppm, YIELD_BELOW_PPM, PPM);
}

static bool has_profiler(const struct perf *p)
{
	return p->cgroup_fd >= 0 ? perf_profiler_in_cgroup(p->cgroup_fd) : perf_profiler_among(p->pid, p->n);
}

/* Closes the counters. False: another process has bperf's lock; the next call tries again. */
static bool give_back(struct group_events *group)
{
	if (group->bperf && bperf_yield(group->bperf) < 0)
		return false;
	read_group(group, group->kept);
	perf_set_destroy(TAKE_PTR(group->set));
	bperf_close(TAKE_PTR(group->bperf));
	return true;
}

void perf_poll(struct perf *p)
{
	size_t i;

	if (!is_open(p, GROUP_HW) && !is_open(p, GROUP_OWN))
		return;
	if (!p->is_given_back && !has_profiler(p) && !is_short_of_pmu(p))
		return;
	if (!p->is_given_back)
		logger_info(
			"perf: another program needs the hardware counters; counters of this step end here");
	p->is_given_back = true;
	for (i = GROUP_HW; i <= GROUP_OWN; i++)
		if (p->group[i].set || p->group[i].bperf)
			(void)give_back(&p->group[i]);
}

/* --- reading ---------------------------------------------------------------------------------- */

/*
 * Returns the CPU time of the whole step, which may be more than ENABLED_NS if counters were closed
 * meanwhile. Small differences are ignored, since clocks count interrupts differently.
 */
static uint64_t cpu_time(const struct values *values, uint64_t enabled_ns)
{
	static const enum metric clocks[] = { METRIC_TASK_CLOCK, METRIC_CPU_TIME };
	uint64_t ns = enabled_ns;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(clocks); i++)
		if (values_has(values, clocks[i]) &&
		    values->value[clocks[i]] > enabled_ns + enabled_ns / 20 + MIN_LACK_NS &&
		    values->value[clocks[i]] > ns)
			ns = values->value[clocks[i]];
	return ns;
}

/*
 * Scales counts to the step's whole CPU time, also those of events that took turns. Otherwise a
 * ratio with a value of the whole step, such as joules per instruction, would be wrong.
 */
static void scale_to_step(const struct values *values, const struct hwevents *events,
			  struct perf_sum sum[HWEVENTS_MAX])
{
	uint32_t i;

	for (i = 0; i < events->n; i++) {
		uint64_t all_ns = cpu_time(values, sum[i].enabled_ns);

		if (sum[i].reason != REASON_NONE)
			continue;
		if (sum[i].enabled_ns)
			sum[i].value = muldiv(sum[i].value, all_ns, sum[i].enabled_ns);
		else if (all_ns)
			sum[i].reason = REASON_NO_COUNTER; /* the step ran, but the event was never counted */
	}
}

static void set_metric(const struct hwevents *events, const struct perf_sum *sum, enum metric m,
		       struct values *values)
{
	enum metric_reason reason = REASON_NO_EVENT; /* the reason if no event of this CPU gives the metric */
	uint64_t value = 0;
	bool is_made = false;
	uint32_t i;

	for (i = 0; i < events->n; i++) {
		if (events->event[i].metric != m)
			continue;
		if (!is_made || sum[i].reason != REASON_NONE)
			reason = (enum metric_reason)sum[i].reason;
		is_made = true;
		value = wide_add(value, muldiv(sum[i].value, events->event[i].factor, 1));
	}
	if (reason == REASON_NONE)
		values_set(values, m, value);
	else if (!values_has(values, m))
		values_miss(values, m, reason);
}

static uint32_t share_ppm(uint64_t running_ns, uint64_t enabled_ns)
{
	return enabled_ns ? (uint32_t)muldiv(running_ns, PPM, enabled_ns) : PPM;
}

/* Sets the task clock, for which bperf has no event. */
static void set_task_clock(const struct perf_sum *hw, struct values *values)
{
	if (values_has(values, METRIC_CPU_TIME))
		values_set(values, METRIC_TASK_CLOCK, values->value[METRIC_CPU_TIME]);
	else if (hw->reason == REASON_NONE)
		values_set(values, METRIC_TASK_CLOCK, hw->enabled_ns);
	else
		values_miss(values, METRIC_TASK_CLOCK, (enum metric_reason)hw->reason);
}

static void set_coverage(const struct perf *p, const struct perf_sum *sum, struct values *values)
{
	enum metric_reason reason = REASON_NO_EVENT;
	const struct perf_sum *worst = NULL;
	uint32_t i;

	for (i = 0; i < p->group[GROUP_HW].events.n; i++) {
		if (sum[i].reason != REASON_NONE) {
			if (reason == REASON_NO_EVENT)
				reason = (enum metric_reason)sum[i].reason;
			continue;
		}
		if (!worst || share_ppm(sum[i].running_ns, sum[i].enabled_ns) <
				      share_ppm(worst->running_ns, worst->enabled_ns))
			worst = &sum[i];
	}
	if (worst) {
		values_set(values, METRIC_PMU_ENABLED, cpu_time(values, worst->enabled_ns));
		values_set(values, METRIC_PMU_RUNNING, worst->running_ns);
	} else {
		values_miss(values, METRIC_PMU_ENABLED, reason);
		values_miss(values, METRIC_PMU_RUNNING, reason);
	}
}

static void fill_detail(const struct perf *p, const struct perf_sum *own, const struct values *values,
			struct step_detail *detail)
{
	const struct group_events *hw = &p->group[GROUP_HW];
	const struct hwevents *events = &p->group[GROUP_OWN].events;
	uint32_t i;

	if (hw->way)
		(void)snprintf(detail->counters, sizeof(detail->counters), "%s, %s%s", hw->way,
			       hw->events.machine,
			       p->is_given_back ? ", until another program took the counters" : "");
	if (!p->group[GROUP_OWN].way)
		return;
	for (i = 0; i < events->n && i < PERF_REQUEST_EVENTS; i++) {
		struct detail_event *e = &detail->event[i];

		(void)snprintf(e->name, sizeof(e->name), "%s", events->event[i].name);
		e->value = own[i].value;
		e->reason = own[i].reason;
		e->coverage_ppm = share_ppm(own[i].running_ns, cpu_time(values, own[i].enabled_ns));
	}
	detail->nevents = i;
}

static void set_metrics(const struct perf *p, bool is_software,
			const struct perf_sum sum[GROUP_N][HWEVENTS_MAX], struct values *values)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(made); i++) {
		enum metric m = made[i].metric;
		const struct group_events *group = &p->group[made[i].group];
		bool is_taskcounts = made[i].group == GROUP_SW && m != METRIC_TASK_CLOCK &&
				     group->events.n <= 1;

		if (m == METRIC_PMU_ENABLED || m == METRIC_PMU_RUNNING || is_taskcounts ||
		    (made[i].group == GROUP_SW) != is_software)
			continue;
		if (group->way)
			set_metric(&group->events, sum[made[i].group], m, values);
		else if (values->reason[m] == REASON_NOT_MEASURED)
			values_miss(values, m, REASON_NOT_ASKED);
	}
}

void perf_read(struct perf *p, struct values *values, struct step_detail *detail)
{
	struct perf_sum sum[GROUP_N][HWEVENTS_MAX] = { { { 0 } } };
	size_t i;

	for (i = 0; i < GROUP_N; i++)
		if (p->group[i].way)
			read_group(&p->group[i], sum[i]);
	/* software events first, because scale_to_step() needs the task clock */
	set_metrics(p, /* is_software= */ true, sum, values);
	for (i = GROUP_HW; i <= GROUP_OWN; i++)
		scale_to_step(values, &p->group[i].events, sum[i]);
	set_metrics(p, /* is_software= */ false, sum, values);
	if (p->group[GROUP_HW].way && !p->group[GROUP_SW].way)
		set_task_clock(&sum[GROUP_HW][0], values);
	if (p->group[GROUP_HW].way)
		set_coverage(p, sum[GROUP_HW], values);
	if (detail)
		fill_detail(p, sum[GROUP_OWN], values, detail);
}

void perf_not_asked(struct values *values)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(made); i++)
		if (values->reason[made[i].metric] == REASON_NOT_MEASURED)
			values_miss(values, made[i].metric, REASON_NOT_ASKED);
}
