/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * feed.h - the queue between a hook that must not wait and the thread that does the work. It is a
 * ring of bytes, allocated once, with entries of any length. It takes as much memory as the largest
 * burst needed. One thread pushes at a time (Slurm calls jobcomp under one mutex), and one pops.
 * They share two counters and no lock, so the hook never waits for the worker.
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
 * If the ring has no room for an entry, the entry's key is kept in a second ring. That ring has
 * entries of fixed size, and its memory is not touched before it is needed. The rest is read from
 * slurmdbd later (INBOX_KEY).
 */
#define FEED_KEYS (UINT32_C(1) << 19) /* 28 MiB if all are used */

#define FEED_LOST_IDS 16

struct feed_lost {
	uint64_t count;		      /* since the last feed_take_lost() */
	uint32_t id[FEED_LOST_IDS];   /* the first of them */
	unsigned int nids;
};

/* BYTES is rounded up to a power of two, at least 4096. Of 8 MiB there is always room for 31/32. */
int feed_create(size_t bytes, struct feed **ret, struct errmsg *err);
void feed_destroy(struct feed *f);

/* --- the hook -------------------------------------------------------------------------------- */

/*
 * Copies the entry and wakes the worker. -ENOSPC: the ring is full. -EMSGSIZE: the entry takes over
 * half of the ring, or over 256 KiB if the ring has up to 8 MiB. The only system call is a write to
 * an eventfd, if the worker may be asleep. For half a second after an entry the worker is awake.
 */
int feed_push(struct feed *f, const void *data, size_t len);

/* For what must not take the room of something more important. */
bool feed_is_half_full(const struct feed *f);

/* When feed_push() could not. -ENOSPC: no room for this either. */
int feed_push_key(struct feed *f, const struct job_key *key);

/* Remembers that not even the key of ID could be kept, for the worker to report. */
void feed_note_lost(struct feed *f, uint32_t id);

/* --- the worker ------------------------------------------------------------------------------ */

/*
 * The next entry not yet seen, in place and aligned to 8 bytes, valid until feed_release(). Returns
 * 1, or 0 if there are no more. feed_next() gives no memory back. So a batch that could not be
 * written stays for another try: feed_rewind() starts again at the oldest.
 */
int feed_next(struct feed *f, const void **ret_data, size_t *ret_len);
void feed_rewind(struct feed *f);

/* Makes the entry last seen unseen: it is kept when the ones before it are released. */
void feed_unget(struct feed *f);

/* Gives back everything that feed_next() has shown. */
void feed_release(struct feed *f);

/*
 * The same three for keys: up to N of those not yet seen into KEY, returns how many; all that were
 * shown are given back, or shown again.
 */
size_t feed_next_keys(struct feed *f, struct job_key *key, size_t n);
void feed_release_keys(struct feed *f);
void feed_rewind_keys(struct feed *f);

/*
 * Waits for an entry or feed_wake(), at most TIMEOUT_MS (negative: for ever). Soon after an entry
 * it returns early, after a few milliseconds, so that the hook need not wake the worker for the
 * next entry.
 */
void feed_wait(struct feed *f, int timeout_ms);

/* The same, but only feed_wake() ends it: for when entries cannot be handled now. */
void feed_pause(struct feed *f, int timeout_ms);

/* Ends both from another thread. */
void feed_wake(struct feed *f);

/* What was lost since the last call; returns the count. */
uint64_t feed_take_lost(struct feed *f, struct feed_lost *ret);

#endif
