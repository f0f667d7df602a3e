/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * deliver.h - moves records from the store to the sinks: one thread per sink, so that a broker that hangs
 * holds up nobody but itself. Each has its own connection to read; the cursor goes through the store.
 *
 * A record is set aside as refused only when the sink has taken another one of the same round. A sink that
 * takes none of the records at hand is down: nothing is set aside, and all of them are tried again. A job
 * start that is refused is dropped: its record follows.
 *
 * Trouble is logged once when it begins and once when it ends. Between tries 1 s, doubling to 60 s, less up
 * to a quarter so that many daemons do not return together.
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
 * Starts a thread for each name in S->sinks and sets the store's sinks. One that cannot be opened (bad
 * or missing configuration) is logged and tried again as one that is down: its records wait, and a corrected
 * file needs no restart. A name that this build does not have is logged, and its records wait, too. STORE_DIR
 * is the store's folder. STORE, STORE_DIR and S are borrowed. The threads block all signals.
 */
int deliveries_start(struct store *store, const char *store_dir, const struct settings *s,
		     struct deliveries **ret, struct errmsg *err);
/*
 * Tells all threads to end and waits until TIMEOUT_NS is over. True: all have ended, everything is freed.
 * False: one hangs, in a call to its disk, say. Then nothing is freed; the process ends without
 * store_close(), which is what a kill would do.
 */
bool deliveries_stop(struct deliveries *all, uint64_t timeout_ns);

struct deliver_stats;
/* As of the last round of the sink NAME. False: no thread is for it, as this build has no such sink. */
bool deliveries_get_stats(struct deliveries *all, const char *name, struct deliver_stats *ret);

/* --- one sink; by itself for tests, benchmarks and `ceems store replay` --------------------------- */

struct deliver;

struct deliver_stats {
	uint64_t acked, refused, retries;
	uint64_t acked_wall_s;	   /* when it last took something; 0: not yet */
	bool is_down;		   /* the last try failed */
	uint64_t next_try_mono_ns; /* 0: at once */
};

/*
 * Fails only if the store does or memory is short. A sink that cannot be opened is no error: it counts as down and is tried again.
 */
int deliver_create(struct store *store, const char *store_dir, const struct sink_ops *ops,
		   const struct settings *s, struct deliver **ret, struct errmsg *err);

/*
 * One round: at most one batch, in the order of the store. Returns the number of records settled
 * (0: nothing to do or backing off). TIMEOUT_NS is given to the sink; a disk that hangs is not bounded by it.
 */
int deliver_run(struct deliver *d, uint64_t now_mono_ns, uint64_t timeout_ns);
void deliver_get_stats(const struct deliver *d, struct deliver_stats *ret);
/* Half a second for what is on its way. */
void deliver_destroy(struct deliver *d);

#endif
