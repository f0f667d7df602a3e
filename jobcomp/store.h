/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store.h - the spool, shared by the threads of this plugin. The lock guards the spool with all
 * its cursors (spool.h: not for two threads at once), and `generation` below. It is
 * never held while slurmctld's locks are taken or a network is waited for.
 */
#ifndef CEEMS_STORE_H
#define CEEMS_STORE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "src/libsink/spool.h"

/* What a thread waits for: a wake-up for nothing costs more than the look that follows. */
enum store_news {
	STORE_ENTRIES, /* of any kind */
	STORE_RECORDS, /* something for a sink */
	STORE_STOP,    /* nothing but the daemon's end */
	STORE_NEWS,
};

struct store {
	pthread_mutex_t lock;
	pthread_cond_t changed[STORE_NEWS];
	struct spool *spool;  /* NULL until it could be opened; set once, by the intake */
	uint64_t max_bytes;
	uint64_t generation[STORE_NEWS]; /* counts what was announced */
	unsigned int appended; /* SPOOL_MASK() of what was not announced yet */
	atomic_bool stop;
};

int store_init(struct store *s, uint64_t max_bytes);
void store_fini(struct store *s);

void store_lock(struct store *s);
void store_unlock(struct store *s);

/*
 * Appends under the lock. The last quarter is not for what the hook brings (PENDING, KEY, START): only
 * the others let the finaliser and the sinks get on and so free segments. FOLLOWUP, which nobody
 * misses but its own job, has the first half.
 */
int store_append(struct store *s, enum spool_kind kind, const char *key, const char *json,
		 size_t len, struct errmsg *err);

/* Under the lock: tells everybody who waits for what was appended. */
void store_announce(struct store *s);

/*
 * Without the lock: waits until there is something behind *SEEN, the daemon ends, or TIMEOUT_NS.
 * False: the daemon ends.
 */
bool store_wait(struct store *s, enum store_news news, uint64_t *seen, uint64_t timeout_ns);

bool store_is_stopping(const struct store *s);

/*
 * Ends all of them. False: somebody has had the lock until DEADLINE (CLOCK_MONOTONIC), whose disk
 * hangs; they end when that one lets go.
 */
bool store_stop(struct store *s, const struct timespec *deadline);

#endif
