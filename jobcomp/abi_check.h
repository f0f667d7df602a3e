/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * abi_check.h - checks that slurmctld's job record has the layout of the headers that this plugin was built
 * with. Slurm checks only the version number. But a source tree from elsewhere may have the same number, and
 * Slurm has moved members of the job record within 24.11 and within 26.05. With another layout, the plugin
 * would write nonsense or crash slurmctld.
 */
#ifndef CEEMS_JOBCOMP_ABI_CHECK_H
#define CEEMS_JOBCOMP_ABI_CHECK_H

#include <stdbool.h>

struct job_record;

/*
 * Returns true if JOB may be read. Checks each job until one has passed; after that, all pass. Logs the first
 * failure. The caller holds slurmctld's job read lock.
 */
bool abi_check_job(const struct job_record *job);

#endif
