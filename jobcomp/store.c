/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ceems_config.h" /* _GNU_SOURCE for pthread_mutex_clocklock() */

#include "jobcomp/store.h"

#include <errno.h>

#include "src/libutil/clock.h"

int store_init(struct store *s, uint64_t max_bytes)
{
	pthread_condattr_t attr;
	int rc;

	*s = (struct store){ .max_bytes = max_bytes };
	rc = -pthread_mutex_init(&s->lock, NULL);
	if (rc < 0)
		return rc;
	rc = -pthread_condattr_init(&attr);
	if (rc == 0) {
		(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
		rc = -pthread_cond_init(&s->changed, &attr);
		(void)pthread_condattr_destroy(&attr);
	}
	if (rc < 0)
		(void)pthread_mutex_destroy(&s->lock);
	return rc;
}

void store_fini(struct store *s)
{
	spool_close(s->spool);
	(void)pthread_cond_destroy(&s->changed);
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

	if (quarters < 4 && s->max_bytes) {
		spool_get_stats(s->spool, &stats);
		if (stats.bytes + len > s->max_bytes / 4 * quarters)
			return errmsg_set(err, -ENOSPC, "%s of SpoolMaxSize %s used",
					  quarters == 2 ? "half" : "three quarters",
					  quarters == 2 ? "is" : "are");
	}
	return spool_append(s->spool, kind, key, json, len, err);
}

void store_announce(struct store *s)
{
	s->generation++;
	(void)pthread_cond_broadcast(&s->changed);
}

bool store_wait(struct store *s, uint64_t *seen, uint64_t timeout_ns)
{
	struct timespec until = clock_ns_to_timespec(clock_mono_ns() + timeout_ns);
	bool stop;
	int rc = 0;

	store_lock(s);
	while (!s->stop && s->generation == *seen && rc != ETIMEDOUT)
		rc = pthread_cond_timedwait(&s->changed, &s->lock, &until);
	*seen = s->generation;
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
	s->stop = true;
	if (lock_until(&s->lock, deadline))
		return false;
	(void)pthread_cond_broadcast(&s->changed);
	store_unlock(s);
	return true;
}
