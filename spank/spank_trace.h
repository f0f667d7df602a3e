/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spank_trace.h - the trace of a job. At submission, the TRACEPARENT of the user's environment, or a new trace for
 * --ceems-trace-context, becomes a job-control variable. Slurm keeps it with the job in slurmctld, where jobcomp_ceems
 * finds it for the record, and gives it to the job as SLURM_SPANK_CEEMS_TRACEPARENT. By that, each step's tasks get a
 * TRACEPARENT whose parent is the step's span. TRACESTATE is not touched.
 */
#ifndef CEEMS_SPANK_TRACE_H
#define CEEMS_SPANK_TRACE_H

#include <slurm/spank.h>

/* In srun, sbatch and salloc, when options are known. */
void spank_trace_submit(spank_t sp);

/* In slurmstepd, before the first task. */
void spank_trace_step(spank_t sp);

#endif
