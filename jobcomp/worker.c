/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ceems_config.h"

#include "jobcomp/worker.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#include "jobcomp/census.h"
#include "jobcomp/delivery.h"
#include "jobcomp/factors.h"
#include "jobcomp/finaliser.h"
#include "jobcomp/intake.h"
#include "jobcomp/resizes.h"
#include "jobcomp/steps.h"
#include "jobcomp/store.h"
#include "src/libsink/sink_module.h"
#include "src/libutil/clock.h"
#include "src/libutil/logger.h"

/* About 10,000 jobs that end while the disk stands still. */
#define FEED_BYTES (UINT64_C(8) << 20)
#define JOIN_NS (6 * NSEC_PER_SEC) /* a sink's time-out, and some */
#define SINKS_MAX 8

struct thread {
	pthread_t id;
	bool is_running;
	struct worker *worker;
};

struct worker {
	struct settings settings;
	char cluster[256];
	char state_dir[PATH_MAX];
	struct feed *feed;
	struct store store;
	struct intake intake;
	struct census census;
	struct finaliser finaliser;
	struct factors factors;
	struct steps *steps;
	time_t *steps_stop;
	struct delivery sinks[SINKS_MAX];
	unsigned int nsinks;
	/* its threads', and one of who has it: the last one out cleans up, if not in time then late */
	atomic_uint refs;
	/* guarded by the store's lock: the intake starts the others */
	struct thread intake_thread, finaliser_thread, sink_thread[SINKS_MAX];
};

static void worker_destroy(struct worker *w)
{
	census_fini(&w->census);
	factors_close(&w->factors);
	feed_destroy(w->feed);
	steps_destroy(w->steps);
	free(w);
}

static void worker_unref(struct worker *w)
{
	if (atomic_fetch_sub(&w->refs, 1) > 1)
		return;
	store_fini(&w->store);
	worker_destroy(w);
}

static void *intake_main(void *arg)
{
	struct worker *w = ((struct thread *)arg)->worker;

	intake_run(&w->intake);
	worker_unref(w);
	return NULL;
}

static void *finaliser_main(void *arg)
{
	struct worker *w = ((struct thread *)arg)->worker;

	resizes_load();
	census_run(&w->census, &w->store, w->cluster);
	finaliser_run(&w->finaliser);
	worker_unref(w);
	return NULL;
}

static void *sink_main(void *arg)
{
	struct thread *t = arg;
	struct worker *w = t->worker;

	delivery_run(&w->sinks[t - w->sink_thread]);
	worker_unref(w);
	return NULL;
}

/*
 * With all signals blocked: they are slurmctld's. SCHED_BATCH: the hook wakes the intake, and a
 * batch thread does not push the one that wakes it, which holds slurmctld's lock, off its CPU.
 */
static int start_thread(struct worker *w, struct thread *t, const char *name, void *(*run)(void *))
{
	struct sched_param no_priority = { 0 };
	sigset_t all;
	sigset_t old;
	int rc;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	t->worker = w;
	w->refs++;
	rc = -pthread_create(&t->id, NULL, run, t);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc < 0) {
		w->refs--;
		return rc;
	}
	t->is_running = true;
	(void)pthread_setschedparam(t->id, SCHED_BATCH, &no_priority);
	(void)pthread_setname_np(t->id, name);
	return 0;
}

/* The intake's, under the store's lock: all cursors are opened before anything is acknowledged. */
static void on_spool_open(void *arg)
{
	struct worker *w = arg;
	struct errmsg err = { 0 };
	unsigned int i;

	spool_keep_recent(w->store.spool, CENSUS_S);
	census_read(&w->census, w->settings.spool_dir, w->intake.refuge.dir);
	if (finaliser_open(&w->finaliser, &err) < 0 ||
	    start_thread(w, &w->finaliser_thread, "ceems-final", finaliser_main) < 0)
		logger_error("ceems: jobcomp: cannot start: %s; records stay in %s", err.text,
			     w->settings.spool_dir);
	for (i = 0; i < w->nsinks; i++) {
		struct delivery *d = &w->sinks[i];

		if (delivery_open(d, &err) < 0 ||
		    start_thread(w, &w->sink_thread[i], d->ops->name, sink_main) < 0)
			logger_error("ceems: %s: cannot start: %s; its records stay in %s",
				     d->ops->name, err.text, w->settings.spool_dir);
	}
}

