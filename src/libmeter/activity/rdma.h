/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rdma.h - bytes and packets of the node's RDMA ports (InfiniBand, Omni-Path, RoCE, EFA), from
 * /sys/class/infiniband. RDMA bypasses the kernel, which cannot divide the traffic among processes.
 * So the values are those of the whole node. Use them only for a step that has the node alone; the
 * caller checks this (REASON_SHARED_NODE).
 *
 * Bytes are from the port's port_rcv_data and port_xmit_data, which count words of 4 bytes
 * (Documentation/ABI/stable/sysfs-class-infiniband; IBTA 16.1.3.5), or from the driver's own
 * rx_bytes and tx_bytes. A total is known only if the values of all ports are. It is missing for
 * the rest of the step if a port was unplugged or reset, or if a 32-bit counter of an old adapter
 * reached its maximum, where it stops.
 */
#ifndef CEEMS_RDMA_H
#define CEEMS_RDMA_H

#include "src/libcore/detail.h"
#include "src/libcore/metric.h"
#include "src/libutil/errmsg.h"

struct rdma;

/*
 * Opens the ports below SYSROOT (the setting SysRoot) and remembers their counters as the start
 * values. -ENODEV: there is no port. -ENOMEM. Others: /sys/class/infiniband cannot be read.
 */
int rdma_open(const char *sysroot, struct rdma **ret, struct errmsg *err) _must_check_;
/*
 * Sets METRIC_RDMA_* to the traffic of all ports since rdma_open(). DETAIL, which may be NULL, gets
 * it by port.
 */
void rdma_read(struct rdma *r, struct values *values, struct step_detail *detail);
/* NULL: no-op. */
void rdma_close(struct rdma *r);

/* Sets REASON for all metrics that rdma_read() would set. */
void rdma_miss(struct values *values, enum metric_reason reason);

#endif
