/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bperf.h - hardware counters of CPUs, read by BPF where the CPU goes from one step to another and booked
 * to the step that ran. One set of counters for all steps of the node; a switch within a step costs
 * nothing. The counters stay in the map PROBES "hw_events" while a step that asked is alive; who finds
 * that the last one died takes them out.
 */
#ifndef CEEMS_BPERF_H
#define CEEMS_BPERF_H

#include "src/libmeter/hwevents.h"
#include "src/libmeter/probes.h"

struct bperf;

/*
 * EVENTS on CPU[n], those that the step may use; the first PROBES_HW_EVENTS of them. Counters that
 * another step's bperf_open() put there are used as they are. -EBUSY: there are others than EVENTS;
 * -ENOENT, -EACCES ...: perf_event_open(2)'s, of the first event. SLOT as registered.
 */
int bperf_open(struct probes *p, uint32_t slot, const struct hwevents *events, const uint32_t *cpu,
	       size_t n, struct bperf **ret, struct errmsg *err);

struct bperf_value {
	uint64_t count, enabled_ns, running_ns;
};
/* Makes the CPUs book what they have (a BPF test run on each) and adds up; RET by event. */
int bperf_read(struct bperf *b, struct bperf_value ret[PROBES_HW_EVENTS]);

/* Takes the counters out of the map when nobody is left who asked. */
void bperf_close(struct bperf *b);

/* The same for counters of the dead, with probes_lock() held: probes_census() found no asker. */
void bperf_reap(struct probes *p);

#endif
