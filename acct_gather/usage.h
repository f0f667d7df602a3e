/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * usage.h - figures into Slurm's usage of a step, TRES by TRES.
 */
#ifndef CEEMS_USAGE_H
#define CEEMS_USAGE_H

#include "acct_gather/slurm_compat.h"
#include "src/libcore/metric.h"

/*
 * Overwrites in JOBACCT energy and every TRES of metric_table that this cluster accounts, also what a task had by
 * usage_write_live(). A figure that is not known becomes what Slurm marks "not collected" (INFINITE64), never 0.
 * NODEID is the node's rank in a step of NNODES.
 */
void usage_write(struct jobacctinfo *jobacct, const struct figures *figures, uint32_t nodeid,
		 uint32_t nnodes, uint64_t elapsed_ns);

/*
 * The same while the step runs, for sstat, which adds up the step's tasks: into JOBACCT, the task that Slurm counts
 * the step's energy to. Energy itself is Slurm's to write. What is not known is left as it is.
 */
void usage_write_live(struct jobacctinfo *jobacct, const struct figures *figures, uint32_t nodeid);

#endif
