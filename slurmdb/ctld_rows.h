/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ctld_rows.h - asks slurmctld for the energy of ended jobs, for a site without slurmdbd or while
 * slurmdbd does not answer. slurmctld knows a job's energy, but not its steps, until it forgets the
 * job (MinJobAge). Uses the public API of libslurm, and waits for slurmctld as long as scontrol
 * does.
 */
#ifndef CEEMS_SLURMDB_CTLD_ROWS_H
#define CEEMS_SLURMDB_CTLD_ROWS_H

#include "slurmdb/slurm_compat.h"
#include "slurmdb/slurmdb_rows.h"
#include "src/libutil/must_check.h"

/*
 * slurmdb_rows_get() and slurmdb_rows_window() with slurmctld as the source. CLUSTER is
 * ClusterName.
 */
int ctld_rows_get(const char *cluster, const struct slurmdb_want *want, size_t n, struct slurmdb_jobs *ret,
		  struct errmsg *err) _must_check_;
int ctld_rows_window(const char *cluster, uint64_t from, uint64_t to, struct slurmdb_jobs *ret,
		     struct errmsg *err) _must_check_;

/* Makes a record of what slurmctld knows about JOB. CLUSTER may be NULL. NULL: out of memory. */
struct record *ctld_record(const char *cluster, const slurm_job_info_t *job);

#endif
