/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libutil/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/libutil/clock.h"
#include "src/libutil/trust.h"

#define WAIT_STEP_NS (2 * NSEC_PER_MSEC)

/*
 * The child must not inherit the blocked signals of a worker thread, nor slurmd's ignored signals.
 */
static int set_attributes(posix_spawnattr_t *attr)
{
	sigset_t none, all;
	int rc;

	(void)sigemptyset(&none);
	(void)sigfillset(&all);
	rc = posix_spawnattr_setsigmask(attr, &none);
	if (rc == 0)
		rc = posix_spawnattr_setsigdefault(attr, &all);
	if (rc == 0)
		rc = posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	return -rc;
}

static int set_files(posix_spawn_file_actions_t *files, int in, int out)
{
	int rc = in < 0 ? posix_spawn_file_actions_addopen(files, STDIN_FILENO, "/dev/null", O_RDONLY, 0) :
			  posix_spawn_file_actions_adddup2(files, in, STDIN_FILENO);

	if (rc == 0)
		rc = posix_spawn_file_actions_adddup2(files, out, STDOUT_FILENO);
	if (rc == 0)
		rc = posix_spawn_file_actions_adddup2(files, out, STDERR_FILENO);
	return -rc;
}

static int spawn_with(const posix_spawnattr_t *attr, char *const *argv, char *const *env, int in, int out,
		      bool by_path, pid_t *ret_pid)
{
	posix_spawn_file_actions_t files;
	int rc = -posix_spawn_file_actions_init(&files);

	if (rc < 0)
		return rc;
	rc = set_files(&files, in, out);
	if (rc == 0)
		rc = -(by_path ? posix_spawnp : posix_spawn)(ret_pid, argv[0], &files, attr, argv, env);
	(void)posix_spawn_file_actions_destroy(&files);
	return rc;
}

/*
 * posix_spawn() instead of fork(): fork() is unsafe in a daemon with threads, and copies its page
 * tables.
 */
static int spawn_program(char *const *argv, char *const *env, int in, int out, bool by_path, pid_t *ret_pid)
{
	posix_spawnattr_t attr;
	int rc = -posix_spawnattr_init(&attr);

	if (rc < 0)
		return rc;
	rc = set_attributes(&attr);
	if (rc == 0)
		rc = spawn_with(&attr, argv, env, in, out, by_path, ret_pid);
	(void)posix_spawnattr_destroy(&attr);
	return rc;
}

int helper_spawn(char *const *argv, char *const *env, int in, int out, pid_t *ret_pid)
{
	static char *const no_env[] = { NULL };
	int rc = trust_check(argv[0], NULL);

	return rc < 0 ? rc : spawn_program(argv, env ? env : no_env, in, out, /* by_path= */ false, ret_pid);
}

int helper_spawn_by_path(char *const *argv, char *const *env, int in, int out, pid_t *ret_pid)
{
	return spawn_program(argv, env, in, out, /* by_path= */ true, ret_pid);
}

/* Polls, because waitpid() itself has no timeout. */
int helper_wait(pid_t pid, uint64_t deadline_ns, int *ret_status)
{
	const struct timespec step = clock_ns_to_timespec(WAIT_STEP_NS);
	pid_t got;

	for (;;) {
		got = waitpid(pid, ret_status, WNOHANG);
		if (got == pid)
			return 0;
		if (got < 0 && errno != EINTR)
			return -errno;
		if (clock_mono_ns() >= deadline_ns)
			return -EAGAIN;
		(void)nanosleep(&step, NULL);
	}
}
