/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tcpcount.h - TCP traffic of a step, from the kernel's counters of each socket. The row that
 * bpf/tcp.bpf.h fills has the sum of the closed sockets; tcpcount_read() lists the open ones. Bytes are
 * payload, and each byte counts once, however often it was sent. Retransmitted bytes are a value of
 * their own. taskcount.h does the same for tasks.
 *
 * A socket belongs to the step in whose v2 cgroup it was made, whoever uses it later. An accepted
 * socket belongs to the step of the listening socket. Bytes that arrived count even if no process read
 * them.
 */
#ifndef CEEMS_TCPCOUNT_H
#define CEEMS_TCPCOUNT_H

#include "src/libcore/metric.h"
#include "src/libmeter/activity/probes.h"

struct tcpcount;

/*
 * After probes_hold(PROBES_TCP) and probes_register(). P is borrowed until tcpcount_close().
 * -EOPNOTSUPP: the group is not there.
 */
int tcpcount_open(struct probes *p, uint32_t slot, struct tcpcount **ret);

/*
 * METRIC_TCP_*, since probes_register(). Connections count while they last, also those that still
 * deliver data of a process that ended. Without PROBES_HAS_LIVE_TCP they count when they have
 * closed. Exact, unless connections close faster than the list can be read. Then a few of the last
 * are missing until the next call.
 */
int tcpcount_read(struct tcpcount *t, struct values *values);

/* The same of STEP[n], in one walk over the sockets of steps; as taskcount_read_steps(). */
int tcpcount_read_steps(struct probes *p, const struct probes_step *step, size_t n);

/* The metrics that tcpcount_read() would set and that have no value get REASON. */
void tcpcount_miss(struct values *values, enum metric_reason reason);

void tcpcount_close(struct tcpcount *t);

#endif
