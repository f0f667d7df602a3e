/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pressure.h - how long the tasks of a step waited for what they lacked: the totals of PSI, and throttling
 * by a CPU quota.
 */
#ifndef CEEMS_PRESSURE_H
#define CEEMS_PRESSURE_H

#include "src/libcore/metric.h"

/*
 * Sets the metrics of the group "pressure" of the step with these cgroups, paths as in /proc/PID/cgroup, "" for
 * none. What the kernel does not show is missing. The kernel counts from the making of a group on, so one reading
 * before it goes has all. PSI is kept for v2 groups only, by CONFIG_PSI and unless booted with psi=0 (in RHEL's
 * kernels only with psi=1); "full" of the CPU since Linux 5.13. A CPU quota is the cpu controller's, of v2 or,
 * where it is mounted with cpuacct, of v1; a quota of a group above, as of a systemd slice, does not show.
 */
void pressure_read(const char *v2, const char *cpuacct, struct figures *f);

/* The same from open folders, -1: none. */
void pressure_read_folders(int v2_fd, int cpuacct_fd, struct figures *f);

#endif
