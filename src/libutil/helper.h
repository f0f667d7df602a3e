/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * helper.h - a helper program of ours, started from a daemon that has threads.
 */
#ifndef CEEMS_HELPER_H
#define CEEMS_HELPER_H

#include <stdint.h>
#include <sys/types.h>

/*
 * Starts ARGV[0], a path, with an empty environment, no signal blocked or ignored, /dev/null as
 * its input, and OUT for what it writes and complains. 0: *ret_pid is the caller's child, to be
 * waited for; else -errno; -EPERM: others could have written it (trust.h). The caller's fds must
 * be O_CLOEXEC.
 */
int helper_spawn(char *const *argv, int out, pid_t *ret_pid);

/*
 * Waits for the caller's child until DEADLINE_NS, CLOCK_MONOTONIC; looks once if that is over. 0: it
 * has ended, as *ret_status says (NULL: not wanted); -ECHILD: it has, and a host that reaps all
 * was faster; -EAGAIN: not yet. Also one that was killed: the kernel may hold it for long.
 */
int helper_wait(pid_t pid, uint64_t deadline_ns, int *ret_status);

/* For the helper itself, before anything else: what else slurmd left open shall not be held by it. */
void helper_close_inherited(void);

#endif
