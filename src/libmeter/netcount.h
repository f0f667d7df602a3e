/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * netcount.h - packets of a step (--ceems-perf=net): cgroup_skb programs on the step's v2 cgroup, attached
 * by links that only this process holds. Free for everybody else.
 */
#ifndef CEEMS_NETCOUNT_H
#define CEEMS_NETCOUNT_H

#include "src/libjob/detail.h"
#include "src/libmeter/probes.h"

struct netcount;

/* CGROUP_FD: of the step's v2 folder, borrowed. -EOPNOTSUPP with the reason in ERR. */
int netcount_open(struct probes *p, int cgroup_fd, struct netcount **ret, struct errmsg *err);
int netcount_read(struct netcount *n, struct figures *figures, struct step_detail *detail);
void netcount_close(struct netcount *n);

/* The metrics that netcount_read() would set get REASON. */
void netcount_miss(struct figures *figures, enum metric_reason reason);

#endif
