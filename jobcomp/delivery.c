/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobcomp/delivery.h"

#include <errno.h>
#include <string.h>

#include "src/libutil/clock.h"

#define SINK_TIMEOUT_NS (3 * NSEC_PER_SEC) /* also what the daemon's end may have to wait for */
#define IDLE_NS (60 * NSEC_PER_SEC) /* new records wake us before */

/*
 * deliver_run() reads the spool, calls the sink, and writes its cursor. The spool needs the store's
 * lock, the sink must not have it: it may wait for a network. So the deliverer gets this sink,
 * which lets go of the lock around the real one. Which one that is, is the thread's: there is
 * one thread per sink, and the interface has no room for a pointer before open().
 */
static __thread struct delivery *serving;

static void let_go(const struct delivery *d)
{
	if (d->is_running)
		store_unlock(d->store);
}

static void take_again(const struct delivery *d)
{
	if (d->is_running)
		store_lock(d->store);
}

static int unlocked_open(const struct settings *s, struct sink **ret, struct errmsg *err)
{
	int rc;

	let_go(serving);
	rc = serving->ops->open(s, ret, err);
	take_again(serving);
	return rc;
}

static int unlocked_deliver(struct sink *k, struct sink_item *item, size_t n,
			    enum sink_result *result, uint64_t timeout_ns, struct errmsg *err)
{
	int rc;

	let_go(serving);
	rc = serving->ops->deliver(k, item, n, result, timeout_ns, err);
	take_again(serving);
	return rc;
}

static void unlocked_close(struct sink *k)
{
	let_go(serving);
	serving->ops->close(k);
	take_again(serving);
}

int delivery_open(struct delivery *d, struct errmsg *err)
{
	d->unlocked = *d->ops;
	d->unlocked.open = unlocked_open;
	d->unlocked.deliver = unlocked_deliver;
	d->unlocked.close = unlocked_close;
	serving = d;
	return deliver_create(d->store->spool, &d->unlocked, d->settings, &d->deliver, err);
}

/* How long there is nothing to do unless a record comes. */
static uint64_t idle_ns(const struct delivery *d, uint64_t now_ns)
{
	struct deliver_stats stats;

	deliver_get_stats(d->deliver, &stats);
	if (!stats.is_down)
		return IDLE_NS;
	return stats.next_try_mono_ns > now_ns ? stats.next_try_mono_ns - now_ns : 0;
}

void delivery_run(struct delivery *d)
{
	uint64_t seen = 0;
	uint64_t wait_ns;

	serving = d;
	store_lock(d->store);
	d->is_running = true;
	while (!d->store->stop) {
		uint64_t now = clock_mono_ns();
		int settled = deliver_run(d->deliver, now, SINK_TIMEOUT_NS);

		wait_ns = settled > 0 ? 0 : idle_ns(d, clock_mono_ns());
		store_unlock(d->store);
		if (wait_ns)
			(void)store_wait(d->store, STORE_RECORDS, &seen, wait_ns);
		store_lock(d->store);
	}
	deliver_destroy(d->deliver);
	d->deliver = NULL;
	store_unlock(d->store);
}
