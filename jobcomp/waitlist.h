/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * waitlist.h - the jobs whose record is not written yet, in the order of the spool, found by key.
 */
#ifndef CEEMS_WAITLIST_H
#define CEEMS_WAITLIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libjob/record.h"
#include "src/libsink/spool.h"

enum wait_phase {
	WAIT_END,   /* for the job's steps to end in slurmctld */
	WAIT_STEPS, /* for their rows in slurmdbd */
	WAIT_WRITE, /* for room in the spool */
	WAIT_SYNC,  /* for the disk */
	WAIT_DONE,  /* the RECORD is in the spool */
};

struct waiting {
	struct waiting *next;	   /* in the order of the spool */
	struct waiting *hash_next;
	struct spool_pos pos;	   /* of its PENDING */
	char key[RECORD_KEY_MAX];
	struct record *record;	   /* owned; NULL in WAIT_DONE */
	enum wait_phase phase;
	bool ended;		   /* slurmctld or slurmdbd said so */
	bool requeued;
	struct maybe_u64 ctld_energy_j, dbd_energy_j;
	uint64_t deadline_mono_ns; /* of the phase */
	uint64_t next_try_mono_ns;
	uint64_t interval_ns;
};

struct waitlist {
	struct waiting *first, *last;
	size_t n;
	size_t nbuckets;
	struct waiting **bucket;
};

/* NULL: out of memory. */
struct waitlist *waitlist_create(size_t nbuckets);
void waitlist_destroy(struct waitlist *l);

struct waiting *waitlist_find(const struct waitlist *l, const char *key, size_t key_len);

/*
 * Appends. A job that waits already under that key gets the new RECORD instead, and keeps its
 * place. RECORD is taken over in every case. NULL: out of memory.
 */
struct waiting *waitlist_add(struct waitlist *l, const char *key, size_t key_len,
			     const struct spool_pos *pos, struct record *record);

/* Frees those at the front that are done; true: there were any. */
bool waitlist_trim(struct waitlist *l);

#endif
