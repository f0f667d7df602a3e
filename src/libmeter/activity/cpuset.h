/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cpuset.h - sets of CPUs as the kernel writes them ("0-3,8"), and which of them a step may use.
 */
#ifndef CEEMS_CPUSET_H
#define CEEMS_CPUSET_H

#include <stddef.h>
#include <stdint.h>

#include "src/libmeter/activity/cgmount.h"
#include "src/libutil/must_check.h"

/*
 * Parses TEXT, a list such as "0-3,8". Writes its CPUs below NCPUS into RET[NCPUS], ascending. An
 * empty list is valid. -EINVAL: not a list; RET is undefined.
 */
int cpuset_parse(const char *text, uint32_t ncpus, uint32_t *ret, size_t *ret_n) _must_check_;

/*
 * Finds the CPUs that a step may use, from the cpuset of its cgroup. -ENOENT: the step has no cpuset of its
 * own.
 */
int cpuset_of_step(const struct cgroup_paths *paths, uint32_t ncpus, uint32_t *ret,
		   size_t *ret_n) _must_check_;

#endif
