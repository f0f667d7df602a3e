/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * netcount.h - counts the packets of a step (--ceems-perf=net) by cgroup_skb programs attached to
 * the step's v2 cgroup. Only this process holds the links that attach them. Packets of other steps
 * cost nothing.
 */
#ifndef CEEMS_NETCOUNT_H
#define CEEMS_NETCOUNT_H

#include "src/libcore/detail.h"
#include "src/libmeter/activity/probes.h"
#include "src/libutil/must_check.h"

struct netcount;

/*
 * Starts counting. CGROUP_FD is the folder of the step's v2 cgroup, borrowed. -EOPNOTSUPP: the
 * programs are not loaded (probes_why()). -ENODEV: the cgroup is gone. -EPERM: CAP_NET_ADMIN is
 * missing, or programs attached to a cgroup above do not allow others.
 */
int netcount_open(struct probes *p, int cgroup_fd, struct netcount **ret, struct errmsg *err) _must_check_;

/*
 * Sets the metrics in VALUES, and the counts by kind of packet in DETAIL, which may be NULL. Call
 * it before the cgroup is removed. -ENOENT: the cgroup is gone; VALUES get the last reading, or are
 * missing if there was none. -ENOLINK: another program detached ours; the values are missing from
 * now on.
 */
int netcount_read(struct netcount *n, struct values *values, struct step_detail *detail);

/*
 * Reads the counts of any cgroup by its id, also if another process attached the programs. -ENOENT:
 * they were never attached there.
 */
int netcount_read_of(struct probes *p, uint64_t cgroup_id, struct values *values);

/* NULL: no-op. */
void netcount_close(struct netcount *n);

/* The reason to show for RC, an error of netcount_open(). */
enum metric_reason netcount_reason(int rc);

/* Sets REASON for all metrics that netcount_read() would set. */
void netcount_miss(struct values *values, enum metric_reason reason);

#endif
