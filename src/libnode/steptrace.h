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

/* A larger file is ended: that is some hours of samples each 10 ms. */
#define STEPTRACE_FILE_MAX (UINT64_C(1) << 30)
/* What costs more than some microseconds (PSI, a walk over tasks) is read no more often than so. */
#define STEPTRACE_SLOW_NS NSEC_PER_SEC
/* For the tick of a sample; without one there is no row. */
#define STEPTRACE_TICK_NS (50 * NSEC_PER_MSEC)
/* For the program to write the last row; then it is killed. */
#define STEPTRACE_END_NS (500 * NSEC_PER_MSEC)

/* "7"; of a task or component "5_3-8", "21+1-22": as sacct writes it, and the job's own id. */
#define STEPTRACE_JOB_MAX 40

/* Who the trace belongs to, and the folder of his job. Borrowed while the step runs. */
struct steptrace_owner {
	uid_t uid;
	gid_t gid;
	const gid_t *gids; /* of his other groups */
	size_t ngids;
	const char *dir;
	const char *job; /* by steptrace_job_name() */
};

struct steptrace_setup {
	const struct settings *settings; /* as all below: borrowed until steptrace_halt() */
	struct ledger *ledger;		 /* until steptrace_finish() */
	unsigned int slot;
	struct steplive *live;
	struct cputime *cputime; /* used by nobody else until then; NULL: there is none */
	const struct steptrace_owner *owner; /* during the call */
};

struct steptrace;

/* ARRAY_JOB_ID: 0 if it is no task of an array. ENV: the step's, by which a component of a het job is known, or NULL. */
void steptrace_job_name(uint32_t job_id, uint32_t array_job_id, uint32_t array_task_id, char *const *env,
			char ret[STEPTRACE_JOB_MAX]);

/*
 * Starts the thread, and by it the program. 0; -EPERM: the site forbids traces; else -errno. What fails later is one
 * line in the log, and the trace ends.
 */
int steptrace_start(const struct steptrace_setup *setup, struct steptrace **ret, struct errmsg *err);

/* Nothing of the step is read from now on. NULL: no-op. */
void steptrace_halt(struct steptrace *st);

/*
 * Ends it with a last row of FIGURES, those of the step's end (NULL: without it). Takes as long as the program needs,
 * STEPTRACE_END_NS at most and a little for the kernel to end it. NULL: no-op.
 */
void steptrace_finish(struct steptrace *st, const struct figures *figures);

#endif
