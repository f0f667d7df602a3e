/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pressure.h - how long the tasks of a step were stalled: the totals of PSI, and throttling by a
 * CPU quota.
 */
#ifndef CEEMS_PRESSURE_H
#define CEEMS_PRESSURE_H

#include "src/libcore/metric.h"

/*
 * Sets the metrics of the group "pressure" of the step with these cgroups, paths as in
 * /proc/PID/cgroup, "" for none. What the kernel does not show is missing. The kernel counts from
 * the making of a group on, so one reading before it goes has all. The kernel keeps PSI for v2
 * groups only, with CONFIG_PSI and unless booted with psi=0. RHEL's kernels need psi=1. "full" of
 * the CPU exists since Linux 5.13. A CPU quota is that of the cpu controller of v2, or of v1 where
 * cpu is mounted with cpuacct. A quota of a group above, such as a systemd slice, does not show.
 */
void pressure_read(const char *v2, const char *cpuacct, struct values *f);

/* The same from open folders, -1: none. */
void pressure_read_folders(int v2_fd, int cpuacct_fd, struct values *f);

#endif
