/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* pthread_timedjoin_np, pthread_setname_np */
#include "src/libsink/deliver.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#include "src/libsink/window.h"
#include "src/libutil/clock.h"
#include "src/libutil/items.h"
#include "src/libutil/logger.h"

#define IDLE_NS (10 * NSEC_PER_SEC) /* a new record ends the wait earlier */

struct deliveries {
	struct store *store;
	atomic_bool stop;
	size_t n;
	struct delivery {
		struct deliveries *all;
		const struct sink_ops *ops;
		struct deliver *deliver;
		pthread_t thread;
		pthread_mutex_t lock; /* guards stats */
		struct deliver_stats stats;
	} sink[8];
};

/* Returns how long the thread waits at most: until the next try of a sink that is down, else IDLE_NS. */
static uint64_t delivery_idle_ns(const struct delivery *y, uint64_t now_ns)
{
	struct deliver_stats stats;

	deliver_get_stats(y->deliver, &stats);
	if (!stats.is_down)
		return IDLE_NS;
	return stats.next_try_mono_ns > now_ns ? stats.next_try_mono_ns - now_ns : 0;
}

static void delivery_show(struct delivery *y, const struct deliver_stats *stats)
{
	(void)pthread_mutex_lock(&y->lock);
	y->stats = *stats;
	(void)pthread_mutex_unlock(&y->lock);
}

bool deliveries_get_stats(struct deliveries *all, const char *name, struct deliver_stats *ret)
{
	size_t i;

	for (i = 0; i < all->n; i++) {
		struct delivery *y = &all->sink[i];

		if (strcmp(y->ops->name, name) != 0)
			continue;
		(void)pthread_mutex_lock(&y->lock);
		*ret = y->stats;
		(void)pthread_mutex_unlock(&y->lock);
		return true;
	}
	return false;
}

static void *delivery_main(void *arg)
{
	struct delivery *y = arg;
	struct deliveries *all = y->all;
	uint64_t never = UINT64_MAX;
	struct deliver_stats stats;
	uint64_t seen = 0;

	while (!all->stop) {
		uint64_t now = clock_mono_ns();
		int settled = deliver_run(y->deliver, now, WINDOW_TIMEOUT_NS);

		deliver_get_stats(y->deliver, &stats);
		delivery_show(y, &stats);
		if (settled <= 0)
			/* while the sink is down, a new record does not end the wait */
			store_wait_records(all->store, stats.is_down ? &never : &seen,
					   delivery_idle_ns(y, clock_mono_ns()));
		(void)store_is_stuck(all->store);
	}
	deliver_destroy(y->deliver);
	return NULL;
}

static int delivery_start(struct deliveries *all, const char *store_dir, const struct settings *s,
			  const char *name, struct errmsg *err)
{
	const struct sink_ops *ops = sink_find(name);
	struct delivery *y = &all->sink[all->n];
	char thread_name[16];
	int rc;

	if (!ops) {
		logger_error("ceems: %s: this build has no such sink; its records wait in %s: install a "
			     "package that has it, or take it out of Sinks",
			     name, store_dir);
		return 0;
	}
	if (all->n == ARRAY_SIZE(all->sink))
		return errmsg_set(err, -E2BIG, "Sinks has more than %zu names", ARRAY_SIZE(all->sink));
	y->all = all;
	y->ops = ops;
	(void)pthread_mutex_init(&y->lock, NULL);
	rc = deliver_create(all->store, store_dir, ops, s, &y->deliver, err);
	if (rc < 0)
		return rc;
	deliver_get_stats(y->deliver, &y->stats);
	rc = pthread_create(&y->thread, NULL, delivery_main, y);
	if (rc) {
		deliver_destroy(y->deliver);
		return errmsg_errno(err, -rc, "%s: cannot start its thread", name);
	}
	(void)snprintf(thread_name, sizeof(thread_name), "ceems-%.9s", name);
	(void)pthread_setname_np(y->thread, thread_name);
	all->n++;
	return 0;
}

int deliveries_start(struct store *store, const char *store_dir, const struct settings *s,
		     struct deliveries **ret, struct errmsg *err)
{
	struct deliveries *all = calloc(1, sizeof(*all));
	const char *list = s->sinks;
	sigset_t signals;
	sigset_t old;
	char name[64];
	int rc;

	if (!all)
		return errmsg_set(err, -ENOMEM, "out of memory");
	all->store = store;
	rc = store_set_sinks(store, s->sinks, err);
	(void)sigfillset(&signals);
	(void)pthread_sigmask(SIG_SETMASK, &signals, &old);
	while (rc == 0 && items_next(&list, name, sizeof(name)))
		rc = delivery_start(all, store_dir, s, name, err);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc < 0) {
		(void)deliveries_stop(all, 2 * WINDOW_TIMEOUT_NS);
		return rc;
	}
	*ret = all;
	return 0;
}

static bool delivery_join(const struct delivery *y, uint64_t until_ns)
{
	struct timespec mono = clock_ns_to_timespec(until_ns);
	struct timespec until = clock_wall_of(&mono);

	return pthread_timedjoin_np(y->thread, NULL, &until) == 0;
}

bool deliveries_stop(struct deliveries *all, uint64_t timeout_ns)
{
	uint64_t until_ns = clock_mono_ns() + timeout_ns;
	bool ended = true;

	if (!all)
		return true;
	all->stop = true;
	store_end_waits(all->store);
	while (ended && all->n) {
		ended = delivery_join(&all->sink[all->n - 1], until_ns);
		all->n -= ended;
	}
	if (ended)
		free(all);
	return ended;
}
