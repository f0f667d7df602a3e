/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rdma.h - what the RDMA ports of the node carried, from /sys/class/infiniband. Of the whole node:
 * the kernel bypasses itself, so no process can be told. Only for a step that has the node alone.
 */
#ifndef CEEMS_RDMA_H
#define CEEMS_RDMA_H

#include "src/libjob/metric.h"
#include "src/libutil/errmsg.h"

struct rdma;

/* SYSROOT as in SysRoot. Takes the ports' counters as the base. -ENODEV: there is no port. */
int rdma_open(const char *sysroot, struct rdma **ret, struct errmsg *err);
/* METRIC_RDMA_*: all ports since rdma_open(). */
void rdma_read(struct rdma *r, struct figures *figures);
void rdma_close(struct rdma *r);

#endif
