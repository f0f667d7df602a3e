/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * finish.h - the last step of a record: its sums, names and emissions, and into the spool with it.
 */
#ifndef CEEMS_FINISH_H
#define CEEMS_FINISH_H

#include "jobcomp/factors.h"
#include "jobcomp/names.h"
#include "jobcomp/steps.h"
#include "jobcomp/store.h"
#include "src/libcore/settings.h"
#include "src/librecord/record.h"
#include "src/librecord/record_fill.h"

struct finish {
	struct store *store; /* borrowed, as all in this block */
	const struct settings *settings;
	struct factors *factors; /* NULL: no emissions but the nodes' */
	bool unmeasured;	 /* AcctGatherEnergyType=none */
	struct names names;
	uint64_t nunfollowed; /* FOLLOWUPs the spool had no room for */
	uint64_t sync_failures; /* of the spool, when finish_sync() looked last */
};

/* Takes over what slurmdbd has of R: steps and script. Not for STEPS_ABSENT. */
void finish_take_steps(const struct finish *f, struct record *r, struct steps_query *q);

/*
 * Completes R and appends it under KEY, in parts if it is long, to be synced by the caller. FOLLOW: it
 * lacks something that may come later, so a FOLLOWUP goes with it.
 *
 * The FOLLOWUP goes first: a crash may take the end of what was not synced, and with the RECORD on
 * disk nobody would write the other. Without RECORD the PENDING is handled again.
 */
int finish_append(struct finish *f, const char *key, struct record *r,
		  const struct record_ending *end, bool follow, struct errmsg *err);

/* The FOLLOWUP alone. -ENOSPC: the spool is wanted for records. */
int finish_append_followup(struct finish *f, const char *key, struct record *r,
			   struct errmsg *err);

int finish_sync(struct finish *f, struct errmsg *err);

#endif
