/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A step's own v2 cgroup, against the running kernel: needs root. All is made below a folder of the
 * test's, in a private mount namespace.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/libmeter/activity/cgmount.h"
#include "src/libmeter/activity/stepgroup.h"
#include "src/libutil/clock.h"
#include "tap.h"

#define TIMEOUT_NS (30 * NSEC_PER_SEC)
#define THREADS 8

static char top[PATH_MAX];	/* folder of the test */
static char top_path[PATH_MAX]; /* the same as /proc/PID/cgroup shows it */

/* --- folders ------------------------------------------------------------------------------ */

static const char *in_top(const char *name)
{
	static char path[4][PATH_MAX + 64];
	static unsigned int turn;

	turn = (turn + 1) % 4;
	(void)snprintf(path[turn], sizeof(path[turn]), "%s/%s", top, name);
	return path[turn];
}

static bool put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		(void)close(fd);
	return done;
}

static bool join(const char *folder, pid_t pid)
{
	char path[PATH_MAX + 128], text[16];

	(void)snprintf(path, sizeof(path), "%s/cgroup.procs", folder);
	(void)snprintf(text, sizeof(text), "%d", (int)pid);
	return put(path, text);
}

static bool exists(const char *folder)
{
	return access(folder, F_OK) == 0;
}

/* A dead task's cgroup can be removed only a moment after wait() has returned. */
static bool remove_soon(const char *folder)
{
	uint64_t deadline = clock_mono_ns() + TIMEOUT_NS;

	while (rmdir(folder) < 0 && errno == EBUSY && clock_mono_ns() < deadline)
		(void)usleep(1000);
	return !exists(folder);
}

/* The v2 line of FILE is PATH. */
static bool file_says(const char *file, const char *path)
{
	char line[PATH_MAX + 64];
	FILE *f = fopen(file, "re");
	bool same = false;

	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		same |= !strncmp(line, "0::", 3) && !strcmp(line + 3, path);
	}
	if (f)
		(void)fclose(f);
	return same;
}

/* How many threads of PID there are, or -1 when one of them is not in PATH. */
static int threads_in(pid_t pid, const char *path)
{
	char dir[64], file[PATH_MAX];
	struct dirent *e;
	DIR *d;
	int n = 0;

	(void)snprintf(dir, sizeof(dir), "/proc/%d/task", (int)pid);
	d = opendir(dir);
	while (d && n >= 0 && (e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		(void)snprintf(file, sizeof(file), "%s/%s/cgroup", dir, e->d_name);
		n = file_says(file, path) ? n + 1 : -1;
	}
	if (d)
		(void)closedir(d);
	return n;
}

/* --- tasks -------------------------------------------------------------------------------- */

static void *wait_for_end(void *arg)
{
	(void)pause();
	return arg;
}

static void work_wait(void)
{
	(void)pause();
}

static void work_threads(void)
{
	pthread_t t;
	int i;

	for (i = 1; i < THREADS; i++)
		if (pthread_create(&t, NULL, wait_for_end, NULL))
			_exit(1);
	(void)raise(SIGSTOP);
	(void)pause();
}

/* Children that live for a moment, as fast as it goes. */
static void work_forks(void)
{
	for (;;) {
		if (fork() == 0) {
			(void)usleep(2000);
			_exit(0);
		}
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
}

/* A stopped task in FOLDER, as slurmstepd has them before their exec. */
static pid_t task_start(const char *folder, void (*work)(void))
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		return -1;
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)raise(SIGSTOP);
		work();
		_exit(0);
	}
	if (waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status) || !join(folder, pid))
		return -1;
	return pid;
}

static void task_end(pid_t pid)
{
	if (pid <= 0)
		return;
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
}

/* FN in a process of its own; what it returns. */
static int in_child(int (*fn)(void *), void *arg)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(fn(arg));
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

/* --- tests -------------------------------------------------------------------------------- */

static void own_name(char *name, size_t size)
{
	(void)snprintf(name, size, "step_ceems_%d", (int)getpid());
}

