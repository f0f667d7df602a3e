/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cpuinfo.h - the model of this CPU, from /proc/cpuinfo of x86-64 or arm64.
 */
#ifndef CEEMS_CPUINFO_H
#define CEEMS_CPUINFO_H

#include <stdint.h>

/* Numbers that are not there are UINT64_MAX. */
struct cpuinfo {
	char vendor;	 /* 'I'ntel, 'A'MD, A'R'M, '?' */
	uint64_t family; /* Arm: the architecture */
	uint64_t model;	 /* Arm: the part's number */
	uint64_t stepping;
	uint64_t cpus; /* at least 1 */
};

/* Reads /proc/cpuinfo below SYS_ROOT. If a fake root has none, the machine's own is read. */
void cpuinfo_read(const char *sys_root, struct cpuinfo *ret);

#endif
