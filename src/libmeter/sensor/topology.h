/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * topology.h - reads on which socket each CPU is. Sockets are numbered as the units in domain.h.
 */
#ifndef CEEMS_TOPOLOGY_H
#define CEEMS_TOPOLOGY_H

#include <stdint.h>

#include "src/libcore/domain.h"
#include "src/libutil/must_check.h"

struct topology {
	uint32_t ncpus;			   /* entries of cpu_socket: the highest number + 1 */
	uint32_t socket_cpus[SOCKETS_MAX]; /* 0: there is no such socket */
	uint8_t cpu_socket[];
};

/*
 * Reads the socket (physical_package_id) of each CPU below SYS_ROOT. Numbers that are not below
 * SOCKETS_MAX are replaced by 0, 1, ... in their order, since arm64 may number sockets by offsets
 * in a firmware table. A CPU without that file is on socket 0. NCPUS is the least number of CPUs
 * that *RET lists. The caller frees *RET with free(). -ENOMEM.
 */
int topology_read(const char *sys_root, uint32_t ncpus, struct topology **ret) _must_check_;

#endif
