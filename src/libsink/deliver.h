/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * deliver.h - moves records from the spool to one sink: batches, back-off, dead letters, its cursor.
 */
#ifndef CEEMS_DELIVER_H
#define CEEMS_DELIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "src/libsink/sink.h"
#include "src/libsink/spool.h"

struct deliver;

struct deliver_stats {
	uint64_t acked, refused, retries;
	bool is_down;		   /* the last try failed */
	uint64_t next_try_mono_ns; /* 0: at once */
};

/*
 * Opens the sink's cursor, which is named after it, and tries to open the sink. A sink that cannot
 * be opened (bad or missing configuration) is logged and tried again as one that is down: its
 * records wait in the spool, and a corrected file needs no restart. So errors here are the
 * spool's. Refused items go to "<spool>/<name>.dead" (deadletter.h). SPOOL and S
 * are borrowed.
 */
int deliver_create(struct spool *spool, const struct sink_ops *ops, const struct settings *s,
		   struct deliver **ret, struct errmsg *err);

/*
 * One round: at most one batch, in the order of the spool. Returns the number of records settled
 * (0: nothing to do or backing off). Trouble is logged once when it begins and once when it ends;
 * between tries 1 s, doubling to 60 s, less up to a quarter so that many daemons do not return
 * together. TIMEOUT_NS is given to the sink; a disk that hangs is not bounded by it.
 */
int deliver_run(struct deliver *d, uint64_t now_mono_ns, uint64_t timeout_ns);
void deliver_get_stats(const struct deliver *d, struct deliver_stats *ret);
void deliver_destroy(struct deliver *d);

#endif
