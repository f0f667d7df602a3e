/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * thread.h - threads of ours in processes whose signals are not for them, and what they wait for.
 */
#ifndef CEEMS_THREAD_H
#define CEEMS_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <time.h>

/* Starts RUN(ARG) with all signals blocked. 0 or -errno. */
static inline int thread_start(pthread_t *ret, void *(*run)(void *), void *arg)
{
	sigset_t all;
	sigset_t before;
	int rc;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before); /* which the thread inherits */
	rc = -pthread_create(ret, NULL, run, arg);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

/* A condition for pthread_cond_timedwait() by CLOCK_MONOTONIC, which no change of the time moves. 0 or -errno. */
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
