/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * thread.h - starts threads in a host process whose signals are not ours to handle, and initialises
 * conditions for them.
 */
#ifndef CEEMS_THREAD_H
#define CEEMS_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <time.h>

/* Starts a thread that runs RUN(ARG) with all signals blocked. Returns 0 or -errno. */
static inline int thread_start(pthread_t *ret, void *(*run)(void *), void *arg)
{
	sigset_t all;
	sigset_t before;
	int rc;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before); /* the new thread inherits this mask */
	rc = -pthread_create(ret, NULL, run, arg);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

/*
 * Initialises COND so that pthread_cond_timedwait() uses CLOCK_MONOTONIC, which is never set. 0 or
 * -errno.
 */
static inline int thread_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;
	int rc = -pthread_condattr_init(&attr);

	if (rc < 0)
		return rc;
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	rc = -pthread_cond_init(cond, &attr);
	(void)pthread_condattr_destroy(&attr);
	return rc;
}

#endif
