/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * delivery.h - one thread per sink, so that a broker that hangs holds up nobody but itself.
 */
#ifndef CEEMS_DELIVERY_H
#define CEEMS_DELIVERY_H

#include "jobcomp/store.h"
#include "src/libsink/deliver.h"

struct delivery {
	const struct sink_ops *ops; /* the sink's own */
	struct store *store;
	const struct settings *settings;
	struct sink_ops unlocked;   /* OPS without the store's lock */
	struct deliver *deliver;    /* guarded by the store's lock */
	bool is_running;	    /* its thread is: OPS are called without the lock */
};

/* Under the store's lock, once the spool is open and before its first spool_ack(). */
int delivery_open(struct delivery *d, struct errmsg *err);

/* Runs until the store is stopped; closes the sink. */
void delivery_run(struct delivery *d);

#endif
