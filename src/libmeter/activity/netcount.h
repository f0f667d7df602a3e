/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * netcount.h - packets of a step (--ceems-perf=net), counted by cgroup_skb programs on the step's
 * v2 cgroup. Only this process holds the links that attach the programs. Packets of other steps cost nothing.
 */
#ifndef CEEMS_NETCOUNT_H
#define CEEMS_NETCOUNT_H

#include "src/libcore/detail.h"
#include "src/libmeter/activity/probes.h"

struct netcount;

/*
 * Counts from now on. CGROUP_FD is the step's v2 folder, borrowed. -EOPNOTSUPP: the programs are
 * not there (probes_why()). -ENODEV: the cgroup is gone. -EPERM: CAP_NET_ADMIN is missing, or
 * programs attached above tolerate no others.
 */
int netcount_open(struct probes *p, int cgroup_fd, struct netcount **ret, struct errmsg *err);

/*
 * The metrics, and DETAIL's net (may be NULL) by kind. Read before the cgroup is removed. -ENOENT:
 * the cgroup is gone, and VALUES get the values of the last read, or are missing if there was
 * none. -ENOLINK: somebody detached the programs meanwhile; the values are missing from now on.
 */
int netcount_read(struct netcount *n, struct values *values, struct step_detail *detail);

/*
 * The metrics of the cgroup with that id, as counted so far, for a caller that has not attached its programs.
 * -ENOENT: none was ever attached there.
 */
int netcount_read_of(struct probes *p, uint64_t cgroup_id, struct values *values);

/* NULL: no-op. */
void netcount_close(struct netcount *n);

/* Of what netcount_open() returned. */
enum metric_reason netcount_reason(int rc);

/* The metrics that netcount_read() would set get REASON. */
void netcount_miss(struct values *values, enum metric_reason reason);

#endif
