/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * followup.h - corrections: what a written record lacked is asked for again, and when it is there
 * the record is written once more, whole, under the same key.
 *
 * What is to be asked for is in the spool alone, as FOLLOWUP entries, read through a cursor of its
 * own in rounds: from the oldest to where the spool ended when the round began. What still lacks
 * something goes to the spool's end again, so that the cursor moves on and segments can go: memory
 * holds a batch, and a crash repeats a batch. A round is due after some time; earlier, and
 * without questions, when the cursor holds back much of the spool.
 */
#ifndef CEEMS_FOLLOWUP_H
#define CEEMS_FOLLOWUP_H

#include "jobcomp/dbd_pace.h"
#include "jobcomp/finish.h"

#define FOLLOWUP_FIRST_NS (30 * NSEC_PER_SEC)
#define FOLLOWUP_MAX_NS (120 * NSEC_PER_SEC) /* less than half of Slurm's default MinJobAge */

struct followup {
	struct finish *finish; /* borrowed, as all in this block */
	struct dbd_pace *dbd;
	struct spool_cursor *cursor; /* owned */
	uint64_t first_ns;	     /* FOLLOWUP_FIRST_NS; a test has less time */
	uint64_t held_max_bytes;     /* behind the oldest FOLLOWUP, before a round without questions */
	struct spool_pos read_to, acked;
	bool is_held;		     /* there is a FOLLOWUP at ACKED */
	uint64_t held_bytes;	     /* read since */
	bool has_more;		     /* the last look stopped before the spool's end */
	uint64_t next_round_mono_ns;
	uint64_t not_before_mono_ns; /* the last try failed */
	uint64_t pause_ns;
	/* slurmdbd was told all of them: in the round with questions before, sorted, and in this one */
	struct told_keys {
		uint32_t *hash;
		size_t n, room;
	} told_before, told_now;
	/* a round */
	bool in_round, asks;
	struct spool_pos round_end;
	uint64_t nkept, kept_bytes;  /* of this round, and then of the last */
	uint64_t ncorrected, ngiven_up, nunasked;
	char given_up[RECORD_KEY_MAX]; /* the first of them */
};

/* Under the store's lock, before anything is acknowledged. F and D are initialised. */
int followup_open(struct followup *u, struct finish *f, struct dbd_pace *d, struct errmsg *err);

/* Under the store's lock. */
void followup_close(struct followup *u);

/* A FOLLOWUP was written: it is looked at soon. */
void followup_hint(struct followup *u, uint64_t now);

/* Without the lock: what is due, at most a batch. */
void followup_run(struct followup *u, uint64_t now);

/* When followup_run() has something to do, unless something is appended before. */
uint64_t followup_next(const struct followup *u, uint64_t now);

#endif
