/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sink.h - one interface for where records go. Called by the jobcomp worker only, never under
 * slurmctld's locks. Delivery is at least once; the key makes a repeat harmless.
 */
#ifndef CEEMS_SINK_H
#define CEEMS_SINK_H

#include <stddef.h>
#include <stdint.h>

#include "src/libcore/settings.h"
#include "src/libsink/spool.h"
#include "src/libutil/errmsg.h"

struct sink; /* opaque, one per open sink */

struct sink_item {
	enum spool_kind kind; /* one of the sink's kinds */
	const char *key;
	size_t key_len;
	const char *json;
	size_t json_len;
	/* ascending; of all that are not settled, less than max_batch apart */
	uint64_t seq;
	char *why; /* of SINK_REFUSED (sink_refuse()); whoever has the item frees it */
};

/* What became of an item of a batch. */
enum sink_result {
	SINK_RETRY,   /* not taken: it is to be sent (again) */
	SINK_SENT,    /* on its way; what became of it is told by a later call */
	SINK_ACKED,
	SINK_REFUSED, /* this item can never be accepted: it is set aside, not retried */
};

struct sink_ops {
	const char *name; /* "file", "kafka", "mariadb" */
	unsigned int kinds; /* SPOOL_MASK() of what it takes; it never sees others */
	size_t max_batch;
	size_t max_bytes; /* of keys and records in one batch; 0: 4 MiB. A larger one goes alone */
	/* Checks the configuration and makes the client; needs no server to be there. */
	int (*open)(const struct settings *s, struct sink **ret, struct errmsg *err);
	/*
	 * Delivers ITEM[n] within about TIMEOUT_NS and fills RESULT[n], SINK_REFUSED by sink_refuse().
	 * Returns 0 when there was progress: the first item at least is settled. -EAGAIN: trouble (back
	 * off), with the reason in ERR.
	 *
	 * A sink may leave items SINK_SENT: the next call has them again, in front of new ones, with
	 * the result of the last call; when there are no new ones it waits for all. None is left
	 * so behind one that is SINK_RETRY. A sink that knows nothing of this takes all items as new.
	 */
	int (*deliver)(struct sink *k, struct sink_item *item, size_t n,
		       enum sink_result *result, uint64_t timeout_ns, struct errmsg *err);
	void (*close)(struct sink *k); /* bounded: at most a second */
};

/*
 * Items with the same key have to arrive in order: what was acked behind one that is to be sent again
 * is to be sent again, too. (Now and then one with another key, which is harmless.)
 */
void sink_keep_order(const struct sink_item *item, size_t n, enum sink_result *result);

/* Sets *RESULT to SINK_REFUSED, and ITEM's reason to a copy of WHY. */
void sink_refuse(struct sink_item *item, enum sink_result *result, const char *why);

/* Of an item that was refused. */
const char *sink_why(const struct sink_item *item);

/* What a deliverer has to know of a sink before its module is loaded (sink_module.h). */
#define SINK_KAFKA                                                                             \
	.name = "kafka",                                                                       \
	.kinds = SPOOL_MASK(SPOOL_RECORD) | SPOOL_MASK(SPOOL_STEPS) | SPOOL_MASK(SPOOL_START), \
	.max_batch = SINK_KAFKA_BATCH, .max_bytes = (size_t)8 << 20
#define SINK_KAFKA_BATCH 8192 /* two are with the client at most: 16 requests of its default size */
#define SINK_MARIADB                                                   \
	.name = "mariadb",                                                                     \
	.kinds = SPOOL_MASK(SPOOL_RECORD) | SPOOL_MASK(SPOOL_STEPS),                           \
	.max_batch = SINK_MARIADB_BATCH
#define SINK_MARIADB_BATCH 500

extern const struct sink_ops sink_file;	   /* libsink */
extern const struct sink_ops sink_kafka;   /* libsinkkafka, which is in the module */
extern const struct sink_ops sink_mariadb; /* libsinkmariadb, likewise */

#endif
