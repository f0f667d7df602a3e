/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nodecpu.h - the node's processors: how many, on which sockets, and how busy.
 */
#ifndef CEEMS_NODECPU_H
#define CEEMS_NODECPU_H

#include "src/libmeter/sensor/topology.h"
#include "src/libutil/errmsg.h"

struct nodecpu;

/* SysRoot may hold a whole machine, or, in tests, sensors only: then PATH below /. fd or -errno. */
int nodecpu_open_proc(const char *sys_root, const char *path);

int nodecpu_open(const char *sys_root, struct nodecpu **ret, struct errmsg *err);
void nodecpu_close(struct nodecpu *n);

/* Processors online when it was opened. */
uint32_t nodecpu_count(const struct nodecpu *n);
const struct topology *nodecpu_topology(const struct nodecpu *n);

/* CPU time since boot, of the node and of its sockets. -errno: nothing is written. */
int nodecpu_read(struct nodecpu *n, uint64_t *ret_busy_ns, uint64_t ret_socket_ns[SOCKETS_MAX]);

/* The same of each processor, as last read; of topology->ncpus. */
const uint64_t *nodecpu_cpu_ns(const struct nodecpu *n);

#endif
