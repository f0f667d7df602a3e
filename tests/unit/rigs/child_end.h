/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * child_end.h - the end of a child that has stopped itself, so that a test can count what it does next.
 */
#ifndef CEEMS_TEST_CHILD_END_H
#define CEEMS_TEST_CHILD_END_H

#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>

/* Lets child PID go on and waits for its end. False: it failed. */
static inline bool child_end(pid_t pid)
{
	int status;

	(void)kill(pid, SIGCONT);
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status);
}

#endif
