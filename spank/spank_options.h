/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spank_options.h - the options that the user gave. Slurm passes each by a callback without a context, so
 * they are kept in a static variable. Up to 23.11, Slurm passes them twice in steps of srun.
 */
#ifndef CEEMS_SPANK_OPTIONS_H
#define CEEMS_SPANK_OPTIONS_H

#include <stdbool.h>

#include <slurm/spank.h>

#include "src/libcore/perf_request.h"
#include "src/libcore/profile_request.h"

struct spank_request {
	bool is_perf;			/* --ceems-perf was given */
	struct perf_request perf;	/* what --ceems-perf asks for */
	bool is_report;			/* --ceems-report was given */
	uint64_t trace_ns;		/* interval of --ceems-trace; 0: the option was not given */
	bool is_trace_context;		/* --ceems-trace-context was given */
	struct profile_request profile; /* --ceems-profile; if hz is 0, the option was not given */
};

/*
 * Registers the options. To be called in srun, sbatch, salloc and slurmstepd. -1: not
 * possible; this was logged.
 */
int spank_options_register(spank_t sp);

const struct spank_request *spank_options_request(void);

#endif
