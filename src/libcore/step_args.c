/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* vasprintf */
#include "src/libcore/step_args.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

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

int step_args_join(char *const *arg, unsigned int n, char **ret, size_t *ret_len)
{
	size_t len = 0, used = 0;
	unsigned int a;

	for (a = 0; a < n; a++)
		len += strlen(arg[a]) + 1;
	if (len > STEP_ARGS_MAX)
		return -E2BIG;
	*ret = malloc(len);
	if (!*ret)
		return -ENOMEM;
	for (a = 0; a < n; a++) {
		memcpy(*ret + used, arg[a], strlen(arg[a]) + 1);
		used += strlen(arg[a]) + 1;
	}
	*ret_len = len;
	return 0;
}

int step_args_parse(char *text, size_t len, unsigned int n, char *ret[], struct errmsg *err)
{
	const char *end = text + len;
	char *value = NULL;
	unsigned int a;

	memset(ret, 0, n * sizeof(*ret));
	if (len && end[-1])
		return errmsg_set(err, -EINVAL, "the last argument is cut");
	for (; text < end; text += strlen(text) + 1) {
		a = step_arg_find(text, n, &value);
		if (a == n)
			return errmsg_set(err, -EINVAL, "unknown argument '%s'", text);
		if (ret[a])
			return errmsg_set(err, -EINVAL, "argument %s= is given twice", step_arg_name[a]);
		ret[a] = value;
		text = value;
	}
	for (a = 0; a < n; a++)
		if (!ret[a])
			return errmsg_set(err, -EINVAL, "argument %s= is missing", step_arg_name[a]);
	return 0;
}

/* Reads one message. The benchmark and the guests of the tests give a pipe. */
static ssize_t step_args_read(int fd, char *text)
{
	ssize_t n;

	do {
		n = recv(fd, text, STEP_ARGS_MAX, 0);
		if (n < 0 && errno == ENOTSOCK)
			n = read(fd, text, STEP_ARGS_MAX);
	} while (n < 0 && errno == EINTR);
	return n;
}

int step_args_receive(int fd, unsigned int n, char **ret_text, char *ret[], struct errmsg *err)
{
	char *text = malloc(STEP_ARGS_MAX);
	ssize_t len;
	int rc;

	if (!text)
		return errmsg_errno(err, -ENOMEM, "arguments");
	len = step_args_read(fd, text);
	rc = len > 0 ? step_args_parse(text, (size_t)len, n, ret, err) :
		       errmsg_set(err, -EPROTO, "no arguments come on standard input; slurmstepd starts it");
	if (rc < 0) {
		free(text);
		return rc;
	}
	*ret_text = text;
	return 0;
}
