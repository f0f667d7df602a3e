/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libmeter/activity/stepgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/mount.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "src/libmeter/activity/cgmount.h"
#include "src/libmeter/activity/cgprocs.h"
#include "src/libutil/parse.h"
#include "src/libutil/procstat.h"
#include "src/libutil/util.h"

/*
 * Begin of the folder's name. It begins with "step_", because cgmount.h takes such a
 * folder as that of a step.
 */
#define PREFIX "step_ceems_"
/* The most tries to make the folder: another slurmd may remove it before it is filled. */
#define MAX_CREATE 3
#define MAX_REMOVE 20
#define REMOVE_PAUSE_US 5000
/*
 * The most folders searched in the whole tree. A node has some hundred, of services, scopes and
 * containers.
 */
#define MAX_FOLDERS 8192
#define MAX_DEPTH 10

struct stepgroup {
	int parent;
	int fd;
	char name[sizeof(PREFIX) + 3 * sizeof(pid_t)];
};

/* --- the tree ----------------------------------------------------------------------------- */

/*
 * Reads the v2 path of process PID. -ENOENT: v2 was never mounted since the boot, so the
 * kernel does not show it.
 */
static int v2_path(pid_t pid, char *path, size_t size)
{
	_cleanup_fclose_ FILE *f = NULL;
	_cleanup_free_ char *line = NULL;
	size_t line_size = 0;
	char name[64];

	(void)snprintf(name, sizeof(name), "/proc/%d/cgroup", (int)pid);
	f = fopen(name, "re");
	if (!f)
		return errno == ENOENT ? -ESRCH : -errno;
	while (getline(&line, &line_size, f) > 0) {
		if (strncmp(line, "0::", 3) != 0)
			continue;
		line[strcspn(line, "\n")] = '\0';
		if (strlen(line + 3) >= size)
			return -ENOSPC;
		memcpy(path, line + 3, strlen(line + 3) + 1);
		return 0;
	}
	return ferror(f) ? -ESRCH : -ENOENT;
}

/*
 * Opens the root of v2 by a detached mount, which disappears with its last fd. If it is the first
 * mount of v2 since the boot, "0::/" appears in /proc/PID/cgroup from then on.
 */
