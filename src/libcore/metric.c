/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libcore/metric.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "src/libcore/domain.h"
#include "src/libutil/util.h"

const struct metric_info metric_table[METRIC_N] = {
#define METRIC(id, ...) [METRIC_##id] = { __VA_ARGS__ },
#include "src/libcore/metrics.def"
#undef METRIC
};

enum metric metric_of_kind(enum metric_kind kind, unsigned int n)
{
	unsigned int m;

	metric_foreach(m)
		if (metric_table[m].kind == kind && !n--)
			return (enum metric)m;
	return METRIC_N;
}

const char *metric_source_name(enum metric m)
{
	return metric_table[m].name + strlen("source_");
}

static uint64_t tres_scale(enum metric m)
{
	const struct unit_info *unit = &unit_table[metric_table[m].unit];

	return metric_table[m].flags & METRIC_FAST ? unit->fast_tres_scale : unit->tres_scale;
}

const char *metric_tres_unit(enum metric m)
{
	const struct unit_info *unit = &unit_table[metric_table[m].unit];

	return metric_table[m].flags & METRIC_FAST ? unit->fast_tres : unit->tres;
}

uint64_t metric_to_tres(enum metric m, uint64_t value)
{
	return unit_round(value, tres_scale(m));
}

uint64_t metric_from_tres(enum metric m, uint64_t tres_value)
{
	uint64_t v;

	return __builtin_mul_overflow(tres_value, tres_scale(m), &v) ? UINT64_MAX : v;
}

const char *metric_reason_text(enum metric_reason reason)
{
	static const char *const text[REASON_N] = {
		[REASON_NONE] = "",
		[REASON_NOT_MEASURED] = "not measured",
		[REASON_NOT_ASKED] = "needs --ceems-perf",
		[REASON_NO_SENSOR] = "no sensor",
		[REASON_NO_PMU] = "no PMU",
		[REASON_NO_BPF] = "no BPF",
		[REASON_NO_PERMISSION] = "no permission",
		[REASON_NO_HOOK] = "no function hooks",
		[REASON_NO_CGROUP] = "no v2 cgroup",
		[REASON_NO_PSI] = "no PSI",
		[REASON_NO_CPU_QUOTA] = "no cpu controller",
		[REASON_NO_MEMORY] = "no memory cgroup",
		[REASON_OLD_KERNEL] = "not kept by this kernel",
		[REASON_NO_DEVICE] = "no device",
		[REASON_NO_EVENT] = "no such event on this CPU",
		[REASON_SHARED_NODE] = "node is shared",
		[REASON_NO_COUNTER] = "no free counter",
		[REASON_NO_IDLE] = "idle power not learned yet",
		[REASON_LATE] = "the last tick came too late",
		[REASON_NO_SLOT] = "ledger full",
		[REASON_NO_FACTOR] = "no emission factor",
		[REASON_NO_CONTRACT] = "no MarketFactor",
		[REASON_FAILED] = "failed, see slurmd's log",
		[REASON_DOUBT] = "a sensor failed",
		[REASON_TOO_LARGE] = "more than 64 bits",
	};

	return reason < REASON_N ? text[reason] : "?";
}

void values_init(struct values *f)
{
	memset(f, 0, sizeof(*f));
	memset(f->reason, REASON_NOT_MEASURED, sizeof(f->reason));
}

void values_set(struct values *f, enum metric m, uint64_t value)
{
	if (value == UINT64_MAX) {
		values_miss(f, m, REASON_TOO_LARGE);
		return;
	}
	f->value[m] = value;
	f->reason[m] = REASON_NONE;
}

void values_miss(struct values *f, enum metric m, enum metric_reason reason)
{
	f->value[m] = 0;
	f->reason[m] = (uint8_t)reason;
}

bool values_has(const struct values *f, enum metric m)
{
	return f->reason[m] == REASON_NONE;
}

void values_miss_untold_joules(struct values *f)
{
	bool is_told = values_has(f, METRIC_ENERGY_NODES) && f->value[METRIC_ENERGY_NODES];

	if (values_has(f, METRIC_ENERGY) && !f->value[METRIC_ENERGY] && !is_told)
		values_miss(f, METRIC_ENERGY,
			    values_has(f, METRIC_LATE_NODES) && f->value[METRIC_LATE_NODES] ?
				    REASON_LATE :
				    REASON_NOT_MEASURED);
}

void values_fold(struct values *whole, const struct values *part)
{
	unsigned int m;

	metric_foreach(m) {
		uint64_t v = part->value[m];

		if (whole->reason[m] == REASON_TOO_LARGE)
			/*
			 * an overflowed sum stays unknown, or a later part would look like the
			 * whole
			 */
			continue;
		if (part->reason[m] == REASON_TOO_LARGE) {
			values_miss(whole, (enum metric)m, REASON_TOO_LARGE);
			continue;
		}
		if (part->reason[m] != REASON_NONE) {
			/* "not measured" says least: prefer any other reason */
			if (whole->reason[m] == REASON_NOT_MEASURED)
				whole->reason[m] = part->reason[m];
			continue;
		}
		if (whole->reason[m] != REASON_NONE)
			values_set(whole, m, v);
		else if (metric_table[m].fold == FOLD_MAX)
			whole->value[m] = v > whole->value[m] ? v : whole->value[m];
		else if (__builtin_add_overflow(whole->value[m], v, &whole->value[m]))
			values_miss(whole, m, REASON_TOO_LARGE);
	}
}

void values_raise(struct values *now, const struct values *later)
{
	unsigned int m;

	metric_foreach(m)
		if (values_has(later, (enum metric)m) &&
		    (!values_has(now, (enum metric)m) || later->value[m] > now->value[m]))
			values_set(now, (enum metric)m, later->value[m]);
}

const char *const metric_set_name[METRIC_SET_N] = { "basic", "standard", "all" };

static enum metric_set set_of_side(const struct metric_info *i)
{
	if (i->flags & METRIC_BASIC)
		return METRIC_SET_BASIC;
	return i->demand == DEMAND_NONE ? METRIC_SET_STANDARD : METRIC_SET_ALL;
}

enum metric_set metric_set_of(enum metric m)
{
	enum metric_set smallest = METRIC_SET_ALL;
	unsigned int k;

	metric_foreach(k) {
		const struct metric_info *side = &metric_table[k];

		if (!strcmp(side->tres, metric_table[m].tres) && set_of_side(side) < smallest)
			smallest = set_of_side(side);
	}
	return smallest;
}

/* Whether no earlier row has the TRES of M; a TRES has up to two rows, in and out. */
static bool is_first_side(enum metric m)
{
	unsigned int k;

	for (k = 0; k < (unsigned int)m; k++)
		if (!strcmp(metric_table[k].tres, metric_table[m].tres))
			return false;
	return true;
}

int metric_tres_line(enum metric_set set, char *buf, unsigned int size)
{
	unsigned int used = 0;
	unsigned int m;
	int n;

	metric_foreach(m) {
		const char *tres = metric_table[m].tres;

		if (!*tres || !is_first_side((enum metric)m) || metric_set_of((enum metric)m) > set)
			continue;
		n = snprintf(buf + used, size - used, "%s%s", used ? "," : "", tres);
		if (n < 0 || (unsigned int)n >= size - used)
			return -ENOSPC;
		used += (unsigned int)n;
	}
	return 0;
}
