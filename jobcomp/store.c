/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ceems_config.h" /* _GNU_SOURCE for pthread_mutex_clocklock() */

#include "jobcomp/store.h"

#include <errno.h>

#include "src/libutil/clock.h"

/* What sinks take; the rest is the finaliser's. */
#define FOR_SINKS (SPOOL_MASK(SPOOL_RECORD) | SPOOL_MASK(SPOOL_STEPS) | SPOOL_MASK(SPOOL_START))

int store_init(struct store *s, uint64_t max_bytes)
{
	pthread_condattr_t attr;
	unsigned int i;
	int rc;

	*s = (struct store){ .max_bytes = max_bytes };
	rc = -pthread_mutex_init(&s->lock, NULL);
	if (rc < 0)
		return rc;
	rc = -pthread_condattr_init(&attr);
	if (rc == 0) {
		(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
		for (i = 0; i < STORE_NEWS; i++) /* which cannot fail on Linux */
			rc = rc ? rc : -pthread_cond_init(&s->changed[i], &attr);
		(void)pthread_condattr_destroy(&attr);
	}
	if (rc < 0)
		(void)pthread_mutex_destroy(&s->lock);
	return rc;
}

void store_fini(struct store *s)
{
	unsigned int i;

	spool_close(s->spool);
	for (i = 0; i < STORE_NEWS; i++)
		(void)pthread_cond_destroy(&s->changed[i]);
	(void)pthread_mutex_destroy(&s->lock);
}

void store_lock(struct store *s)
{
	(void)pthread_mutex_lock(&s->lock);
}

void store_unlock(struct store *s)
{
	(void)pthread_mutex_unlock(&s->lock);
}

static unsigned int quarters_for(enum spool_kind kind)
{
	switch (kind) {
	case SPOOL_PENDING:
	case SPOOL_KEY:
	case SPOOL_START:
		return 3;
	case SPOOL_FOLLOWUP:
		return 2;
	case SPOOL_RECORD:
	case SPOOL_STEPS:
		break;
	}
	return 4;
}

int store_append(struct store *s, enum spool_kind kind, const char *key, const char *json,
		 size_t len, struct errmsg *err)
{
	struct spool_stats stats;
	unsigned int quarters = quarters_for(kind);
	int rc;

	if (quarters < 4 && s->max_bytes) {
		spool_get_stats(s->spool, &stats);
		if (stats.bytes + len > s->max_bytes / 4 * quarters)
			return errmsg_set(err, -ENOSPC, "%s of SpoolMaxSize %s used",
					  quarters == 2 ? "half" : "three quarters",
					  quarters == 2 ? "is" : "are");
	}
	rc = spool_append(s->spool, kind, key, json, len, err);
	if (rc == 0)
		s->appended |= SPOOL_MASK(kind);
	return rc;
}

static void tell(struct store *s, enum store_news news)
{
	s->generation[news]++;
	(void)pthread_cond_broadcast(&s->changed[news]);
}

void store_announce(struct store *s)
{
	tell(s, STORE_ENTRIES);
	if (s->appended & FOR_SINKS)
		tell(s, STORE_RECORDS);
	s->appended = 0;
}

bool store_wait(struct store *s, enum store_news news, uint64_t *seen, uint64_t timeout_ns)
{
	struct timespec until = clock_ns_to_timespec(clock_mono_ns() + timeout_ns);
	bool stop;
	int rc = 0;

	store_lock(s);
	while (!s->stop && s->generation[news] == *seen && rc != ETIMEDOUT)
		rc = pthread_cond_timedwait(&s->changed[news], &s->lock, &until);
	*seen = s->generation[news];
	stop = s->stop;
	store_unlock(s);
	return !stop;
}

bool store_is_stopping(const struct store *s)
{
	return s->stop;
}

/* DEADLINE is CLOCK_MONOTONIC's. */
static int lock_until(pthread_mutex_t *lock, const struct timespec *deadline)
{
#ifdef HAVE_PTHREAD_MUTEX_CLOCKLOCK
	return pthread_mutex_clocklock(lock, CLOCK_MONOTONIC, deadline);
#else /* glibc 2.30 has it */
	struct timespec at = clock_wall_of(deadline);

	return pthread_mutex_timedlock(lock, &at);
#endif
}

bool store_stop(struct store *s, const struct timespec *deadline)
{
	unsigned int i;

	s->stop = true;
	if (lock_until(&s->lock, deadline))
		return false;
	for (i = 0; i < STORE_NEWS; i++)
		(void)pthread_cond_broadcast(&s->changed[i]);
	store_unlock(s);
	return true;
}
