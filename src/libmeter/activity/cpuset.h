/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cpuset.h - sets of CPUs as the kernel writes them ("0-3,8"), and which of them a step may use.
 */
#ifndef CEEMS_CPUSET_H
#define CEEMS_CPUSET_H

#include <stddef.h>
#include <stdint.h>

/*
 * Parses TEXT, a list such as "0-3,8". Writes its CPUs below NCPUS into RET[NCPUS], ascending. An
 * empty list is valid. -EINVAL: not a list; RET is undefined.
 */
int cpuset_parse(const char *text, uint32_t ncpus, uint32_t *ret, size_t *ret_n);

/*
 * Finds the CPUs that a step may use, from the cpuset of its cgroup. V2 and V1 are paths as
 * /proc/PID/cgroup shows them; V1 may be that of any v1 hierarchy. -ENOENT: the step has no cpuset
 * of its own.
 */
int cpuset_of_step(const char *v2, const char *v1, uint32_t ncpus, uint32_t *ret,
		   size_t *ret_n);

#endif