static void test_refused(void)
{
	pid_t task = task_start(top, work_wait), nobody = fork();
	struct stepgroup *g = NULL;
	char path[PATH_MAX], name[64];
	struct errmsg err = { 0 };

	if (nobody == 0)
		_exit(0);
	(void)waitpid(nobody, NULL, 0);
	own_name(name, sizeof(name));
	is_int(stepgroup_create(&task, 0, &g, path, sizeof(path), &err), -EINVAL, "no task");
	is_int(stepgroup_create(&nobody, 1, &g, path, sizeof(path), &err), -ESRCH, "a task that is gone");
	is_int(stepgroup_create(&task, 1, &g, path, 20, &err), -ENOSPC, "no room for the path");
	ok(g == NULL && !exists(in_top(name)), "nothing is left behind");
	stepgroup_destroy(NULL);
	task_end(task);
}

static void test_tasks_move(void)
{
	pid_t task[4] = { task_start(top, work_wait), task_start(top, work_threads),
			  task_start(top, work_wait), fork() };
	char path[PATH_MAX], want[PATH_MAX + 64], name[64];
	struct stepgroup *g = NULL, *again = NULL;
	struct errmsg err = { 0 };
	struct stat by_fd, by_name;
	int status;

	if (task[3] == 0)
		_exit(0);
	(void)waitpid(task[3], NULL, 0); /* a task that failed to start */
	(void)kill(task[1], SIGCONT);
	ok(waitpid(task[1], &status, WUNTRACED) == task[1] && WIFSTOPPED(status), "one has threads");
	own_name(name, sizeof(name));
	(void)snprintf(want, sizeof(want), "%s/%s", top_path, name);

	if (!is_int(stepgroup_create(task, 4, &g, path, sizeof(path), &err), 0, "create")) {
		diag("%s", err.text);
		goto out;
	}
	is_str(path, want, "the path");
	is_int(threads_in(task[0], path), 1, "a task is there");
	is_int(threads_in(task[1], path), THREADS, "all threads of a task are there");
	ok(fstat(stepgroup_fd(g), &by_fd) == 0 && stat(in_top(name), &by_name) == 0 &&
		   by_fd.st_ino == by_name.st_ino,
	   "the fd is the folder's");
	is_int(stepgroup_create(task, 1, &again, path, sizeof(path), &err), -EEXIST, "once only");
	task_end(task[0]);
	stepgroup_destroy(g);
	ok(!exists(in_top(name)), "destroy removes the folder");
	is_int(threads_in(task[1], top_path), THREADS, "the living are in the cgroup above");
out:
	task_end(task[1]);
	task_end(task[2]);
}

static void test_forking(void)
{
	pid_t task = task_start(top, work_forks);
	struct stepgroup *g = NULL;
	char path[PATH_MAX], procs[PATH_MAX + 128], name[64];
	struct errmsg err = { 0 };
	uint64_t deadline = clock_mono_ns() + TIMEOUT_NS;
	unsigned int strays = 1;
	char line[32];
	FILE *f;

	(void)kill(task, SIGCONT);
	(void)usleep(10000);
	is_int(stepgroup_create(&task, 1, &g, path, sizeof(path), &err), 0, "a task is moved while it forks");
	/* those that it had forked before die; there must be none after */
	(void)snprintf(procs, sizeof(procs), "%s/cgroup.procs", top);
	while (strays && clock_mono_ns() < deadline) {
		strays = 0;
		f = fopen(procs, "re");
		while (f && fgets(line, sizeof(line), f))
			strays++;
		if (f)
			(void)fclose(f);
	}
	is_u64(strays, 0, "what it forks from then on is in the folder");
	task_end(task);
	stepgroup_destroy(g);
	own_name(name, sizeof(name));
	ok(!exists(in_top(name)), "destroy waits for the dying");
}

static int enter_and_reap(void *everywhere)
{
	if (!join(top, getpid()))
		return 255;
	return (int)stepgroup_reap(everywhere != NULL);
}

static int reap_in_top(void)
{
	return in_child(enter_and_reap, NULL);
}

