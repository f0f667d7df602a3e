/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * steptrace.h - --ceems-trace: a thread of slurmstepd asks for a tick per interval, reads the
 * values of its step, and sends them to the program ceems-trace. That program writes the file as
 * the user. The ledger has other users' steps, so ceems-trace never sees the ledger. The thread never
 * waits for the program: if its socket is full, a sample is dropped and counted.
 */
#ifndef CEEMS_STEPTRACE_H
#define CEEMS_STEPTRACE_H

#include "src/libcore/settings.h"
#include "src/libledger/ledger.h"
#include "src/libmeter/activity/cputime.h"
#include "src/libstep/stepfile.h"
#include "src/libstep/steplive.h"
#include "src/libutil/must_check.h"

/* The trace ends when its file has this size, which is some hours of samples every 10 ms. */
#define STEPTRACE_FILE_MAX (UINT64_C(1) << 30)
/*
 * Values that cost more than a few microseconds (PSI, a walk over tasks) are read at most this
 * often.
 */
#define STEPTRACE_SLOW_NS NSEC_PER_SEC
/* Longest wait for the tick of a sample. If no tick comes, the sample has no row. */
#define STEPTRACE_TICK_NS (50 * NSEC_PER_MSEC)

struct steptrace_setup {
	const struct settings *settings; /* these are borrowed until steptrace_halt(), unless a comment says
					    otherwise */
	struct ledger *ledger;		 /* borrowed until steptrace_finish() */
	unsigned int slot;
	struct steplive *live;
	struct cputime *cputime; /* no other thread may use it until steptrace_halt(); NULL: there is none */
	const struct stepfile_owner *owner; /* borrowed during the call */
};

struct steptrace;

/*
 * Starts the thread, which starts the program ceems-trace. Returns 0; -EPERM: the site forbids
 * traces; or another -errno. A later failure is logged in one line and ends the trace.
 */
int steptrace_start(const struct steptrace_setup *setup, struct steptrace **ret,
		    struct errmsg *err) _must_check_;

/* Moves the program out of the step's cgroups; see stepside_leave(). NULL: no-op. */
void steptrace_leave(struct steptrace *st);

/* Ends sampling: the thread no longer reads the step. NULL: no-op. */
void steptrace_halt(struct steptrace *st);

/*
 * Ends the trace with a last row, which has the step's final VALUES (NULL: no last row). Waits for the
 * program, at most STEPFILE_END_NS, STEPFILE_WORK_NS longer while it works, plus the time that the kernel
 * needs to kill it. ST may be NULL. RET_LOST, which may be NULL, becomes what the user must know if the file
 * is missing or not complete.
 */
void steptrace_finish(struct steptrace *st, const struct values *values, struct errmsg *ret_lost);

#endif
