/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * step_args.h - what slurmstepd tells the programs that write a file of a step, ceems-trace and
 * ceems-profile: arguments NAME=VALUE in any order, each with a NUL, in the first message of their input.
 * They are not on the command line: everybody on the node can read that, and the folder of a job is hidden
 * from other users. slurmstepd and the programs use the same table.
 */
#ifndef CEEMS_STEP_ARGS_H
#define CEEMS_STEP_ARGS_H

#include <stddef.h>

#include "src/libutil/errmsg.h"
#include "src/libutil/util.h"

enum step_arg {
	STEP_ARG_UID,
	STEP_ARG_GROUPS, /* the user's groups, such as "100,4,27", with the primary group first */
	STEP_ARG_DIR,	 /* folder of the file */
	STEP_ARG_FILE,	 /* name of the file without suffix */
	STEP_ARG_BYTES,	 /* most bytes of the file */
	STEP_ARGS_TRACE, /* so many has ceems-trace; those that follow are for ceems-profile */
	STEP_ARG_HZ = STEP_ARGS_TRACE,
	STEP_ARG_STACKS, /* as in --ceems-profile */
	STEP_ARG_CGROUP, /* path of the step's v2 folder */
	STEP_ARG_TASKS,	 /* the tasks on this node, such as "1234:0,1235:1": pid and rank, or only pids */
	/* for comments in the file */
	STEP_ARG_JOB,
	STEP_ARG_STEP,
	STEP_ARG_NODE,
	/* for ProfilePushUrl */
	STEP_ARG_QUEUE, /* folder; empty: nothing is pushed */
	STEP_ARG_QUEUE_BYTES,
	STEP_ARG_JOB_ID,
	STEP_ARG_CLUSTER, /* may be empty */
	STEP_ARGS_PROFILE
};

/* What a program says if it has a command line. */
#define STEP_ARGS_NONE "it takes no argument; slurmstepd, whose plugin may be of another build, starts it"

/* Most bytes of all arguments of a program: some 5,000 tasks. */
#define STEP_ARGS_MAX ((size_t)128 * 1024)

/* Sets ARG[A] to argument A with the formatted value. The caller frees it. NULL: no memory. */
void step_arg_set(char *arg[], enum step_arg a, const char *fmt, ...) _printf_(3, 4);

/*
 * Joins ARG[n] to the text of a message, which the caller frees. -E2BIG: it is longer than STEP_ARGS_MAX;
 * -ENOMEM.
 */
int step_args_join(char *const *arg, unsigned int n, char **ret, size_t *ret_len) _must_check_;
/*
 * Sets RET[n] to the values of the first N arguments of the table. They are borrowed from TEXT, LEN bytes of
 * which the last one is NUL. -EINVAL: an argument is missing, unknown or given twice; ERR names it.
 */
int step_args_parse(char *text, size_t len, unsigned int n, char *ret[], struct errmsg *err) _must_check_;
/*
 * Waits for the message on FD, a socket or a pipe, and parses it. RET's values are borrowed from *RET_TEXT,
 * which the caller frees. -EPROTO: there is no message.
 */
int step_args_receive(int fd, unsigned int n, char **ret_text, char *ret[], struct errmsg *err) _must_check_;

#endif
