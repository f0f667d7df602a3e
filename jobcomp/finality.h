/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * finality.h - asks slurmctld whether a job is over for good. When jobcomp is told of a job's end,
 * its steps are still being killed and its energy is not known; Slurm adds it up in the job's
 * record as the steps report, and nothing tells us when, so we look.
 */
#ifndef CEEMS_FINALITY_H
#define CEEMS_FINALITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/librecord/record.h"

enum finality_state {
	FINALITY_COMPLETING, /* steps may still report, or slurmctld ends */
	FINALITY_ENDED,	     /* this is the final energy, or there is none */
	FINALITY_GONE,	     /* slurmctld knows this incarnation no more */
};

#define FINALITY_BATCH 256 /* queries that a caller has on its stack for a finality_poll() */

struct finality_query {
	uint32_t job_id;
	uint32_t restart_count;
	uint64_t submit;
	uint64_t start; /* tells incarnations apart, as a requeue resets it */
	/* the answer */
	enum finality_state state;
	struct maybe_u64 energy_j; /* so far, or final */
	bool start_untold;	   /* slurmctld has yet to tell slurmdbd of the job, which may have ended */
	bool is_relayed; /* the job's own node tells of its steps, and may be seconds behind */
};

/*
 * Answers N queries under slurmctld's job read lock, some at a time. Not to be called with a lock of ours
 * held that a hook could wait for: the hooks run under the job write lock.
 */
void finality_poll(struct finality_query *q, size_t n);

#endif
