/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tcpcount.h - reads the TCP traffic of a step from the counters that the kernel keeps per socket.
 * bpf/tcp.bpf.h sums the closed sockets of a step in a row; tcpcount_read() adds the open ones.
 * Bytes are payload; a byte that was sent twice counts once. Retransmitted bytes are a separate
 * value. taskcount.h does the same for tasks.
 *
 * A socket belongs to the step in whose v2 cgroup it was made, whoever uses it later. An accepted
 * socket belongs to the step of the listening socket. Received bytes count even if no process read
 * them.
 */
#ifndef CEEMS_TCPCOUNT_H
#define CEEMS_TCPCOUNT_H

#include "src/libcore/metric.h"
#include "src/libmeter/activity/probes.h"
#include "src/libutil/must_check.h"

struct tcpcount;

/*
 * Call it after probes_hold(PROBES_TCP) and probes_register(). P is borrowed until
 * tcpcount_close(). -EOPNOTSUPP: the group is not loaded.
 */
int tcpcount_open(struct probes *p, uint32_t slot, struct tcpcount **ret) _must_check_;

/*
 * Sets METRIC_TCP_* to the traffic since probes_register(). Open connections are included, also
 * those of ended processes that still deliver data. Without PROBES_HAS_LIVE_TCP, a connection
 * counts only when it has closed. The result is exact, unless connections close faster than the
 * list can be read; a few are then missing until the next call.
 */
int tcpcount_read(struct tcpcount *t, struct values *values);

/* Reads STEP[n] in one walk over all steps' sockets, as taskcount_read_steps() does for tasks. */
int tcpcount_read_steps(struct probes *p, const struct probes_step *step, size_t n);

/* Sets REASON for each metric that tcpcount_read() would set and that has no value. */
void tcpcount_miss(struct values *values, enum metric_reason reason);

void tcpcount_close(struct tcpcount *t);

#endif
