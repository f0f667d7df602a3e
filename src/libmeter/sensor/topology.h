/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * topology.h - which processor is on which socket, as units of domain.h count sockets.
 */
#ifndef CEEMS_TOPOLOGY_H
#define CEEMS_TOPOLOGY_H

#include <stdint.h>

#include "src/libcore/domain.h"

struct topology {
	uint32_t ncpus;			   /* entries of cpu_socket: the highest number + 1 */
	uint32_t socket_cpus[SOCKETS_MAX]; /* 0: there is no such socket */
	uint8_t cpu_socket[];
};

/*
 * Reads physical_package_id of all processors below SYS_ROOT. Socket numbers outside the units of
 * domain.h become 0, 1, ... in their order. arm64 may number sockets by bytes of a firmware table.
 * Processors that say nothing, and a machine without that tree, are on socket 0; NCPUS is then at
 * least how many there are. -ENOMEM. free() is all that it takes afterwards.
 */
int topology_read(const char *sys_root, uint32_t ncpus, struct topology **ret);

#endif
