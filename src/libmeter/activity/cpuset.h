/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cpuset.h - sets of CPUs as the kernel writes them ("0-3,8"), and which of them a step may use.
 */
#ifndef CEEMS_CPUSET_H
#define CEEMS_CPUSET_H

#include <stddef.h>
#include <stdint.h>

/*
 * Writes the CPUs of TEXT below NCPUS, ascending, into RET[NCPUS]. -EINVAL: not a list; RET is
 * undefined. An empty list is one.
 */
int cpuset_parse(const char *text, uint32_t ncpus, uint32_t *ret, size_t *ret_n);

/*
 * The CPUs of the step's cgroup. V2 and V1 are paths as /proc/PID/cgroup shows them, V1 of any
 * hierarchy. -ENOENT: the step has no cpuset of its own.
 */
int cpuset_of_step(const char *v2, const char *v1, uint32_t ncpus, uint32_t *ret,
		   size_t *ret_n);

#endif