static void find_sinks(struct worker *w)
{
	const char *list = w->settings.sinks;
	char name[64];

	while (settings_next_item(&list, name, sizeof(name))) {
		const struct sink_ops *ops = sink_find(name);

		if (ops && w->nsinks < SINKS_MAX)
			w->sinks[w->nsinks++] = (struct delivery){
				.ops = ops, .store = &w->store, .settings = &w->settings };
	}
}

int worker_start(const struct worker_setup *setup, struct worker **ret, struct errmsg *err)
{
	struct worker *w = calloc(1, sizeof(*w));
	int rc;

	if (!w) {
		steps_destroy(setup->steps);
		return errmsg_set(err, -ENOMEM, "out of memory");
	}
	w->refs = 1;
	w->settings = *setup->settings;
	w->steps = setup->steps;
	w->steps_stop = setup->steps_stop;
	(void)snprintf(w->cluster, sizeof(w->cluster), "%s", setup->cluster);
	(void)snprintf(w->state_dir, sizeof(w->state_dir), "%s",
		       setup->state_dir ? setup->state_dir : "");
	rc = feed_create(FEED_BYTES, &w->feed, err);
	if (rc < 0)
		goto fail;
	rc = store_init(&w->store, w->settings.spool_max_bytes);
	if (rc < 0)
		goto fail;
	find_sinks(w);
	factors_open(&w->factors, &w->settings);
	w->finaliser.factors = &w->factors;
	w->finaliser.store = &w->store;
	w->finaliser.settings = &w->settings;
	w->finaliser.steps = setup->steps;
	w->finaliser.unmeasured = setup->unmeasured;
	w->intake = (struct intake){ .feed = w->feed,
				     .store = &w->store,
				     .cluster = w->cluster,
				     .spool_dir = w->settings.spool_dir,
				     .state_dir = w->state_dir,
				     .on_open = on_spool_open,
				     .arg = w };
	rc = start_thread(w, &w->intake_thread, "ceems-intake", intake_main);
	if (rc < 0) {
		store_fini(&w->store);
		goto fail;
	}
	*ret = w;
	return 0;
fail:
	worker_destroy(w);
	return errmsg_errno(err, rc, "cannot start");
}

struct feed *worker_feed(struct worker *w)
{
	return w->feed;
}

/* DEADLINE is CLOCK_MONOTONIC's. */
static int join_until(pthread_t id, const struct timespec *deadline)
{
#ifdef HAVE_PTHREAD_CLOCKJOIN_NP
	return pthread_clockjoin_np(id, NULL, CLOCK_MONOTONIC, deadline);
#else /* glibc 2.31 has it */
	struct timespec at = clock_wall_of(deadline);

	return pthread_timedjoin_np(id, NULL, &at);
#endif
}

static bool join_thread(struct thread *t, const struct timespec *deadline)
{
	if (!t->is_running)
		return true;
	if (join_until(t->id, deadline))
		return false;
	t->is_running = false;
	return true;
}

static bool join_all(struct worker *w)
{
	struct timespec deadline = clock_ns_to_timespec(clock_mono_ns() + JOIN_NS);
	bool all;
	unsigned int i;

	all = store_stop(&w->store, &deadline);
	feed_wake(w->feed);
	/* the intake first: until it ends it may start the others */
	if (!all || !join_thread(&w->intake_thread, &deadline))
		return false;
	all = join_thread(&w->finaliser_thread, &deadline);
	for (i = 0; i < w->nsinks; i++)
		all &= join_thread(&w->sink_thread[i], &deadline);
	return all;
}

bool worker_stop(struct worker *w)
{
	bool all;

	__atomic_store_n(w->steps_stop, time(NULL), __ATOMIC_RELAXED);
	all = join_all(w);
	worker_unref(w);
	return all;
}
