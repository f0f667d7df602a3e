/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes that leave the cgroups of a step, against the running kernel: needs root. The cgroups are the
 * test's own, on the hierarchies that the machine has, with names as Slurm gives.
 */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "cgfolders.h"
#include "src/libmeter/activity/cgleave.h"
#include "src/libmeter/activity/cgprocs.h"
#include "src/libutil/clock.h"

#define TIMEOUT_NS (30 * NSEC_PER_SEC)

/* --- where to ----------------------------------------------------------------------------- */

static void test_paths(void)
{
	static const struct {
		const char *path;
		bool is_v2;
		int rc;
		const char *to;
	} rows[] = {
		{ "/", true, -ENOENT, "" },
		{ "/system.slice/slurmd.service", true, -ENOENT, "" },
		{ "/system.slice/slurmstepd.scope/system", true, -ENOENT, "" },
		{ "/system.slice/slurmstepd.scope/job_7/step_0/slurm", true, 0,
		  "/system.slice/slurmstepd.scope/system" },
		{ "/system.slice/n1_slurmstepd.scope/job_7/step_batch/user/task_0", true, 0,
		  "/system.slice/n1_slurmstepd.scope/system" },
		{ "/slurmstepd.scope/sEKNKTV3WPV500/step_extern/slurm", true, 0, "/slurmstepd.scope/system" },
		{ "/job_7/step_0/slurm", true, 0, "/system" },
		{ "/a/job_7/step_0/user/task_0/b/job_1/step_0/slurm", true, 0,
		  "/a/job_7/step_0/user/task_0/b/system" },
		{ "/slurm/uid_1000/job_7/step_0", true, 0, "/slurm/uid_1000/system" },
		{ "/", false, -ENOENT, "" },
		{ "/slurm/uid_1000", false, -ENOENT, "" },
		{ "/slurm_n1/uid_1000/job_7", false, 0, "/slurm_n1" },
		{ "/slurm_n1/uid_1000/job_7/step_0/task_0", false, 0, "/slurm_n1" },
		{ "/uid_0/job_7/step_0", false, 0, "/" },
	};
	char to[64];
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		to[0] = '\0';
		diag("%s %s", rows[i].is_v2 ? "v2" : "v1", rows[i].path);
		is_int(cgleave_path(rows[i].path, rows[i].is_v2, to, sizeof(to)), rows[i].rc,
		       "  leads somewhere or not");
		is_str(to, rows[i].to, "  to");
	}
	is_int(cgleave_path("/slurm/uid_0/job_7", false, to, 6), -ENAMETOOLONG, "no room");
}

/* --- processes ---------------------------------------------------------------------------- */

/* What the test makes below its own cgroup: on v2 slurmstepd.scope is NAME itself. */
static const char *const v2_folders[] = { "", "/system", "/job_7", "/job_7/step_0", "/job_7/step_0/slurm" };
static const char *const v1_folders[] = { "", "/uid_0", "/uid_0/job_7" };

struct tree {
	char base[HIER_N][PATH_MAX]; /* "": this hierarchy is not here */
	char path[HIER_N][PATH_MAX]; /* the same as in /proc/PID/cgroup */
};

static size_t folders_of(int hier, const char *const **ret)
{
	*ret = hier == HIER_V2 ? v2_folders : v1_folders;
	return hier == HIER_V2 ? sizeof(v2_folders) / sizeof(*v2_folders) :
				 sizeof(v1_folders) / sizeof(*v1_folders);
}

static const char *step_folder(int hier)
{
	const char *const *name;
	size_t n = folders_of(hier, &name);

	return name[n - 1];
}

static bool make_folders(const char *base, int hier)
{
	const char *const *name;
	size_t n = folders_of(hier, &name), i;
	char folder[PATH_MAX + 64];

	for (i = 0; i < n; i++) {
		(void)snprintf(folder, sizeof(folder), "%s%s", base, name[i]);
		if (mkdir(folder, 0755) < 0)
			return false;
	}
	return true;
}

