/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * usage.h - writes metric values into Slurm's usage of a step, TRES by TRES.
 */
#ifndef CEEMS_USAGE_H
#define CEEMS_USAGE_H

#include "acct_gather/slurm_compat.h"
#include "src/libcore/metric.h"

/*
 * Writes the final values of energy and of every TRES in metric_table that this cluster accounts to JOBACCT.
 * They replace those of usage_write_live(). A value that is not known becomes INFINITE64, Slurm's "not
 * collected". NODEID is the node's rank in a step of NNODES nodes. MEAN_W is the step's mean power.
 */
void usage_write(struct jobacctinfo *jobacct, const struct values *values, uint32_t nodeid, uint32_t nnodes,
		 uint64_t mean_w);

/*
 * Writes the values so far, for sstat. JOBACCT must be the task to which Slurm adds the step's energy: sstat
 * sums the tasks, so only one may have the values. Energy itself is written by Slurm. Unknown values are not
 * written.
 */
void usage_write_live(struct jobacctinfo *jobacct, const struct values *values, uint32_t nodeid);

#endif
