/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ledger_watch.h - finds at each tick whether the slurmstepd of a slot still lives. For ledger*.c only.
 * A pidfd for each process makes this cheap: one poll() for all of them.
 */
#ifndef CEEMS_LEDGER_WATCH_H
#define CEEMS_LEDGER_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/libledger/ledger.h"

/* The process that is watched for a slot. */
struct ledger_watch {
	int32_t pid; /* 0: no process is watched */
	uint64_t start;
	int pidfd;	    /* negative: there is none (Linux before 5.3, out of descriptors) */
	bool has_ended;	    /* as found by the last ledger_watch_poll() */
	unsigned int asked; /* calls of ledger_watch_is_alive() without a pidfd */
};

/* Finds with one system call which of the N watched processes have ended. */
void ledger_watch_poll(struct ledger_watch *w, size_t n);

/*
 * Returns whether process PID, which started at START, still runs; a zombie does not. With a pidfd, the
 * answer is from the last ledger_watch_poll(); without one, the process is tested now. Set IS_NEW if the
 * process is so young that no other process can have its number yet; this saves reading /proc.
 */
bool ledger_watch_is_alive(struct ledger_watch *w, int32_t pid, uint64_t start, bool is_new);

/* Ends the watch of a slot that is free. Does nothing if no process is watched, as in zeroed memory. */
void ledger_watch_forget(struct ledger_watch *w);

/* Returns a pidfd of PID, close-on-exec, or -errno. -ENOSYS: Linux before 5.3. */
int ledger_watch_open(pid_t pid);

#endif
