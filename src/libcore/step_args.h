/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * step_args.h - the command line of the programs that slurmstepd starts to write a file of a step,
 * ceems-trace and ceems-profile: arguments NAME=VALUE in any order. slurmstepd and the programs use the
 * same table.
 */
#ifndef CEEMS_STEP_ARGS_H
#define CEEMS_STEP_ARGS_H

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

/* Sets ARG[A] to argument A with the formatted value. The caller frees it. NULL: no memory. */
void step_arg_set(char *arg[], enum step_arg a, const char *fmt, ...) _printf_(3, 4);

/*
 * Sets RET[n] to the values of the first N arguments of the table. They are borrowed from ARGV, which ends
 * with NULL and does not begin with the program's name. -EINVAL: an argument is missing, unknown or given
 * twice; ERR names it.
 */
int step_args_parse(char *const *argv, unsigned int n, char *ret[], struct errmsg *err) _must_check_;

#endif
