/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* setresuid, setgroups, pipe2 */
#include "src/libutil/as_owner.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/libutil/fileio.h"
#include "src/libutil/util.h"

/* Writes the folder that PATH is in to RET. False: its name is too long. */
static bool as_owner_folder(const char *path, char ret[PATH_MAX])
{
	char *slash;

	if (snprintf(ret, PATH_MAX, "%s", path) >= PATH_MAX)
		return false;
	slash = strrchr(ret, '/');
	if (!slash)
		memcpy(ret, ".", sizeof("."));
	else
		slash[slash == ret] = '\0';
	return true;
}

bool as_owner_is_other(const char *path, uid_t *ret)
{
	char folder[PATH_MAX];
	struct stat st = { 0 };

	if (geteuid())
		return false;
	if ((lstat(path, &st) < 0 || !st.st_uid) && (stat(path, &st) < 0 || !st.st_uid) &&
	    (!as_owner_folder(path, folder) || stat(folder, &st) < 0))
		return false;
	*ret = st.st_uid;
	return st.st_uid != 0;
}

int as_owner_become(uid_t uid, struct errmsg *err)
{
	const struct passwd *pw = getpwuid(uid);
	/* an account without a name has no group: that of nobody */
	const gid_t gid = pw ? pw->pw_gid : (gid_t)65534;

	if ((pw ? initgroups(pw->pw_name, gid) : setgroups(0, NULL)) < 0 || setresgid(gid, gid, gid) < 0 ||
	    setresuid(uid, uid, uid) < 0)
		return errmsg_errno(err, -errno, "cannot become user %u", (unsigned int)uid);
	if (uid && setuid(0) == 0)
		return errmsg_set(err, -EPERM, "cannot become user %u for good", (unsigned int)uid);
	return 0;
}

/*
 * A process of the account could type into the terminal of root (TIOCSTI) if it were its terminal, so the
 * child has none. Ctrl-C ends the parent, whose end ends the child.
 */
static void run_child(uid_t uid, const struct as_owner_task *task, FILE *to, int why)
{
	struct errmsg err = { 0 };
	int rc;

	(void)setsid();
	rc = as_owner_become(uid, &err);
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM); /* after the change of the account, which clears it */
	if (rc == 0)
		rc = task->run(task->ctx, to, &err);
	if (fflush(NULL) == EOF && rc == 0)
		rc = errmsg_errno(&err, -errno, "cannot write");
	(void)fileio_write_full(why, err.text, strlen(err.text));
	_exit(rc < 0 && rc > -256 ? -rc : rc < 0 ? EIO : 0);
}

/* Returns what the child PID returned, and its reason, which comes through WHY. */
static int await_child(pid_t pid, int why, struct errmsg *err)
{
	struct errmsg said = { 0 };
	size_t used = 0;
	ssize_t n;
	int status = 0;

	while (used < sizeof(said.text) - 1 &&
	       ((n = read(why, said.text + used, sizeof(said.text) - 1 - used)) > 0 ||
		(n < 0 && errno == EINTR)))
		used += n > 0 ? (size_t)n : 0;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status))
		return errmsg_set(err, -EIO, "the process that runs as the owner was killed by signal %d",
				  WTERMSIG(status));
	if (!WEXITSTATUS(status))
		return 0;
	return errmsg_set(err, -WEXITSTATUS(status), "%s",
			  *said.text ? said.text : strerror(WEXITSTATUS(status)));
}

int as_owner_run(uid_t uid, const struct as_owner_task *task, struct errmsg *err)
{
	FILE *from = NULL, *to = NULL;
	int data[2], why[2], taken = 0, rc;
	pid_t pid;

	if (pipe2(data, O_CLOEXEC) < 0)
		return errmsg_errno(err, -errno, "pipe");
	if (pipe2(why, O_CLOEXEC) < 0) {
		rc = errmsg_errno(err, -errno, "pipe");
		(void)close(data[0]);
		(void)close(data[1]);
		return rc;
	}
	(void)fflush(NULL); /* the child must not write it again */
	from = fdopen(data[0], "r");
	to = fdopen(data[1], "w");
	pid = from && to ? fork() : -1;
	if (pid == 0) {
		(void)close(why[0]);
		(void)fclose(from);
		run_child(uid, task, to, why[1]);
	}
	rc = pid < 0 ? errmsg_errno(err, -errno, "fork") : 0;
	(void)close(why[1]);
	(void)(to ? fclose(to) : close(data[1]));
	if (rc == 0 && task->take)
		taken = task->take(task->ctx, from, err);
	(void)(from ? fclose(from) : close(data[0]));
	if (rc == 0)
		rc = await_child(pid, why[0], taken < 0 ? NULL : err);
	(void)close(why[0]);
	return taken < 0 ? taken : rc;
}
