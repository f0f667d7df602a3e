/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sink.h - one interface for where records go. Called by the jobcomp worker only, never under
 * slurmctld's locks. Delivery is at least once; the key makes a repeat harmless.
 */
#ifndef CEEMS_SINK_H
#define CEEMS_SINK_H

#include <stddef.h>
#include <stdint.h>

#include "src/libjob/settings.h"
#include "src/libsink/spool.h"
#include "src/libutil/errmsg.h"

struct sink; /* opaque, one per open sink */

struct sink_item {
	enum spool_kind kind; /* one of the sink's kinds */
	const char *key;
	size_t key_len;
	const char *json;
	size_t json_len;
};

/* What became of an item of a batch. */
enum sink_result {
	SINK_ACKED,
	SINK_RETRY,   /* the sink is not there now */
	SINK_REFUSED, /* this item can never be accepted: it is set aside, not retried */
};

struct sink_ops {
	const char *name; /* "file", "kafka", "mariadb" */
	unsigned int kinds; /* SPOOL_MASK() of what it takes; it never sees others */
	size_t max_batch;
	/* Checks the configuration and makes the client; needs no server to be there. */
	int (*open)(const struct settings *s, struct sink **ret, struct errmsg *err);
	/*
	 * Delivers ITEM[n] within about TIMEOUT_NS and fills RESULT[n]. Returns 0 when all are
	 * acked or refused, -EAGAIN when some must be tried again (back off), with the reason in ERR.
	 */
	int (*deliver)(struct sink *k, const struct sink_item *item, size_t n,
		       enum sink_result *result, uint64_t timeout_ns, struct errmsg *err);
	void (*close)(struct sink *k); /* bounded: at most a second */
};

extern const struct sink_ops sink_file;	   /* libsink */
extern const struct sink_ops sink_kafka;   /* libsinkkafka */
extern const struct sink_ops sink_mariadb; /* libsinkmariadb */

#endif
