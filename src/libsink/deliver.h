/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * deliver.h - moves records from the store to the sinks. Each sink has a thread of its own, so that a broker
 * that hangs does not hold up other sinks. The thread reads records through its own connection to the store's
 * file, and writes the sink's cursor through struct store. window.h has what `ceems store replay` does, too.
 *
 * A refused record is set aside only if the sink has taken another record in the same round. A sink that
 * refuses all records counts as down: nothing is set aside, and all records are tried again. A refused job
 * start is dropped, because the record of the job follows.
 *
 * While the store cannot note what a sink took (its disk is full, for example), the sink gets nothing: each
 * try only notes the results again. If the recorder ends before that, its next start delivers the records a
 * second time.
 *
 * Trouble is logged once when it begins and once when it ends. The pause between tries doubles from 1 s to 60
 * s. It is shortened by up to a quarter, at random, so that many daemons do not return at the same time.
 */
#ifndef CEEMS_DELIVER_H
#define CEEMS_DELIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "src/libsink/sink.h"
#include "src/libstore/store.h"
#include "src/libutil/must_check.h"

/* --- all sinks of Sinks ------------------------------------------------------------------------- */

struct deliveries;

/*
 * Starts a thread for each sink in S->sinks and sets the store's sinks. A sink that cannot be opened (bad or
 * missing configuration) counts as down: this is logged, and its records wait. The sink is tried again, so a
 * corrected file needs no restart. A sink that this build does not have is logged, and its records wait, too.
 * STORE_DIR is the store's folder. STORE, STORE_DIR and S are borrowed. The threads block all signals.
 */
int deliveries_start(struct store *store, const char *store_dir, const struct settings *s,
		     struct deliveries **ret, struct errmsg *err) _must_check_;
/*
 * Ends all threads, waiting at most TIMEOUT_NS, and returns true when all is freed. False: a thread hangs,
 * for example in a read from its disk. Then nothing is freed, and the caller must end the process without
 * store_close(), which the thread could hold up.
 */
bool deliveries_stop(struct deliveries *all, uint64_t timeout_ns);

struct deliver_stats;
/* Gives the state of sink NAME after its last round. False: there is no thread for such a sink. */
bool deliveries_get_stats(struct deliveries *all, const char *name, struct deliver_stats *ret) _must_check_;

/* --- one sink, without a thread: also for tests and benchmarks ------------------------------------ */

struct deliver;

struct deliver_stats {
	uint64_t acked, refused, retries;
	uint64_t partial;	   /* answers by which records were taken in part */
	uint64_t acked_wall_s;	   /* when the sink last took a record; 0: not yet */
	bool is_down;		   /* the last try failed */
	uint64_t next_try_mono_ns; /* when a sink that is down is tried again; 0: it is not down */
};

/*
 * Prepares deliveries to one sink, from its cursor on. STORE, STORE_DIR and S are borrowed. Fails only if the
 * store fails or memory is short. A sink that cannot be opened counts as down and is tried again.
 */
int deliver_create(struct store *store, const char *store_dir, const struct sink_ops *ops,
		   const struct settings *s, struct deliver **ret, struct errmsg *err) _must_check_;

/*
 * Runs one round: delivers the next records in the order of the store, at most a batch. Returns the number of
 * records that were settled. 0: nothing to do, the sink is down, or the store failed. The sink gets
 * TIMEOUT_NS; reading from a disk that hangs may take longer.
 */
int deliver_run(struct deliver *d, uint64_t now_mono_ns, uint64_t timeout_ns);
void deliver_get_stats(const struct deliver *d, struct deliver_stats *ret);
/* Waits at most half a second for acknowledgements of records that were sent, then frees D. */
void deliver_destroy(struct deliver *d);

#endif
