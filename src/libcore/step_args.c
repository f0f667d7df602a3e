/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* vasprintf */
#include "src/libcore/step_args.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const step_arg_name[STEP_ARGS_PROFILE] = {
	[STEP_ARG_UID] = "uid",	      [STEP_ARG_GROUPS] = "groups",
	[STEP_ARG_DIR] = "dir",	      [STEP_ARG_FILE] = "file",
	[STEP_ARG_BYTES] = "bytes",   [STEP_ARG_HZ] = "hz",
	[STEP_ARG_STACKS] = "stacks", [STEP_ARG_CGROUP] = "cgroup",
	[STEP_ARG_TASKS] = "tasks",   [STEP_ARG_JOB] = "job",
	[STEP_ARG_STEP] = "step",     [STEP_ARG_NODE] = "node",
	[STEP_ARG_QUEUE] = "queue",   [STEP_ARG_QUEUE_BYTES] = "queue_bytes",
	[STEP_ARG_JOB_ID] = "job_id", [STEP_ARG_CLUSTER] = "cluster",
};

void step_arg_set(char *arg[], enum step_arg a, const char *fmt, ...)
{
	char *value;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&value, fmt, ap);
	va_end(ap);
	arg[a] = NULL;
	if (n < 0)
		return;
	if (asprintf(&arg[a], "%s=%s", step_arg_name[a], value) < 0)
		arg[a] = NULL; /* it is undefined then */
	free(value);
}

/* Returns the number of the argument that ARG gives, and its value. N: it is none of the first N. */
static unsigned int step_arg_find(char *arg, unsigned int n, char **ret_value)
{
	size_t len;
	unsigned int a;

	for (a = 0; a < n; a++) {
		len = strlen(step_arg_name[a]);
		if (!strncmp(arg, step_arg_name[a], len) && arg[len] == '=') {
			*ret_value = arg + len + 1;
			break;
		}
	}
	return a;
}

int step_args_parse(char *const *argv, unsigned int n, char *ret[], struct errmsg *err)
{
	char *value = NULL;
	unsigned int a;

	memset(ret, 0, n * sizeof(*ret));
	for (; *argv; argv++) {
		a = step_arg_find(*argv, n, &value);
		if (a == n)
			return errmsg_set(err, -EINVAL, "unknown argument '%s'", *argv);
		if (ret[a])
			return errmsg_set(err, -EINVAL, "argument %s= is given twice", step_arg_name[a]);
		ret[a] = value;
	}
	for (a = 0; a < n; a++)
		if (!ret[a])
			return errmsg_set(err, -EINVAL, "argument %s= is missing", step_arg_name[a]);
	return 0;
}
