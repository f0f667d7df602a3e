/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * feed.h - a queue from a hook that must not wait to a worker thread. It is a ring of bytes with
 * entries of any length; its address space is reserved once, its memory grows with the largest
 * burst. One thread pushes at a time (Slurm calls jobcomp under one mutex), and one pops. They
 * share atomic counters and no lock, so the hook never waits for the worker.
 */
#ifndef CEEMS_FEED_H
#define CEEMS_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libstore/job_facts.h"
#include "src/libutil/errmsg.h"

struct feed;

/*
 * How many keys can be kept. If the ring has no room for an entry, its key goes to a second ring of
 * fixed-size elements. The recorder reads the rest from slurmdbd (INBOX_KEY).
 */
#define FEED_KEYS (UINT32_C(1) << 19) /* 28 MiB if all are used; untouched memory costs nothing */

#define FEED_LOST_IDS 16

struct feed_lost {
	uint64_t count;		    /* losses since the last feed_take_lost() */
	uint32_t id[FEED_LOST_IDS]; /* job ids of the first of these losses */
	unsigned int nids;	    /* number of elements in id */
};

/*
 * Creates a queue; free it with feed_destroy(). BYTES is rounded up to a power of two, at least
 * 4096. A chunk is used again only after all of it was released. So of the 32 chunks of an 8 MiB
 * ring, 31 can always be filled, entries and padding together. Returns 0, -EINVAL (BYTES is too large),
 * -ENOMEM or -errno of eventfd().
 */
int feed_create(size_t bytes, struct feed **ret, struct errmsg *err) _must_check_;
void feed_destroy(struct feed *f);

/* --- the hook -------------------------------------------------------------------------------- */

/*
 * Copies an entry into the ring and wakes the worker. -ENOSPC: the ring is full. -EMSGSIZE: the
 * entry is longer than a chunk: 256 KiB in a ring of up to 8 MiB, but at most half of the ring. The
 * only system call is a write to an eventfd, made only if the worker may be asleep.
 */
int feed_push(struct feed *f, const void *data, size_t len);

/*
 * Whether half of the ring is used. Then the hook in slurmctld drops job starts, to leave room for job ends.
 */
bool feed_is_half_full(const struct feed *f);

/*
 * Keeps only the key of an entry that feed_push() could not take. -ENOSPC: this ring is full, too.
 */
int feed_push_key(struct feed *f, const struct job_key *key);

/* Counts a job end whose key could not be kept either; the worker reports the count and ID. */
void feed_note_lost(struct feed *f, uint32_t id);

/* --- the worker ------------------------------------------------------------------------------ */

/*
 * Returns the next entry that was not returned before. The entry is in place, aligned to 8 bytes,
 * and valid until feed_release(). 1: there is one; 0: there are no more. Memory is not released, so
 * after a failed write feed_rewind() starts again at the oldest entry.
 */
int feed_next(struct feed *f, const void **ret_data, size_t *ret_len) _must_check_;
void feed_rewind(struct feed *f);

/* Takes back the entry returned last: feed_release() keeps it, and feed_next() returns it again. */
void feed_unget(struct feed *f);

/* Releases all entries that feed_next() has returned. */
void feed_release(struct feed *f);

/*
 * The same for keys. feed_next_keys() copies up to N keys that were not returned before, and
 * returns how many. feed_release_keys() releases all keys returned so far; after feed_rewind_keys()
 * they are returned again.
 */
size_t feed_next_keys(struct feed *f, struct job_key *key, size_t n);
void feed_release_keys(struct feed *f);
void feed_rewind_keys(struct feed *f);

/*
 * Waits for an entry or for feed_wake(), at most TIMEOUT_MS (negative: for ever). For half a second
 * after an entry it returns after 20 ms, so that the hook need not wake the worker for the next
 * entry.
 */
void feed_wait(struct feed *f, int timeout_ms);

/* Waits for feed_wake() only, at most TIMEOUT_MS; used while entries cannot be written. */
void feed_pause(struct feed *f, int timeout_ms);

/* Ends feed_wait() and feed_pause(); called by another thread. */
void feed_wake(struct feed *f);

/* Returns the number of losses since the last call; fills in RET. */
uint64_t feed_take_lost(struct feed *f, struct feed_lost *ret);

#endif
