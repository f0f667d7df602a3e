/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_event.h - an ops table of perf_event_open(2) and the calls on its descriptors. All perf counters
 * are opened through this table: energy of the perf PMU (powerpmu.h), counters of cgroups
 * (cgcounters.h), of a step's tasks (perf_set.h) and of CPUs (bperf.h). Tests put a fake machine behind
 * the table.
 */
#ifndef CEEMS_PERF_EVENT_H
#define CEEMS_PERF_EVENT_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct perf_event_ops {
	/*
	 * Arguments as for perf_event_open(2). PID may be the descriptor of a cgroup's folder, with
	 * PERF_FLAG_PID_CGROUP. GROUP is the leader's descriptor or -1. Returns a descriptor with
	 * FD_CLOEXEC, or -errno.
	 */
	int (*open)(void *ctx, const struct perf_event_attr *attr, pid_t pid, int cpu, int group,
		    unsigned long flags);
	/* Returns the bytes read, or -errno. 0 bytes: the counter's CPU went offline. */
	ssize_t (*read)(void *ctx, int fd, void *buf, size_t size);
	int (*id)(void *ctx, int fd, uint64_t *ret); /* the kernel's id of the event */
	void (*close)(void *ctx, int fd);
};

extern const struct perf_event_ops perf_event_kernel; /* the real kernel; CTX is NULL */

#endif
