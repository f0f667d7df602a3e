/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spank_trace.h - gives jobs and steps a trace.
 *
 * At submission, the job-control variable CEEMS_TRACEPARENT is set: to TRACEPARENT of the user's
 * environment, or to a new trace for --ceems-trace-context. Slurm keeps the variable with the job
 * in slurmctld, where jobcomp_ceems copies it to the record. Slurm also gives it to the job as
 * SLURM_SPANK_CEEMS_TRACEPARENT. From this, slurmstepd sets TRACEPARENT of the step's tasks, with
 * the step's span as parent. TRACESTATE is not touched.
 */
#ifndef CEEMS_SPANK_TRACE_H
#define CEEMS_SPANK_TRACE_H

#include <slurm/spank.h>

/* Sets the variable. Call it in srun, sbatch and salloc after the options are parsed. */
void spank_trace_submit(spank_t sp);

/* Sets TRACEPARENT of the tasks. Call it in slurmstepd before the first task starts. */
void spank_trace_step(spank_t sp);

#endif