/* A stepd that is killed: *TASK lives on in its folder NAME. */
static void kill_maker(const char *folder, pid_t *task, char *name, size_t size)
{
	struct stepgroup *g;
	char path[PATH_MAX];
	int status;
	pid_t pid;

	*task = task_start(folder, work_wait);
	pid = fork();
	if (pid == 0) {
		status = stepgroup_create(task, 1, &g, path, sizeof(path), NULL);
		(void)raise(status < 0 ? SIGTERM : SIGKILL);
	}
	ok(pid > 0 && waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
	   "a maker is killed");
	(void)snprintf(name, size, "%s/step_ceems_%d", folder, (int)pid);
}

static void test_reap(void)
{
	char dead[PATH_MAX], elsewhere[PATH_MAX], path[PATH_MAX], sub[PATH_MAX + 128], name[64];
	pid_t task, other, mine = task_start(top, work_wait);
	uint64_t deadline = clock_mono_ns() + TIMEOUT_NS;
	struct stepgroup *g = NULL;
	int n = 0;

	own_name(name, sizeof(name));
	is_int(stepgroup_create(&mine, 1, &g, path, sizeof(path), NULL), 0, "one of the living");
	kill_maker(top, &task, dead, sizeof(dead));
	is_int(reap_in_top(), 0, "none is reaped while tasks live");
	ok(exists(dead), "it is there");
	(void)snprintf(sub, sizeof(sub), "%s/container", dead);
	ok(mkdir(sub, 0755) == 0, "the job made a folder in it");
	task_end(task);
	while ((n = reap_in_top()) == 0 && clock_mono_ns() < deadline)
		(void)usleep(1000);
	is_int(n, 1, "it is reaped when they are gone");
	ok(!exists(dead) && exists(in_top(name)), "that of the living stays");

	(void)snprintf(elsewhere, sizeof(elsewhere), "%s", in_top("other.service"));
	ok(mkdir(elsewhere, 0755) == 0, "another service's folder");
	kill_maker(elsewhere, &other, dead, sizeof(dead));
	task_end(other);
	is_int(reap_in_top(), 0, "not looked for from here");
	deadline = clock_mono_ns() + TIMEOUT_NS;
	while (exists(dead) && clock_mono_ns() < deadline)
		(void)in_child(enter_and_reap, dead);
	ok(!exists(dead), "but everywhere");
	ok(remove_soon(elsewhere) && exists(in_top(name)), "the rest stays");
	task_end(mine);
	stepgroup_destroy(g);
}

/* A folder of that name that is not empty is a dead process's, which had our pid. */
static void test_pid_again(void)
{
	pid_t old = task_start(top, work_wait), task = task_start(top, work_wait);
	struct stepgroup *g = NULL;
	char path[PATH_MAX], folder[PATH_MAX + 64], name[64];

	own_name(name, sizeof(name));
	(void)snprintf(folder, sizeof(folder), "%s", in_top(name));
	ok(mkdir(folder, 0755) == 0 && join(folder, old), "another step's, with our pid");
	is_int(stepgroup_create(&task, 1, &g, path, sizeof(path), NULL), -EBUSY,
	       "its processes are not taken for ours");
	is_int(threads_in(task, top_path), 1, "the task stays where it was");
	task_end(old);
	ok(remove_soon(folder) && mkdir(folder, 0755) == 0, "an empty one");
	is_int(stepgroup_create(&task, 1, &g, path, sizeof(path), NULL), 0, "is made anew");
	task_end(task);
	stepgroup_destroy(g);
}

