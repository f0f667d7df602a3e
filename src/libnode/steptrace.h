/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * steptrace.h - --ceems-trace: a thread of slurmstepd asks for a tick per interval, reads the
 * values of its step, and sends them to the program ceems-trace. That program writes the file as
 * the user. The ledger has other users' steps, so ceems-trace never sees the ledger. The thread never
 * waits for the program: if its socket is full, a sample is dropped and counted.
 *
 * The program is in slurmstepd's own cgroup. So its CPU time and memory are not charged to the step, and
 * it is not killed with the tasks. But it counts against the limits of the job.
 */
#ifndef CEEMS_STEPTRACE_H
#define CEEMS_STEPTRACE_H

#include "src/libcore/settings.h"
#include "src/libledger/ledger.h"
#include "src/libmeter/activity/cputime.h"
#include "src/libnode/steplive.h"

/* The trace ends when its file has this size, which is some hours of samples every 10 ms. */
#define STEPTRACE_FILE_MAX (UINT64_C(1) << 30)
/*
 * Values that cost more than a few microseconds (PSI, a walk over tasks) are read at most this
 * often.
 */
#define STEPTRACE_SLOW_NS NSEC_PER_SEC
/* Longest wait for the tick of a sample. If no tick comes, the sample has no row. */
#define STEPTRACE_TICK_NS (50 * NSEC_PER_MSEC)
/* Longest wait for the program to write the last row; then the program is killed. */
#define STEPTRACE_END_NS (500 * NSEC_PER_MSEC)

/*
 * Longest name of a job: "7"; "5_3-8" for task 3 of array 5, with job id 8; "21+1-22" for component 1 of het job 21, with
 * job id 22.
 */
#define STEPTRACE_JOB_MAX 40

/* The user who owns the trace, and the folder of the job. Borrowed while the step runs. */
struct steptrace_owner {
	uid_t uid;
	gid_t gid;
	const gid_t *gids; /* the user's other groups */
	size_t ngids;
	const char *dir;
	const char *job; /* by steptrace_job_name() */
};

struct steptrace_setup {
	const struct settings *settings; /* these are borrowed until steptrace_halt(), unless a comment says
					    otherwise */
	struct ledger *ledger;		 /* until steptrace_finish() */
	unsigned int slot;
	struct steplive *live;
	struct cputime *cputime; /* no other thread may use it until steptrace_halt(); NULL: there is none */
	const struct steptrace_owner *owner; /* borrowed during the call */
};

struct steptrace;

/*
 * Makes the job's part of the file name. ARRAY_JOB_ID is 0 if the job is no array task. ENV is the
 * step's environment, which names the het component, or NULL.
 */
void steptrace_job_name(uint32_t job_id, uint32_t array_job_id, uint32_t array_task_id, char *const *env,
			char ret[STEPTRACE_JOB_MAX]);

/*
 * Starts the thread, which starts the program ceems-trace. Returns 0; -EPERM: the site forbids
 * traces; or another -errno. A later failure is logged in one line and ends the trace.
 */
int steptrace_start(const struct steptrace_setup *setup, struct steptrace **ret, struct errmsg *err);

/* Ends sampling: the thread no longer reads the step. NULL: no-op. */
void steptrace_halt(struct steptrace *st);

/*
 * Ends the trace with a last row, which has the step's final VALUES (NULL: no last row). Waits for the program, at most
 * STEPTRACE_END_NS plus the time that the kernel needs to kill the program. ST may be NULL.
 */
void steptrace_finish(struct steptrace *st, const struct values *values);

#endif
