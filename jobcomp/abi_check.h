/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * abi_check.h - is a job where the headers that this was built with say? Slurm checks the version
 * number only, which does not tell everything. A source tree of another origin may have the same
 * number, and Slurm has moved fields of the job record within 24.11 and 26.05. Such a plugin would
 * write nonsense, or crash slurmctld.
 */
#ifndef CEEMS_JOBCOMP_ABI_CHECK_H
#define CEEMS_JOBCOMP_ABI_CHECK_H

#include <stdbool.h>

struct job_record;

/*
 * slurmctld's job read lock is held. Looks until a job was in its place; says, once, when one is not, which
 * then must not be read.
 */
bool abi_check_job(const struct job_record *job);

#endif
