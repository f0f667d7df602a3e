/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * waitlist.h - the jobs whose record is not written yet: in the order of the spool, found by key,
 * and per phase by the time of their next try, so that a look at what is due does not touch the
 * others.
 */
#ifndef CEEMS_WAITLIST_H
#define CEEMS_WAITLIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/librecord/record.h"
#include "src/libsink/spool.h"

enum wait_phase {
	WAIT_END,   /* for the job's steps to end in slurmctld */
	WAIT_STEPS, /* for slurmdbd's rows */
	WAIT_WRITE, /* for room in the spool, and for the disk */
	WAIT_PHASES
};

struct waiting {
	struct waiting *next, *prev; /* in the order of the spool */
	struct waiting *hash_next;
	struct spool_pos pos;	   /* of its PENDING */
	char key[RECORD_KEY_MAX];
	struct record *record;	   /* owned */
	enum wait_phase phase;
	size_t place;		   /* in the phase's heap */
	bool is_queued;		   /* it is in there */
	bool is_written;	   /* its RECORD can be read, and yet be lost: the sync failed */
	bool ended;		   /* slurmctld or slurmdbd said so */
	bool requeued;
	bool gone;		   /* slurmctld does not know it any more */
	bool needs_refill;	   /* SPOOL_KEY: what is not known of it is in slurmdbd */
	bool steps_open;	   /* slurmdbd does not have the end of all of them */
	uint64_t told_since_ns;	   /* slurmdbd acknowledged all of it by then; 0: not that we know */
	uint64_t complete_since_ns; /* slurmdbd has its end, and usage of all steps it has; 0: no */
	bool all_told;		   /* slurmdbd will have no more of it than it had */
	uint64_t steps_missing;    /* of its RECORD, which was read: in the parts behind it */
	struct maybe_u64 ctld_energy_j, dbd_energy_j;
	uint64_t begin_mono_ns, deadline_mono_ns; /* of the phase */
	uint64_t next_try_mono_ns;
	uint64_t interval_ns;
};

struct wait_heap {
	struct waiting **item; /* the earliest next try first */
	size_t n;
};

struct waitlist {
	struct waiting *first, *last;
	size_t n, max;
	size_t nbuckets;
	struct waiting **bucket;
	struct wait_heap heap[WAIT_PHASES];
};

/* For MAX jobs. NULL: out of memory. */
struct waitlist *waitlist_create(size_t max);
void waitlist_destroy(struct waitlist *l);

struct waiting *waitlist_find(const struct waitlist *l, const char *key, size_t key_len);

/*
 * Appends; it is in no phase yet. A job that waits already under that key gets the new RECORD
 * instead, of which nothing is known yet, and keeps its place. RECORD is taken over in every case.
 * NULL: out of memory, or full.
 */
struct waiting *waitlist_add(struct waitlist *l, const char *key, size_t key_len,
			     const struct spool_pos *pos, struct record *record);

/* It is done. */
void waitlist_remove(struct waitlist *l, struct waiting *w);

/* W waits in PHASE, from whichever it was in, until w->next_try_mono_ns. */
void waitlist_enter(struct waitlist *l, struct waiting *w, enum wait_phase phase);

/* W begins to wait in PHASE: the first try is FIRST_NS from NOW, the deadline PATIENCE_NS. */
void waitlist_begin(struct waitlist *l, struct waiting *w, enum wait_phase phase, uint64_t now,
		    uint64_t first_ns, uint64_t patience_ns);

/*
 * W goes on waiting in the phase that it was taken from. The pauses grow, up to MAX_NS, as most jobs are
 * through with the first; none ends after LATEST.
 */
void waitlist_again(struct waitlist *l, struct waiting *w, uint64_t now, uint64_t max_ns,
		    uint64_t latest_mono_ns);

/* Takes out of PHASE the one that is due first; NULL: nobody is. It has to enter a phase again. */
struct waiting *waitlist_take_due(struct waitlist *l, enum wait_phase phase, uint64_t now);

/* When the next one of PHASE is due; UINT64_MAX: nobody waits there. */
uint64_t waitlist_next_due(const struct waitlist *l, enum wait_phase phase);

#endif
