/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * thread.h - threads of ours in processes whose signals are not for them.
 */
#ifndef CEEMS_THREAD_H
#define CEEMS_THREAD_H

#include <pthread.h>
#include <signal.h>

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

#endif
