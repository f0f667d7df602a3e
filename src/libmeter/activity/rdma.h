/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rdma.h - bytes and packets of the node's RDMA ports (InfiniBand, Omni-Path, RoCE, EFA), from
 * /sys/class/infiniband. The values are those of the whole node, because RDMA bypasses the kernel, which
 * therefore cannot tell the processes apart. Use them only for a step that has the node alone; the caller
 * checks this (REASON_SHARED_NODE).
 *
 * Bytes are those of the port's port_rcv_data and port_xmit_data, which count words of 4 bytes
 * (Documentation/ABI/stable/sysfs-class-infiniband; IBTA 16.1.3.5), or of the driver's own rx_bytes
 * and tx_bytes. A total is known only if the values of all ports are known. If a port was unplugged or
 * reset, or if its 32-bit counter has reached its end (on old adapters it stops there), the total is
 * missing for the rest of the step.
 */
#ifndef CEEMS_RDMA_H
#define CEEMS_RDMA_H

#include "src/libcore/detail.h"
#include "src/libcore/metric.h"
#include "src/libutil/errmsg.h"

struct rdma;

/*
 * SYSROOT as in SysRoot. Takes the ports' counters as the base. -ENODEV: there is no port, -ENOMEM;
 * others: /sys/class/infiniband cannot be read.
 */
int rdma_open(const char *sysroot, struct rdma **ret, struct errmsg *err);
/* METRIC_RDMA_*: all ports since rdma_open(). DETAIL's rdma (may be NULL), port by port. */
void rdma_read(struct rdma *r, struct values *values, struct step_detail *detail);
/* NULL: no-op. */
void rdma_close(struct rdma *r);

/* The metrics that rdma_read() would set get REASON. */
void rdma_miss(struct values *values, enum metric_reason reason);

#endif
