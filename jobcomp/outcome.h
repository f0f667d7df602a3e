/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * outcome.h - how a job ended, as slurmdbd has it, and so sacct. slurmctld tells the two of us at the
 * same time; but killed, it may tell an end again, with another time, state and exit code, and then
 * the last one counts, in whichever order they get here.
 */
#ifndef CEEMS_OUTCOME_H
#define CEEMS_OUTCOME_H

#include <stdbool.h>

#include "src/librecord/record.h"

struct outcome {
	bool known;
	uint64_t start, end; /* seconds since the epoch */
	char state[24];
	int32_t exit_code, exit_signal, derived_exit_code;
};

/*
 * Whether O is of another run of the job than R: a slurmctld that was killed and forgot the one it told
 * of let it run again. That one is told, too, and has a record of its own under the same key.
 */
bool outcome_is_of_another(const struct outcome *o, const struct record *r);

/* Of the same run; another's changes nothing. -ENOMEM: R is as it was. */
int outcome_apply(const struct outcome *o, struct record *r);

#endif