static void remove_folders(const char *base, int hier)
{
	uint64_t deadline_ns = clock_mono_ns() + TIMEOUT_NS;
	const char *const *name;
	size_t n = folders_of(hier, &name), i;
	char folder[PATH_MAX + 64];

	for (i = n; i-- > 0;) {
		(void)snprintf(folder, sizeof(folder), "%s%s", base, name[i]);
		while (rmdir(folder) < 0 && errno == EBUSY && clock_mono_ns() < deadline_ns)
			(void)usleep(1000);
	}
}

static void tree_make(struct tree *t)
{
	char own[PATH_MAX / 2], root[PATH_MAX / 2];
	int i;

	memset(t, 0, sizeof(*t));
	for (i = 0; i < HIER_N; i++) {
		own_path(i, own, sizeof(own));
		if (!own[0] || cgmount_find(controllers[i], own, root, sizeof(root)) < 0)
			continue;
		(void)snprintf(t->base[i], sizeof(t->base[i]), "%s/ceems-test-%d", root, (int)getpid());
		(void)snprintf(t->path[i], sizeof(t->path[i]), "%s/ceems-test-%d", own[1] ? own : "",
			       (int)getpid());
		if (!make_folders(t->base[i], i)) {
			diag("%s: cannot make %s: %s", hier_names[i], t->base[i], strerror(errno));
			remove_folders(t->base[i], i);
			t->base[i][0] = '\0';
		}
	}
}

static void tree_remove(const struct tree *t)
{
	int i;

	for (i = 0; i < HIER_N; i++) {
		if (!t->base[i][0])
			continue;
		remove_folders(t->base[i], i);
		ok(access(t->base[i], F_OK) < 0, "%s: nothing is left", hier_names[i]);
	}
}

/* Returns true if FN returns 0 in each hierarchy, for a descriptor of the cgroup in which slurmstepd is. */
static bool in_step(const struct tree *t, int (*fn)(int fd, pid_t pid), pid_t pid)
{
	char folder[PATH_MAX + 64];
	bool done = true;
	int i, fd;

	for (i = 0; i < HIER_N; i++) {
		if (!t->base[i][0])
			continue;
		(void)snprintf(folder, sizeof(folder), "%s%s", t->base[i], step_folder(i));
		fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		done &= fd >= 0 && fn(fd, pid) == 0;
		(void)close(fd);
	}
	return done;
}

static bool enter_step(const struct tree *t)
{
	return in_step(t, cgprocs_move, getpid());
}

/* Starts a process that does nothing, in group PGID; 0: its own; -1: that of the caller. */
static pid_t start_process(pid_t pgid)
{
	pid_t pid = fork();

	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			(void)pause();
	}
	if (pid > 0 && pgid >= 0)
		(void)setpgid(pid, pgid);
	return pid;
}

/* Returns true if PID is in the cgroup PATH + NAME. */
static bool is_in(pid_t pid, int hier, const char *path, const char *name)
{
	char file[64], line[PATH_MAX], want[PATH_MAX + 64];
	bool found = false;
	FILE *f;

	(void)snprintf(file, sizeof(file), "/proc/%d/cgroup", (int)pid);
	(void)snprintf(want, sizeof(want), "%s%s", path, name);
	f = fopen(file, "re");
	while (f && fgets(line, sizeof(line), f)) {
		char *list = strchr(line, ':');
		char *p = list ? strchr(list + 1, ':') : NULL;

		if (!p)
			continue;
		*p++ = '\0';
		p[strcspn(p, "\n")] = '\0';
		if (hier == HIER_V2 ? !list[1] : strstr(list + 1, controllers[hier]) != NULL)
			found |= !strcmp(p, want);
	}
	if (f)
		(void)fclose(f);
	return found;
}

/* Returns true if the four processes of leave() are where they should be. */
static bool are_in_place(const struct tree *t, const pid_t pid[4])
{
	static const bool leaves[4] = { true, true, false, false };
	bool right = true;
	int i, k;

	for (i = 0; i < HIER_N; i++) {
		if (!t->base[i][0])
			continue;
		for (k = 0; k < 4; k++) {
			const char *want = !leaves[k] ? step_folder(i) : i == HIER_V2 ? "/system" : "";

			if (!is_in(pid[k], i, t->path[i], want)) {
				(void)fprintf(stderr, "# %s: process %d is not in %s%s\n", hier_names[i], k,
					      t->path[i], want);
				right = false;
			}
		}
	}
	return right;
}

