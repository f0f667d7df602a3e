/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * deliver.h - moves records from the store to the sinks. Each sink has a thread of its own, so that a broker
 * that hangs does not hold up other sinks. Each thread reads through a connection of its own, and writes the
 * sink's cursor through the store.
 *
 * A record is set aside as refused only if the sink has taken another record of the same round. If a sink takes
 * none of the records at hand, it is down: nothing is set aside, and all records are tried again. A job start
 * that is refused is dropped, because the record of the job follows.
 *
 * Trouble is logged once when it begins and once when it ends. The pause between tries doubles from 1 s to 60 s.
 * It is shortened by up to a quarter, at random, so that many daemons do not return together.
 */
#ifndef CEEMS_DELIVER_H
#define CEEMS_DELIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "src/libsink/sink.h"
#include "src/libstore/store.h"

/* --- all sinks of Sinks ------------------------------------------------------------------------- */

struct deliveries;

/*
 * Starts a thread for each name in S->sinks and sets the store's sinks. A sink that cannot be opened (bad
 * or missing configuration) is logged and tried again, like a sink that is down. Its records wait, and a corrected
 * file needs no restart. A name that this build does not have is logged, and its records wait, too. STORE_DIR
 * is the store's folder. STORE, STORE_DIR and S are borrowed. The threads block all signals.
 */
int deliveries_start(struct store *store, const char *store_dir, const struct settings *s,
		     struct deliveries **ret, struct errmsg *err);
/*
 * Tells all threads to end and waits for them, at most TIMEOUT_NS. True: all have ended, everything is freed.
 * False: a thread hangs, for example in a call to its disk. Then nothing is freed, and the caller must end the process
 * without store_close(), as a kill would.
 */
bool deliveries_stop(struct deliveries *all, uint64_t timeout_ns);

struct deliver_stats;
/* The state after the last round of the sink NAME. False: this build has no such sink, so it has no thread. */
bool deliveries_get_stats(struct deliveries *all, const char *name, struct deliver_stats *ret);

/* --- one sink; by itself for tests, benchmarks and `ceems store replay` --------------------------- */

struct deliver;

struct deliver_stats {
	uint64_t acked, refused, retries;
	uint64_t partial; /* answers by which records were taken in part */
	uint64_t acked_wall_s;	   /* when the sink last took a record; 0: not yet */
	bool is_down;		   /* the last try failed */
	uint64_t next_try_mono_ns; /* 0: at once */
};

/*
 * Fails only if the store fails or memory is short. A sink that cannot be opened is no error: it counts as down and is tried again.
 */
int deliver_create(struct store *store, const char *store_dir, const struct sink_ops *ops,
		   const struct settings *s, struct deliver **ret, struct errmsg *err);

/*
 * One round: at most one batch, in the order of the store. Returns the number of records settled
 * (0: nothing to do or backing off). TIMEOUT_NS is given to the sink; a disk that hangs is not bounded by it.
 */
int deliver_run(struct deliver *d, uint64_t now_mono_ns, uint64_t timeout_ns);
void deliver_get_stats(const struct deliver *d, struct deliver_stats *ret);
/* Waits at most half a second for records that are on their way. */
void deliver_destroy(struct deliver *d);

#endif
