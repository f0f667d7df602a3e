/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nodecpu.h - reads how many CPUs the node has, on which sockets they are, and how busy they are.
 */
#ifndef CEEMS_NODECPU_H
#define CEEMS_NODECPU_H

#include "src/libmeter/sensor/topology.h"
#include "src/libutil/errmsg.h"

struct nodecpu;

/*
 * Opens PATH below SYS_ROOT or, if it is not there, below /. In tests, SYS_ROOT may have sensors
 * only. Returns a descriptor or -errno.
 */
int nodecpu_open_proc(const char *sys_root, const char *path);

int nodecpu_open(const char *sys_root, struct nodecpu **ret, struct errmsg *err) _must_check_;
void nodecpu_close(struct nodecpu *n);

/* The number of CPUs that were online at nodecpu_open(). */
uint32_t nodecpu_count(const struct nodecpu *n);
const struct topology *nodecpu_topology(const struct nodecpu *n);

/* Reads the CPU time since boot, of the node and of each socket. On error nothing is written. */
int nodecpu_read(struct nodecpu *n, uint64_t *ret_busy_ns, uint64_t ret_socket_ns[SOCKETS_MAX]) _must_check_;

/* The CPU time since boot of each CPU at the last nodecpu_read(): an array of topology->ncpus. */
const uint64_t *nodecpu_cpu_ns(const struct nodecpu *n);

#endif
