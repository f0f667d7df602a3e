/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * unkillable.h - a child of the test's that does not go when it is killed, as one that waits in a
 * driver does not: a third process traces it, and until that one is gone its parent cannot reap it.
 */
#ifndef CEEMS_UNKILLABLE_H
#define CEEMS_UNKILLABLE_H

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

/* The process that holds PID from now on; -1: it may not. */
static inline pid_t unkillable_hold(pid_t pid)
{
	int ready[2];
	pid_t holder;
	char c;

	if (pipe(ready) < 0)
		return -1;
	holder = fork();
	if (holder == 0) {
		if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) < 0 || write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			(void)pause();
	}
	(void)close(ready[1]);
	if (holder > 0 && read(ready[0], &c, 1) != 1) {
		(void)waitpid(holder, NULL, 0);
		holder = -1;
	}
	(void)close(ready[0]);
	return holder;
}

static inline void unkillable_let_go(pid_t holder)
{
	(void)kill(holder, SIGKILL);
	(void)waitpid(holder, NULL, 0);
}

#endif
