/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check_hangs.c - finds paths whose file server does not answer. A child process looks at each, since a
 * process that does may hang. For the paths of ceems.conf this is done before all other checks and for all at
 * the same time, so that `ceems check` waits once, however many of them hang.
 */
#define _GNU_SOURCE /* pipe2 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/cmd/check/check.h"
#include "src/libsink/sink.h"
#include "src/libutil/clock.h"
#include "src/libutil/localfs.h"

/* How long a path may take to answer. */
#define ANSWER_NS (5 * NSEC_PER_SEC)

/* A child process that looks at a path. */
struct looker {
	pid_t pid;
	int fd; /* a pipe whose other end the child closes when it ends */
};

/* Asks the file server: stat(2) may be answered from a cache (NFS), statfs(2) never is. */
static void look_at_server(const char *path)
{
	char at[PATH_MAX];
	struct statfs fs;
	char *slash;

	(void)snprintf(at, sizeof(at), "%s", path);
	while (statfs(at, &fs) < 0 && errno == ENOENT && (slash = strrchr(at, '/')) && slash != at)
		*slash = '\0';
}

/* Runs in the child process. FD is its end of the pipe. */
static void look(const char *path, int fd)
{
	struct stat st;
	int i;

	/* a child that hangs on must not hold up who reads our output to its end */
	for (i = STDIN_FILENO; i <= STDERR_FILENO; i++)
		if (i != fd)
			(void)close(i);
	(void)stat(path, &st);
	look_at_server(path);
	_exit(0);
}

static int looker_start(const char *path, struct looker *ret)
{
	int fd[2], rc = 0;

	if (pipe2(fd, O_CLOEXEC) < 0)
		return -errno;
	ret->pid = fork();
	if (ret->pid == 0)
		look(path, fd[1]);
	if (ret->pid < 0)
		rc = -errno;
	(void)close(fd[1]);
	if (rc < 0)
		(void)close(fd[0]);
	else
		ret->fd = fd[0];
	return rc;
}

/*
 * Waits for the child until DEADLINE_NS (CLOCK_MONOTONIC), and kills it then. Returns true
 * if its path has answered.
 */
static bool looker_end(struct looker *l, uint64_t deadline_ns)
{
	struct pollfd p = { .fd = l->fd };
	uint64_t now_ns = clock_mono_ns();
	int ms = now_ns < deadline_ns ? (int)((deadline_ns - now_ns) / NSEC_PER_MSEC) + 1 : 0;
	bool has_answered = poll(&p, 1, ms) == 1;

	(void)close(l->fd);
	/* a killed child may hang on, so it is not waited for */
	if (!has_answered)
		(void)kill(l->pid, SIGKILL);
	(void)waitpid(l->pid, NULL, has_answered ? 0 : WNOHANG);
	return has_answered;
}

const char *check_hang_hint(const char *path, char hint[CHECK_HINT_MAX])
{
	static const char rest[] = "does not answer, or use a path on another file system";
	struct localfs_mount mount;

	if (localfs_find_mount(path, &mount))
		(void)snprintf(hint, CHECK_HINT_MAX, "see why the file server of %s (%s, %s) %s", mount.dir,
			       mount.kind, mount.source, rest);
	else
		(void)snprintf(hint, CHECK_HINT_MAX, "see why %s %s", path, rest);
	return hint;
}

/* --- all paths of ceems.conf -------------------------------------------------------------- */

/* What does not work while a file, or the path of a setting, does not answer. */
static const struct {
	const char *key, *lost;
} losses[] = {
	{ "LedgerDir", "slurmd would hang" },
	{ "TextfileDir", "ceems.prom and ceems_controller.prom are not written" },
	{ "ExternalSource", "its energy is not measured" },
	{ "RedfishConf", "its energy is not measured" },
	{ "EmissionFactorFile", "slurmd and ceems-recorder would wait for it when they start" },
	{ "EmissionSeriesFile", "the yearly mean is used" },
	{ "TraceDir", "traces are not written, and slurmd's log says so" },
	{ "ProfileDir", "profiles are not written, and slurmd's log says so" },
	{ "InboxDir", "slurmctld cannot leave job ends there" },
	{ "StoreDir", "no job gets a record" },
	{ "SysRoot", "nothing else can be checked" },
	{ "HelperDir", "nothing else can be checked" },
	{ "ceems.conf", "nothing can be checked" },
	{ "slurm.conf", "Slurm's daemons and commands would hang" },
	{ "PluginDir", "Slurm's daemons and commands would hang" },
};

struct look_at {
	const char *key, *path;
	struct looker looker;
};

static void report_hung(struct check *c, const char *key, const char *path)
{
	const char *lost = sink_writes(key) ? "records wait in the store" : "what is there cannot be used";
	char hint[CHECK_HINT_MAX];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(losses); i++)
		if (!strcmp(key, losses[i].key))
			lost = losses[i].lost;
	check_error(c, key, check_hint_system(check_hang_hint(path, hint)), "%s does not answer: %s", path,
		    lost);
}

/* Starts to look at PATH, the value of KEY. */
static void look_begin(struct look_at *list, size_t *n, const char *key, const char *path)
{
	struct look_at *a = &list[*n];

	if (*path != '/' || looker_start(path, &a->looker) < 0)
		return;
	a->key = key;
	a->path = path;
	++*n;
}

bool check_answers(struct check *c, const char *key, const char *path)
{
	struct looker looker;

	if (looker_start(path, &looker) < 0 || looker_end(&looker, clock_mono_ns() + ANSWER_NS))
		return true;
	report_hung(c, key, path);
	return false;
}

bool check_hangs_find(struct check *c)
{
	_cleanup_free_ struct look_at *list = calloc(settings_nkeys + 1, sizeof(*list));
	const struct settings *s = &c->settings;
	uint64_t deadline_ns;
	size_t i, n = 0;

	c->hung = calloc(settings_nkeys + 1, sizeof(*c->hung));
	if (!list || !c->hung)
		return true;
	for (i = 0; i < settings_nkeys; i++)
		if (settings_keys[i].size == SETTINGS_PATH_MAX)
			look_begin(list, &n, settings_keys[i].name,
				   (const char *)s + settings_keys[i].offset);
	if (strcmp(c->host_textfile_dir, s->textfile_dir))
		look_begin(list, &n, "TextfileDir", c->host_textfile_dir);
	deadline_ns = clock_mono_ns() + ANSWER_NS;
	for (i = 0; i < n; i++)
		if (!looker_end(&list[i].looker, deadline_ns)) {
			check_add_hung(c, list[i].path);
			report_hung(c, list[i].key, list[i].path);
		}
	return !check_is_hung(c, s->sys_root) && !check_is_hung(c, s->helper_dir);
}

void check_add_hung(struct check *c, const char *path)
{
	if (c->hung && c->nhung < settings_nkeys + 1 && !check_is_hung(c, path))
		c->hung[c->nhung++] = path;
}

bool check_is_hung(const struct check *c, const char *path)
{
	size_t i;

	for (i = 0; i < c->nhung; i++)
		if (!strcmp(c->hung[i], path))
			return true;
	return false;
}

int check_localfs(const struct check *c, const char *path, const char *key, struct errmsg *err)
{
	struct localfs_mount mount;

	if (check_is_hung(c, path) && !localfs_find_mount(path, &mount))
		return errmsg_set(err, -ETIMEDOUT, "%s does not answer", path);
	return localfs_check(path, key, err);
}
