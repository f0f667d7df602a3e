/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pressure.h - how long the tasks of a step were stalled: the totals of PSI, and throttling by a
 * CPU quota.
 */
#ifndef CEEMS_PRESSURE_H
#define CEEMS_PRESSURE_H

#include "src/libcore/metric.h"
#include "src/libmeter/activity/cgmount.h"

/*
 * Sets the metrics of the group "pressure" for one step. The kernel counts since the cgroup was made, so
 * one reading before its removal has everything. A metric that the kernel does not have is missing:
 *
 *	PSI exists for v2 groups only, with CONFIG_PSI, unless booted with psi=0; RHEL needs psi=1
 *	"full" of the CPU exists since Linux 5.13
 *
 * Throttling is read from the step's own cpu controller of v2, or of v1 if cpu is mounted together with
 * cpuacct. A quota of a cgroup above, such as a systemd slice, is not seen.
 */
void pressure_read(const struct cgroup_paths *paths, struct values *f);

/* As pressure_read(), from the open folders of the cgroups; -1 for none. */
void pressure_read_folders(int v2_fd, int cpuacct_fd, struct values *f);

#endif