/* Where threads may be spread there is no place for processes. */
static void test_threaded(void)
{
	struct stepgroup *g = NULL;
	char path[PATH_MAX], folder[PATH_MAX], name[64];
	struct errmsg err = { 0 };
	pid_t task;

	(void)snprintf(folder, sizeof(folder), "%s", in_top("threaded"));
	if (mkdir(folder, 0755) < 0 || mkdir(in_top("threaded/t"), 0755) < 0 ||
	    !put(in_top("threaded/t/cgroup.type"), "threaded")) {
		skip(3, "no threaded cgroups");
	} else {
		task = task_start(folder, work_wait);
		is_int(stepgroup_create(&task, 1, &g, path, sizeof(path), &err), -EOPNOTSUPP,
		       "below a threaded domain");
		diag("%s", err.text);
		own_name(name, sizeof(name));
		(void)snprintf(path, sizeof(path), "threaded/%s", name);
		ok(!exists(in_top(path)), "nothing is left behind");
		ok(kill(task, 0) == 0, "the task lives");
		task_end(task);
	}
	(void)remove_soon(in_top("threaded/t"));
	(void)remove_soon(folder);
}

/* First word of the file, "" when it is empty. */
static void first_word(const char *path, char *word, size_t size)
{
	FILE *f = fopen(path, "re");

	word[0] = '\0';
	if (f && fgets(word, (int)size, f))
		word[strcspn(word, " \n")] = '\0';
	if (f)
		(void)fclose(f);
}

/*
 * When the tasks are in our folder theirs is empty, and whoever it was delegated to may turn a
 * controller on in it: then nothing can go back there.
 */
static void test_controllers(void)
{
	char controller[64], on[80], path[PATH_MAX], folder[PATH_MAX + 128];
	struct stepgroup *g = NULL;
	pid_t task;

	first_word(in_top("cgroup.controllers"), controller, sizeof(controller));
	if (!controller[0]) {
		skip(6, "no controller on v2");
		return;
	}
	task = task_start(top, work_wait);
	is_int(stepgroup_create(&task, 1, &g, path, sizeof(path), NULL), 0, "create");
	(void)snprintf(folder, sizeof(folder), "%s/%s/cgroup.controllers", top, strrchr(path, '/') + 1);
	first_word(folder, on, sizeof(on));
	is_str(on, "", "it has no controllers");
	(void)snprintf(on, sizeof(on), "+%s", controller);
	ok(put(in_top("cgroup.subtree_control"), on), "somebody turns %s on", controller);
	stepgroup_destroy(g);
	is_int(threads_in(task, path), 1, "the task stays, as it cannot move up");
	on[0] = '-';
	ok(put(in_top("cgroup.subtree_control"), on), "off again");
	task_end(task);
	(void)snprintf(folder, sizeof(folder), "%s/%s", top, strrchr(path, '/') + 1);
	ok(remove_soon(folder), "its folder can be removed then");
}

static bool sees_v2(void)
{
	char line[PATH_MAX];
	FILE *f = fopen("/proc/self/mountinfo", "re");
	bool found = false;

	while (f && fgets(line, sizeof(line), f))
		found |= strstr(line, " - cgroup2 ") != NULL;
	if (f)
		(void)fclose(f);
	return found;
}

/* TASK gets a group and loses it again; 0, or which step failed. */
static int make_and_remove(pid_t task)
{
	struct stepgroup *g = NULL;
	char path[PATH_MAX], procs[64];
	struct errmsg err = { 0 };
	int fd;

	if (stepgroup_create(&task, 1, &g, path, sizeof(path), &err) < 0) {
		diag("%s", err.text);
		return 1;
	}
	if (threads_in(task, path) != 1)
		return 2;
	fd = openat(stepgroup_fd(g), "cgroup.procs", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, procs, sizeof(procs)) <= 0)
		return 3;
	(void)close(fd);
	stepgroup_destroy(g);
	return threads_in(task, path) == -1 ? 0 : 4;
}

static int unmounted(void *arg)
{
	static const char *const points[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
	char folder[PATH_MAX];
	size_t i;

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return 100;
	for (i = 0; i < 2; i++)
		(void)umount2(points[i], MNT_DETACH);
	if (sees_v2() || cgmount_find(NULL, "/", folder, sizeof(folder)) == 0)
		return 101;
	i = (size_t)make_and_remove(*(pid_t *)arg);
	return i == 0 && sees_v2() ? 102 : (int)i;
}

static int read_only(void *arg)
{
	char root[PATH_MAX];

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    cgmount_find(NULL, "/", root, sizeof(root)) < 0 ||
	    mount(NULL, root, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) < 0)
		return 100;
	return make_and_remove(*(pid_t *)arg);
}

