/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ledger_watch.h - whether the slurmstepd of a slot still lives, for ledger*.c only. The sampler asks at
 * every tick; no file is opened for a process that is already watched.
 */
#ifndef CEEMS_LEDGER_WATCH_H
#define CEEMS_LEDGER_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/libledger/ledger.h"

/* One per slot. */
struct ledger_watch {
	int32_t pid; /* 0: no process is watched */
	uint64_t start;
	int pidfd; /* negative: there is none (Linux before 5.3, out of descriptors) */
	bool has_ended; /* as found by the last ledger_watch_poll() */
	unsigned int asked;
};

/* Asks the kernel which of the N processes have ended: one call for all of them. */
void ledger_watch_poll(struct ledger_watch *w, size_t n);

/*
 * Whether PID, which started at START, still exists. The answer is that of the last ledger_watch_poll(); without
 * a pidfd, it is found now. A zombie has ended. If IS_NEW, the number cannot belong to
 * another process yet, so only the existence of the process is tested.
 */
bool ledger_watch_is_alive(struct ledger_watch *w, int32_t pid, uint64_t start, bool is_new);

/* Ends the watch, because the slot is free. Zeroed memory has no watch; then this does nothing. */
void ledger_watch_forget(struct ledger_watch *w);

/* A pidfd, close-on-exec. -errno. */
int ledger_watch_open(pid_t pid);

#endif
