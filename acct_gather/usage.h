/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * usage.h - writes metric values into Slurm's usage of a step, TRES by TRES.
 */
#ifndef CEEMS_USAGE_H
#define CEEMS_USAGE_H

#include "acct_gather/slurm_compat.h"
#include "src/libcore/metric.h"

/*
 * Overwrites energy and every TRES of metric_table in JOBACCT, if this cluster accounts it, and so also what
 * usage_write_live() wrote. A value that is not known becomes INFINITE64, Slurm's "not collected", and never 0.
 * NODEID is the node's rank in a step of NNODES.
 */
void usage_write(struct jobacctinfo *jobacct, const struct values *values, uint32_t nodeid,
		 uint32_t nnodes, uint64_t elapsed_ns);

/*
 * The same while the step runs, for sstat. JOBACCT is the task to which Slurm counts the step's energy, since sstat adds
 * up the tasks. Slurm writes the energy itself. A value that is not known stays as it is.
 */
void usage_write_live(struct jobacctinfo *jobacct, const struct values *values, uint32_t nodeid);

#endif