/* In a container: its root is TOP, and no other cgroup is within its reach. */
static int contained(void *arg)
{
	pid_t *task = arg, inside;
	struct stepgroup *g;
	char path[PATH_MAX];
	int rc;

	if (!join(top, getpid()) || unshare(CLONE_NEWCGROUP) < 0)
		return 100;
	if (stepgroup_create(task, 1, &g, path, sizeof(path), NULL) != -EOPNOTSUPP)
		return 101;
	inside = task_start(top, work_wait);
	if (threads_in(inside, "/") != 1)
		return 102;
	rc = make_and_remove(inside);
	task_end(inside);
	return rc;
}

static void test_mounts(void)
{
	pid_t task = task_start(top, work_wait), above = fork();
	char name[64];

	if (above == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)pause();
		_exit(0);
	}
	is_int(in_child(unmounted, &task), 0, "v2 mounted nowhere: our own, and gone again");
	is_int(in_child(read_only, &task), 0, "v2 mounted read-only");
	is_int(in_child(contained, &above), 0, "the root of a container");
	task_end(task);
	task_end(above);
	own_name(name, sizeof(name));
	ok(!exists(in_top(name)), "nothing is left behind");
}

/* A cluster that runs in a job has its steps in the job's step; Slurm's own v2 ones stay. */
static void test_nested(void)
{
	pid_t task;
	struct stepgroup *g = NULL;
	char path[PATH_MAX];

	ok(mkdir(in_top("step_ceems_1"), 0755) == 0 && mkdir(in_top("step_0"), 0755) == 0,
	   "cgroups of an outer job's steps");
	task = task_start(in_top("step_ceems_1"), work_wait);
	is_int(make_and_remove(task), 0, "in a cgroup that ceems made: another is made");
	task_end(task);
	task = task_start(in_top("step_0"), work_wait);
	is_int(stepgroup_create(&task, 1, &g, path, sizeof(path), NULL), -EEXIST,
	       "in a v2 step of Slurm's own: none is made");
	task_end(task);
	ok(remove_soon(in_top("step_ceems_1")) && remove_soon(in_top("step_0")), "gone");
}

/* As many as a node starts at once, each from its own stepd. */
static int one_of_many(void *arg)
{
	pid_t task = task_start(arg, work_wait);
	int rc = make_and_remove(task);

	task_end(task);
	return rc;
}

static void test_many(void)
{
	unsigned int good = 0, i;
	int status;

	for (i = 0; i < 100; i++)
		if (fork() == 0)
			_exit(one_of_many(top));
	while (waitpid(-1, &status, 0) > 0)
		good += WIFEXITED(status) && !WEXITSTATUS(status);
	is_u64(good, 100, "100 steps at once");
}

static bool make_top(void)
{
	char root[PATH_MAX / 2], own[PATH_MAX / 2] = "", line[PATH_MAX];
	FILE *f = fopen("/proc/self/cgroup", "re");

	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, "0::", 3))
			(void)snprintf(own, sizeof(own), "%.2000s", line + 3);
	}
	if (f)
		(void)fclose(f);
	if (!own[0] || cgmount_find(NULL, own, root, sizeof(root)) < 0)
		return false;
	(void)snprintf(top, sizeof(top), "%.2000s/ceems-test-%d", root, (int)getpid());
	(void)snprintf(top_path, sizeof(top_path), "%s/ceems-test-%d", own[1] ? own : "", (int)getpid());
	return mkdir(top, 0755) == 0;
}

int main(void)
{
	if (geteuid() != 0)
		return skip_all("not root");
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return skip_all("no private mount namespace");
	if (!make_top())
		return skip_all("no v2 cgroup that can be written");
	test_refused();
	test_tasks_move();
	test_forking();
	test_pid_again();
	test_reap();
	test_threaded();
	test_controllers();
	test_mounts();
	test_nested();
	test_many();
	ok(remove_soon(top), "nothing is left in the test's folder");
	return done_testing();
}
