/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spank_options.h - what the user asked for. Slurm hands options over by callbacks without a
 * context, and up to 23.11 twice in srun's steps. So this is the only state that the plugin's
 * callbacks share.
 */
#ifndef CEEMS_SPANK_OPTIONS_H
#define CEEMS_SPANK_OPTIONS_H

#include <stdbool.h>

#include <slurm/spank.h>

#include "src/libcore/perf_request.h"
#include "src/libcore/profile_request.h"

struct spank_request {
	bool is_perf;	      /* --ceems-perf was given ... */
	struct perf_request perf; /* ... for this */
	bool is_report;	      /* --ceems-report */
	uint64_t trace_ns;    /* --ceems-trace: its interval; 0: it was not given */
	struct profile_request profile; /* --ceems-profile; hz is 0: it was not given */
};

/* In every context that knows options: srun, sbatch and salloc, slurmstepd. */
int spank_options_register(spank_t sp);

const struct spank_request *spank_options_request(void);

#endif
