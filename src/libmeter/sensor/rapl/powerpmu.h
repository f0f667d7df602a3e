/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * powerpmu.h - RAPL through the kernel's perf PMU "power", for machines whose powercap cannot be
 * read. Its counters do not wrap, but start at 0 when they are opened. So the energy used while
 * slurmd restarts is lost, and powercap is preferred.
 */
#ifndef CEEMS_POWERPMU_H
#define CEEMS_POWERPMU_H

#include "src/libmeter/sensor/perf_event.h"
#include "src/libmeter/sensor/source.h"
#include "src/libutil/must_check.h"

struct powerpmu;

/*
 * Opens energy-pkg, energy-ram and energy-psys on each CPU of the PMU's cpumask; the mask has one
 * CPU per package or die. -ENODEV: there is no such PMU, or it counts no energy of packages or
 * DRAM. *RET borrows OPS and CTX.
 */
int powerpmu_open(const char *sys_root, const struct perf_event_ops *ops, void *ctx, struct powerpmu **ret,
		  struct errmsg *err) _must_check_;
void powerpmu_close(struct powerpmu *p);

/* As in struct source_ops, except that the first read ignores STATE and is only the base for later ones. */
int powerpmu_read(struct powerpmu *p, uint64_t dt_ns, struct source_state *state,
		  struct reading *ret) _must_check_;
size_t powerpmu_zones(const struct powerpmu *p, struct source_zone *ret, size_t max);
void powerpmu_describe(const struct powerpmu *p, char *buf, size_t size);

#endif