/* Does what slurmstepd would do, in a child process. Returns 0, or the number of the check that failed. */
static int leave(const struct tree *t)
{
	pid_t pid[4], gone;
	int rc = 0, i;

	if (!enter_step(t))
		return 1;
	pid[0] = start_process(0);
	pid[1] = start_process(pid[0]);
	pid[2] = start_process(0);
	pid[3] = getpid();
	(void)kill(pid[0], SIGSTOP); /* stopped or asleep, it cannot help */
	gone = fork();
	if (gone == 0)
		_exit(0);
	(void)waitpid(gone, NULL, 0);
	if (cgleave(gone) != 0)
		rc = 2;
	if (!rc && cgleave(pid[0]) != 0)
		rc = 3;
	if (!rc && !are_in_place(t, pid))
		rc = 4;
	if (!rc && cgleave(pid[0]) != 0)
		rc = 5; /* a second time */
	for (i = 0; i < 3; i++) {
		(void)kill(pid[i], SIGKILL);
		(void)waitpid(pid[i], NULL, 0);
	}
	return rc;
}

/* Starts a process in a group of its own that forks all the time, but not without end. The children stay. */
static pid_t start_forking(void)
{
	pid_t pid = fork();
	int i;

	if (pid > 0)
		(void)setpgid(pid, pid);
	if (pid != 0)
		return pid;
	(void)setpgid(0, 0);
	for (i = 0; i < 1000 && fork() != 0; i++)
		(void)usleep(100);
	for (;;)
		(void)pause();
}

static int note_if_of_group(void *ctx, pid_t pid)
{
	const pid_t *group = ctx;

	return getpgid(pid) == *group;
}

/* Returns 0 if no process of GROUP is in the cgroup FD. */
static int look_for_group(int fd, pid_t group)
{
	struct cgprocs procs = { 0 };
	int rc = cgprocs_each_in(&procs, fd, "cgroup.procs", note_if_of_group, &group);

	cgprocs_fini(&procs);
	return rc;
}

/* A program that forks while it is moved leaves with the child. */
static int leave_forking(const struct tree *t)
{
	int rc = 0, i;

	/* so that each of them can be waited for: until then it may be in a cgroup */
	if (!enter_step(t) || prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		return 1;
	for (i = 0; i < 200 && !rc; i++) {
		pid_t pid = start_forking();

		if (cgleave(pid) != 0)
			rc = 2;
		else if (!in_step(t, look_for_group, pid))
			rc = 3;
		(void)kill(-pid, SIGKILL);
		while (waitpid(-pid, NULL, 0) > 0)
			;
	}
	return rc;
}

static int in_child(int (*fn)(const struct tree *t), const struct tree *t)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(fn(t));
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Without "system" on v2 there is nowhere to go. */
static int leave_to_nowhere(const struct tree *t)
{
	char folder[PATH_MAX + 64];
	pid_t pid;
	int rc;

	(void)snprintf(folder, sizeof(folder), "%s/system", t->base[HIER_V2]);
	if (!enter_step(t) || rmdir(folder) < 0)
		return 1;
	pid = start_process(0);
	rc = cgleave(pid) == -ENOENT ? 0 : 2;
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	return mkdir(folder, 0755) < 0 ? 3 : rc;
}

static void test_processes(void)
{
	struct tree t;
	int i, n = 0;

	is_int(cgleave(getpid()), 0, "a process in no step stays");
	if (geteuid() != 0)
		return skip(1, "not root");
	tree_make(&t);
	for (i = 0; i < HIER_N; i++)
		n += t.base[i][0] != '\0';
	if (!n)
		return skip(1, "no cgroup can be made here");
	diag("%d hierarchies", n);
	is_int(in_child(leave, &t), 0, "a program and its group leave; slurmstepd and others stay");
	is_int(in_child(leave_forking, &t), 0, "so does a program that forks meanwhile");
	if (t.base[HIER_V2][0])
		is_int(in_child(leave_to_nowhere, &t), 0, "v2 without the cgroup \"system\"");
	tree_remove(&t);
}

int main(void)
{
	test_paths();
	test_processes();
	return done_testing();
}