static int open_hidden(void)
{
	_cleanup_close_ int fs = (int)syscall(SYS_fsopen, "cgroup2", FSOPEN_CLOEXEC);
	int fd;

	if (fs < 0)
		return errno == ENODEV ? -EOPNOTSUPP : -errno;
	if (syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	fd = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC,
			  MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	return fd < 0 ? -errno : fd;
}

static int open_folder(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/*
 * Opens the cgroup PATH (as in /proc/PID/cgroup) through a detached mount. -EOPNOTSUPP: PATH begins
 * with "/..", so it is outside our cgroup namespace.
 */
static int open_path_hidden(const char *path)
{
	_cleanup_close_ int root = -1;

	if (path[0] != '/' || !strncmp(path, "/..", 3))
		return -EOPNOTSUPP;
	root = open_hidden();
	if (root < 0)
		return root;
	return open_folder(root, path[1] ? path + 1 : ".");
}

/*
 * Opens the cgroup PATH through an existing mount. In a container, that is often read-only or shows
 * another part.
 */
static int open_path(const char *path)
{
	char folder[PATH_MAX];
	int fd;

	if (cgmount_find(NULL, path, folder, sizeof(folder)) == 0 &&
	    faccessat(AT_FDCWD, folder, W_OK, AT_EACCESS) == 0) {
		fd = open_folder(AT_FDCWD, folder);
		if (fd >= 0)
			return fd;
	}
	return open_path_hidden(path);
}

/* --- making one --------------------------------------------------------------------------- */

static int find_parent(pid_t pid, char *path, size_t size, int *ret_fd, struct errmsg *err)
{
	int rc = v2_path(pid, path, size);
	int fd;

	if (rc == -ENOENT) {
		_cleanup_close_ int first = open_hidden();

		rc = first < 0 ? first : v2_path(pid, path, size);
		if (rc == -ENOENT)
			rc = -EOPNOTSUPP;
	}
	if (rc < 0)
		return errmsg_errno(err, rc, "the v2 cgroup of process %d", (int)pid);
	fd = open_path(path);
	if (fd < 0)
		return errmsg_errno(err, fd, "cannot open the v2 cgroup %s", path);
	*ret_fd = fd;
	return 0;
}

/*
 * Returns true if PATH is in a cgroup that Slurm made for a step, or in OWN_NAME. A folder of ours
 * with another name does not count: a user may run a whole Slurm cluster inside a job.
 */
static bool is_in_step(const char *path, const char *own_name)
{
	size_t own = strlen(own_name);

	while ((path = strstr(path, "/step_"))) {
		path++;
		if (strncmp(path, PREFIX, strlen(PREFIX)) != 0 ||
		    (strcspn(path, "/") == own && !strncmp(path, own_name, own)))
			return true;
	}
	return false;
}

static int move_all(int folder, const pid_t *pid, size_t n)
{
	size_t i, moved = 0;
	int rc;

	for (i = 0; i < n; i++) {
		rc = cgprocs_move(folder, pid[i]);
		if (rc < 0 && rc != -ESRCH)
			return rc;
		moved += rc == 0;
	}
	return moved ? 0 : -ESRCH;
}

/*
 * Makes the folder and moves the tasks there. -ENOENT, -ENODEV: another process removed the folder
 * meanwhile.
 */
static int stepgroup_fill(struct stepgroup *g, const pid_t *pid, size_t n)
{
	/* remove a folder of a dead process that had our pid, with its counters */
	if (unlinkat(g->parent, g->name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		return -errno;
	if (mkdirat(g->parent, g->name, 0755) < 0)
		return -errno;
	util_closep(&g->fd);
	g->fd = open_folder(g->parent, g->name);
	return g->fd < 0 ? g->fd : move_all(g->fd, pid, n);
}

int stepgroup_create(const pid_t *pid, size_t n, struct stepgroup **ret, char *ret_path, size_t size,
		     struct errmsg *err)
{
	char parent[PATH_MAX], path[PATH_MAX + sizeof(((struct stepgroup *)0)->name)];
	struct stepgroup *g;
	int attempt, rc;

	if (!n)
		return errmsg_errno(err, -EINVAL, "cannot make a v2 cgroup without a task");
	g = calloc(1, sizeof(*g));
	if (!g)
		return errmsg_errno(err, -ENOMEM, "a v2 cgroup");
	g->parent = g->fd = -1;
	(void)snprintf(g->name, sizeof(g->name), PREFIX "%d", (int)getpid());
	rc = find_parent(pid[0], parent, sizeof(parent), &g->parent, err);
	if (rc < 0)
		goto fail;
	if (is_in_step(parent, g->name)) {
		rc = errmsg_set(err, -EEXIST, "the tasks are in a step's v2 cgroup already, %s", parent);
		goto fail;
	}
	(void)snprintf(path, sizeof(path), "%s/%s", parent[1] ? parent : "", g->name);
	if (strlen(path) >= size) {
		rc = errmsg_errno(err, -ENOSPC, "%s", path);
		goto fail;
	}
	for (attempt = 0; attempt < MAX_CREATE; attempt++) {
		rc = stepgroup_fill(g, pid, n);
		if (rc != -ENOENT && rc != -ENODEV)
			break;
	}
	if (rc < 0) {
		rc = errmsg_errno(err, rc, "cannot move %zu tasks to the v2 cgroup %s", n, path);
		goto fail;
	}
	memcpy(ret_path, path, strlen(path) + 1);
	*ret = g;
	return 0;
fail:
	stepgroup_destroy(g);
	return rc;
}

int stepgroup_fd(const struct stepgroup *g)
{
	return g->fd;
}

/* --- taking it away ----------------------------------------------------------------------- */

typedef bool folder_fn(void *ctx, int parent, const char *name);

/* Calls FN for each folder in FOLDER, until it returns false. */
static void each_folder(int folder, folder_fn *fn, void *ctx)
{
	int fd = open_folder(folder, "."); /* an offset of its own */
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	bool more = true;

	if (!d) {
		util_closep(&fd);
		return;
	}
	while (more && (e = readdir(d)))
		if (e->d_type == DT_DIR && e->d_name[0] != '.')
			more = fn(ctx, dirfd(d), e->d_name);
	(void)closedir(d);
}

/*
 * Removes a folder with all empty folders in it; root's processes in the step may have made some.
 */
static bool remove_tree(void *ctx, int parent, const char *name)
{
	const int *depth = ctx;
	int below = *depth + 1;
	_cleanup_close_ int fd = -1;

	if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno != EBUSY || below > MAX_DEPTH)
		return true;
	fd = open_folder(parent, name);
	if (fd >= 0)
		each_folder(fd, remove_tree, &below);
	(void)unlinkat(parent, name, AT_REMOVEDIR);
	return true;
}

/* Removes a folder with all empty folders in it. Returns true if it is gone. */
static bool remove_folder(int parent, const char *name)
{
	int depth = 0;
	struct stat st;

	(void)remove_tree(&depth, parent, name);
	return fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT;
}

static int move_up(void *ctx, pid_t pid)
{
	const struct stepgroup *g = ctx;

	(void)cgprocs_move(g->parent, pid); /* this fails for a process that is just ending */
	return 0;
}

void stepgroup_destroy(struct stepgroup *g)
{
	struct cgprocs procs = { 0 };
	int attempt;

	if (!g)
		return;
	for (attempt = 0; g->fd >= 0 && attempt < MAX_REMOVE; attempt++) {
		if (attempt)
			(void)usleep(REMOVE_PAUSE_US);
		if (remove_folder(g->parent, g->name))
			break;
		(void)cgprocs_each(&procs, g->fd, move_up, g);
	}
	cgprocs_fini(&procs);
	util_closep(&g->fd);
	util_closep(&g->parent);
	free(g);
}

/* --- what the dead left ------------------------------------------------------------------- */

struct reaping {
	bool everywhere;
	unsigned int depth;
	unsigned int folders; /* folders seen so far */
	unsigned int removed;
};

/*
 * Returns the pid of the process that made a folder, which is in its name. 0: the folder is not one of ours.
 */
static pid_t maker(const char *name)
{
	uint64_t pid;

	if (strncmp(name, PREFIX, strlen(PREFIX)) != 0 || parse_u64(name + strlen(PREFIX), &pid) < 0 ||
	    pid > INT_MAX)
		return 0;
	return (pid_t)pid;
}

static bool stepgroup_reap_folder(void *ctx, int parent, const char *name)
{
	struct reaping *r = ctx;
	_cleanup_close_ int fd = -1;
	pid_t pid = maker(name);

	if (++r->folders > MAX_FOLDERS)
		return false;
	if (!pid && (!r->everywhere || r->depth >= MAX_DEPTH))
		return true;
	fd = open_folder(parent, name);
	if (fd < 0)
		return true;
	/* a process in another pid namespace looks dead, but its folder has processes and stays */
	if (pid && !procstat_is_alive(pid, /* start_ticks= */ 0) && cgprocs_are_there(fd) == 0) {
		r->removed += remove_folder(parent, name);
		return true;
	}
	if (!r->everywhere || r->depth >= MAX_DEPTH)
		return true;
	r->depth++;
	each_folder(fd, stepgroup_reap_folder, r);
	r->depth--;
	return r->folders <= MAX_FOLDERS;
}

unsigned int stepgroup_reap(bool everywhere)
{
	struct reaping r = { .everywhere = everywhere };
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX];

	/* v2 was never mounted, so there is no folder of ours */
	if (v2_path(getpid(), path, sizeof(path)) < 0)
		return 0;
	fd = open_path(everywhere ? "/" : path);
	if (fd >= 0)
		each_folder(fd, stepgroup_reap_folder, &r);
	return r.removed;
}
