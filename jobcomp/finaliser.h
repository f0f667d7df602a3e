/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * finaliser.h - the thread that turns PENDING into RECORD: waits until a job's energy is final, adds
 * its steps, and appends the record for the sinks; and the corrections (followup.h).
 *
 * It works from the spool alone, through a cursor of its own that stays at the oldest PENDING
 * without RECORD. So what a killed slurmctld left is taken up by the next one in the same way as
 * what the intake wrote a moment ago, and memory holds FINALISER_MAX jobs at most.
 */
#ifndef CEEMS_FINALISER_H
#define CEEMS_FINALISER_H

#include "jobcomp/dbd_pace.h"
#include "jobcomp/dbd_rows.h"
#include "jobcomp/finish.h"
#include "jobcomp/followup.h"
#include "jobcomp/steps.h"
#include "jobcomp/store.h"
#include "jobcomp/waitlist.h"
#include "src/libcore/settings.h"
#include "src/librecord/record.h"

#define FINALISER_MAX 20000

struct finaliser {
	struct store *store;		 /* borrowed, as all in this block */
	const struct settings *settings;
	struct steps *steps;		 /* NULL: accounting is not done with slurmdbd */
	struct factors *factors;
	bool unmeasured;		 /* AcctGatherEnergyType=none */
	struct spool_cursor *cursor;	 /* owned */
	struct waitlist *waiting;	 /* owned */
	struct finish finish;
	struct dbd_pace dbd;
	struct dbd_rows rows;
	struct followup followup;
	struct spool_pos read_to;	 /* behind the last entry read */
	struct spool_pos acked;
	bool has_more;			 /* the last look stopped before the spool's end */
	uint64_t next_write_mono_ns;	 /* the spool took no record: not before */
};

/* Under the store's lock, once the spool is open and before anything in it is acknowledged. */
int finaliser_open(struct finaliser *f, struct errmsg *err);

/* Runs until the store is stopped. What waits then is taken up by the next start. */
void finaliser_run(struct finaliser *f);

#endif
