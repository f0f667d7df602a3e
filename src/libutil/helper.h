/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * helper.h - a helper program of ours, started from a daemon that has threads.
 */
#ifndef CEEMS_HELPER_H
#define CEEMS_HELPER_H

#include <sys/types.h>

/*
 * Starts ARGV[0], a path, with an empty environment, no signal blocked or ignored, /dev/null as
 * its input, and OUT for what it writes and complains. 0: *ret_pid is the caller's child, to be
 * waited for; else -errno. The caller's fds must be O_CLOEXEC.
 */
int helper_spawn(char *const *argv, int out, pid_t *ret_pid);

#endif
