/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stepfile.h - starts and ends the programs that write a file of a step as the user: ceems-trace and
 * ceems-profile. The program is a child of slurmstepd, reads its input from a socket, and ends when that is
 * closed. slurmstepd logs what it prints. A folder that hangs, or a user who kills the program, never delays
 * the step.
 *
 * The program is in slurmstepd's own cgroup. So its CPU time and memory are not charged to the step, and it
 * is not killed with the tasks. But it counts against the limits of the job. When the tasks have ended,
 * stepfile_leave() moves it out of that cgroup (cgleave.h).
 */
#ifndef CEEMS_STEPFILE_H
#define CEEMS_STEPFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/libcore/settings.h"
#include "src/libcore/step_args.h"
#include "src/libledger/ledger.h"
#include "src/libutil/errmsg.h"
#include "src/libutil/must_check.h"

/*
 * Longest name of a job: "7"; "5_3-8" for task 3 of array 5, with job id 8; "21+1-22" for component 1 of het
 * job 21, with job id 22.
 */
#define STEPFILE_JOB_MAX 40
/* Longest wait for a program to end after its input has; then the program is killed, unless it works. */
#define STEPFILE_END_NS (500 * UINT64_C(1000000))
/*
 * How much longer to wait while it works, that is, uses a CPU or waits for one. Its own limit
 * for a write is the same.
 */
#define STEPFILE_WORK_NS (10 * UINT64_C(1000000000))

/* The user who owns the files of a step, and the folder of the job. Borrowed while the step runs. */
struct stepfile_owner {
	uid_t uid;
	gid_t gid;
	const gid_t *gids; /* the user's other groups */
	size_t ngids;
	const char *dir;
	const char *job;     /* name of the job, from stepfile_job_name() */
	const char *cluster; /* ClusterName; NULL: not known */
	/* of the step's tasks on this node, in the order of stepside_attach(); NULL: not known */
	const uint32_t *rank;
};

/*
 * Writes the name of a job for files. ARRAY_JOB_ID is 0 if the job is no array task. ENV is the step's
 * environment, which names the component of a heterogeneous job, or NULL.
 */
void stepfile_job_name(uint32_t job_id, uint32_t array_job_id, uint32_t array_task_id, char *const *env,
		       char ret[STEPFILE_JOB_MAX]);

/* --- the program -------------------------------------------------------------------------- */

struct stepfile_setup {
	const char *what; /* "trace" for the program ceems-trace, whose files begin with its name; static */
	const struct settings *settings;
	const struct stepfile_owner *owner;
	struct ledger *ledger;
	const struct ledger_identity *id;
	const char *dir;   /* folder of the file; "": the job's folder */
	uint64_t size_max; /* most bytes of the file */
};

/*
 * What a program is told: its path, and its first NARGS arguments of step_args.h in the order of enum
 * step_arg. The texts are owned, and NULL in zeroed memory.
 */
struct stepfile_command {
	char *program;
	char *arg[STEP_ARGS_PROFILE];
	unsigned int nargs;
};
/* Makes the path and the first STEP_ARGS_TRACE arguments. -ENOMEM: some may be made. */
int stepfile_command_make(const struct stepfile_setup *setup, struct stepfile_command *ret) _must_check_;
void stepfile_command_clear(struct stepfile_command *c);

/*
 * A program prints "error - TEXT" if the file ends before the step, "note - TEXT" if there is something else
 * to log, and this line last if the file is complete. So a program that was killed is known by the missing
 * line.
 */
#define STEPFILE_DONE "done"

struct stepfile {
	const char *what, *end;
	int in, out; /* a socket to the program, a pipe from it; -1: the program does not run */
	pid_t pid;
	char file[512];	 /* path of its file without the suffix, for the log */
	char words[512]; /* what the program printed */
	size_t nwords;
	/* after the end: why the file is missing or not complete; empty: it is complete */
	struct errmsg lost;
};

/*
 * Sets up F, which does not run yet. Both texts must be static; END is for the log: "the trace
 * of this step ends there".
 */
void stepfile_init(struct stepfile *f, const char *what, const char *end);
/*
 * Starts a program with a socket of SOCKET_BYTES (0: the system's default) as its input, and sends it its
 * arguments. 0 or -errno.
 */
int stepfile_start(struct stepfile *f, const struct stepfile_command *c, size_t socket_bytes);
/*
 * Moves the program out of the step's cgroups. Call it when the tasks have ended. Does nothing
 * if it was never started.
 */
void stepfile_leave(const struct stepfile *f);
/*
 * Ends the input of the program and waits for its end until DEADLINE_NS, and STEPFILE_WORK_NS longer while it
 * works; then kills it. Logs what the program printed, unless that was only STEPFILE_DONE, or that it was
 * killed, and sets F's `lost`. Does nothing if the program does not run.
 */
void stepfile_end(struct stepfile *f, uint64_t deadline_ns);
/* Sets *RET, which may be NULL, to F's `lost`; leaves it if that is empty. */
void stepfile_take_lost(const struct stepfile *f, struct errmsg *ret);

#endif
