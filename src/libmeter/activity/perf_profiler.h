/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_profiler.h - does somebody in a step count events himself?
 */
#ifndef CEEMS_PERF_PROFILER_H
#define CEEMS_PERF_PROFILER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Has one of the processes in the cgroup's folder or below a perf event open? Looks at a few. */
bool perf_profiler_in_cgroup(int cgroup_fd);
bool perf_profiler_among(const pid_t *pid, size_t n);

#endif
