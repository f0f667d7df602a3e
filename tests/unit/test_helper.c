/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs of ours that slurmd starts: what they inherit, and how slurmd gets rid of them. */
#include "src/libutil/helper.h"

#include <errno.h>

#include "scratch.h"
#include "src/libnode/bpfload.h"
#include "src/libutil/clock.h"
#include "tap.h"
#include "unkillable.h"

#define WAIT_NS (30 * NSEC_PER_SEC)

static char dir[] = SCRATCH_TEMPLATE;

/* Writes the number of its process to DIR/pid and hangs. */
static const char *write_hanging(void)
{
	const char *path = scratch_path(dir, "helper");
	char text[512];
	int n = snprintf(text, sizeof(text), "#!/bin/sh\necho $$ >%s/new\nmv %s/new %s/pid\n"
			 "exec sleep 60\n", dir, dir, dir);

	if (!scratch_write(path, text, (size_t)n) || chmod(path, 0700) < 0)
		diag("cannot write %s", path);
	return path;
}

static pid_t spawn(const char *path)
{
	char *const argv[] = { (char *)path, NULL };
	pid_t pid = -1;

	return helper_spawn(argv, STDERR_FILENO, &pid) == 0 ? pid : -1;
}

static void test_wait(void)
{
	int status = 0;
	pid_t holder;
	pid_t pid;

	is_int(helper_wait(getppid(), 0, NULL), -ECHILD, "not a child of ours");
	pid = spawn("/bin/true");
	is_int(helper_wait(pid, clock_mono_ns() + WAIT_NS, &status), 0, "one that ends");
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "  tells how");
	is_int(helper_wait(pid, 0, NULL), -ECHILD, "  and is gone");

	is_int(chmod(write_hanging(), 0722), 0, "one that others may write");
	is_int(spawn(scratch_path(dir, "helper")), -1, "  is not started");
	pid = spawn(write_hanging());
	is_int(helper_wait(pid, 0, &status), -EAGAIN, "one that hangs is not waited for");
	holder = unkillable_hold(pid);
	(void)kill(pid, SIGKILL);
	if (holder < 0) {
		skip(1, "no right to trace");
	} else {
		is_int(helper_wait(pid, clock_mono_ns() + 50 * NSEC_PER_MSEC, &status), -EAGAIN,
		       "  nor, for ever, one that the kernel holds");
		unkillable_let_go(holder);
	}
	is_int(helper_wait(pid, clock_mono_ns() + WAIT_NS, &status), 0, "  in the end it goes");
	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "  as it was told to");
}

/* Holds the helper that has written DIR/pid, as soon as it has, until END is closed. */
static void hold_when_started(int end)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	uint64_t deadline_ns = clock_mono_ns() + WAIT_NS;
	pid_t holder;
	char *text;
	char c;

	while (!scratch_has(dir, "pid") && clock_mono_ns() < deadline_ns)
		(void)nanosleep(&pause, NULL);
	text = scratch_read(scratch_path(dir, "pid"), NULL);
	holder = text ? unkillable_hold((pid_t)atoi(text)) : -1;
	free(text);
	while (read(end, &c, 1) < 0 && errno == EINTR)
		;
	if (holder > 0)
		unkillable_let_go(holder);
}

static void test_bpfload(void)
{
	const char *helper = write_hanging();
	struct errmsg err = { 0 };
	int end[2];
	pid_t pid;

	(void)unlink(scratch_path(dir, "pid"));
	if (!ok(pipe(end) == 0, "a pipe"))
		return;
	pid = fork();
	if (pid == 0) {
		(void)close(end[1]);
		hold_when_started(end[0]);
		_exit(0);
	}
	is_int(bpfload_run(helper, dir, NSEC_PER_SEC, &err), -ETIMEDOUT,
	       "slurmd does not wait for a loader that cannot be killed");
	ok(strstr(err.text, helper), "  and says which");
	(void)close(end[0]);
	(void)close(end[1]);
	while (waitpid(-1, NULL, 0) > 0) /* the two */
		;
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	test_wait();
	test_bpfload();
	scratch_clear(dir);
	(void)rmdir(dir);
	return done_testing();
}
