/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * topology.h - reads on which socket each CPU is, and numbers the sockets. This is the only place where a
 * physical package gets the number of its socket (domain.h): a partition of a large machine may have the
 * packages 8 to 11 or 32 to 35, and arm64 may number them by offsets in a firmware table.
 */
#ifndef CEEMS_TOPOLOGY_H
#define CEEMS_TOPOLOGY_H

#include <stdint.h>

#include "src/libcore/domain.h"
#include "src/libutil/must_check.h"

#define TOPOLOGY_NO_PACKAGE UINT64_MAX

struct topology {
	uint32_t ncpus;	    /* entries of the two lists: the highest number + 1 */
	uint32_t npackages; /* with a known id; more than SOCKETS_MAX: all CPUs are on socket 0 */
	uint32_t socket_cpus[SOCKETS_MAX]; /* 0: there is no such socket */
	uint64_t *cpu_package;		   /* physical_package_id; TOPOLOGY_NO_PACKAGE: not known */
	uint8_t *cpu_socket;
};

/*
 * Reads the physical_package_id of each CPU below SYS_ROOT, and numbers the sockets 0, 1, ... in the order of
 * these ids. A CPU without that file is on socket 0. NCPUS is the least number of CPUs that *RET lists. The
 * caller frees *RET with free(). -ENOMEM.
 */
int topology_read(const char *sys_root, uint32_t ncpus, struct topology **ret) _must_check_;

/*
 * Returns the socket of the physical package ID. SOCKET_UNKNOWN: no CPU is in it, or there are too many
 * sockets. If no CPU says its package, the id is the number, and that of TOPOLOGY_NO_PACKAGE is 0.
 */
unsigned int topology_socket(const struct topology *t, uint64_t id);

#endif
