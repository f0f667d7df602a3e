/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a process may still do when it has taken rights from itself. */
#define _GNU_SOURCE /* unshare */
#include "src/libutil/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_FILTER false
#elif defined(__x86_64__) || defined(__aarch64__)
#define HAS_FILTER true
#else
#define HAS_FILTER false
#endif

/* Runs TEST in a child, and returns its status: 0 if all is as it should be. */
static int in_child(int (*test)(void))
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(test());
	(void)waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}

/* Returns the number after KEY in /proc/self/status. */
static unsigned long long status_of(const char *key)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[256];
	unsigned long long value = 99;

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			value = strtoull(line + strlen(key), NULL, 16);
	if (f)
		(void)fclose(f);
	return value;
}

static int keep_one(void)
{
	const uint64_t kept = CONFINE_CAP(CAP_DAC_READ_SEARCH);

	if (confine_caps(kept) < 0)
		return 1;
	if (status_of("CapEff:") != kept || status_of("CapPrm:") != kept || status_of("CapBnd:") != kept)
		return 2;
	if (status_of("CapInh:") || status_of("CapAmb:") || status_of("NoNewPrivs:") != 1)
		return 3;
	if (chown("/nonexistent", 1, 1) == 0 || open("/etc/shadow", O_RDONLY | O_CLOEXEC) < 0)
		return 4;
	if (execl("/bin/sh", "sh", "-c",
		  "test \"$(awk '/^CapEff/ { print $2 }' /proc/self/status)\" = 0000000000000004",
		  (char *)NULL) < 0)
		return 5;
	return 6;
}

static int keep_none(void)
{
	return confine_caps(0) < 0 ? 1 : status_of("CapEff:") ? 2 : setuid(12345) == 0 ? 3 : 0;
}

static bool is_refused(long rc)
{
	return rc < 0 && errno == EPERM;
}

static void *nothing(void *arg)
{
	return arg;
}

static int parse(void)
{
	char *const argv[] = { (char *)(uintptr_t) "true", NULL };
	pthread_t thread;
	FILE *f;

	if (confine_parser() < 0 || status_of("Seccomp:") != 2 || status_of("NoNewPrivs:") != 1)
		return 1;
	if (!is_refused(execv("/bin/true", argv)))
		return 2;
	if (!is_refused(socket(AF_INET, SOCK_STREAM, 0)) || !is_refused(socket(AF_UNIX, SOCK_STREAM, 0)))
		return 3;
	if (!is_refused(ptrace(PTRACE_TRACEME, 0, NULL, NULL)) || !is_refused(unshare(CLONE_NEWUSER)))
		return 4;
	/* what a parser needs */
	f = tmpfile();
	if (!f || fputs("text", f) == EOF || fclose(f) == EOF)
		return 5;
	free(malloc((size_t)64 << 20));
	if (pthread_create(&thread, NULL, nothing, NULL) || pthread_join(thread, NULL))
		return 6;
	return 0;
}

int main(void)
{
	alarm(60);
	if (HAS_FILTER)
		is_int(in_child(parse), 0,
		       "a parser starts no program, opens no socket and traces nobody; it writes");
	else
		skip(1, "this build has no filter of system calls");
	if (getuid()) {
		skip(2, "needs root");
		return done_testing();
	}
	is_int(in_child(keep_one), 0, "one capability is kept, also by a program that is executed");
	is_int(in_child(keep_none), 0, "none is kept");
	return done_testing();
}
