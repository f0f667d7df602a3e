/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPU time of cgroups and of the node. On the cgroups of the machine that runs the test, a child
 * burns a known CPU time in a cgroup of its own.
 */
#define _GNU_SOURCE /* unshare */
#include "src/libmeter/activity/cputime.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mntent.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cgfolders.h"
#include "src/libmeter/activity/cgmount.h"
#include "src/libutil/clock.h"
#include "src/libutil/fileio.h"
#include "src/libutil/util.h"
#include "paths_of.h"
#include "tap.h"

#define V1 "cgroup cgroup rw,"

static void test_user(void)
{
	static const struct {
		const char *text;
		int rc;
		uint64_t ns;
	} t[] = {
		{ "", -EINVAL, 0 },
		{ "usage_usec 5\n", -EINVAL, 0 },
		{ "usage_usec 5\nuser_usec x\n", -EINVAL, 0 },
		{ "usage_usec 5\nnice_user_usec 9\nuser_usec 3\nsystem_usec 2\n", 0, 3000 },
		{ "user_usec 18446744073709551615\n", -ERANGE, 0 },
	};
	uint64_t ns;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		ns = 0;
		ok(cputime_parse_user(t[i].text, &ns) == t[i].rc, "user time of '%.12s'", t[i].text);
		is_u64(ns, t[i].ns, "  its value");
	}
}

static void test_match(void)
{
	static const struct {
		const char *name, *line, *controller, *path, *want;
	} t[] = {
		{ "empty line", "", NULL, "/a", NULL },
		{ "cut line", "31 23 0:28 / /mnt rw", NULL, "/a", NULL },
		{ "no separator", "31 23 0:28 / /mnt rw shared:1 x y z", NULL, "/a", NULL },
		{ "other file system", "31 23 0:28 / /mnt rw - tmpfs tmpfs rw", NULL, "/a", NULL },
		{ "v1 where v2 is asked", "31 23 0:28 / /mnt rw - " V1 "cpuacct", NULL, "/a", NULL },
		{ "v2 where v1 is asked", "31 23 0:28 / /mnt rw - cgroup2 cgroup2 rw", "cpuacct", "/a",
		  NULL },
		{ "other controller", "31 23 0:28 / /mnt rw - " V1 "cpu", "cpuacct", "/a", NULL },
		{ "named hierarchy", "31 23 0:28 / /mnt rw - " V1 "name=cpuacct", "cpuacct", "/a", NULL },
		{ "other part of it", "31 23 0:28 /b /mnt rw - " V1 "cpuacct", "cpuacct", "/a/c", NULL },
		{ "root that is only a prefix", "31 23 0:28 /a /mnt rw - " V1 "cpuacct", "cpuacct", "/abc",
		  NULL },
		{ "above the namespace", "31 23 0:28 / /mnt rw - " V1 "cpuacct", "cpuacct", "/../x", NULL },
		{ "mount of above", "31 23 0:28 /.. /mnt rw - " V1 "cpuacct", "cpuacct", "/../x", NULL },
		{ "relative path", "31 23 0:28 / /mnt rw - " V1 "cpuacct", "cpuacct", "x", NULL },
		{ "v2", "41 31 0:38 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,x", NULL, "/a/b",
		  "/sys/fs/cgroup/a/b" },
		{ "v1", "33 31 0:30 / /m/cpuacct rw - " V1 "cpuacct", "cpuacct", "/a", "/m/cpuacct/a" },
		{ "mounted together", "33 31 0:30 / /m/x rw - " V1 "cpu,cpuacct\n", "cpuacct", "/a",
		  "/m/x/a" },
		{ "first of two", "33 31 0:30 / /m/x rw - " V1 "cpuacct,cpu", "cpuacct", "/a", "/m/x/a" },
		{ "many optional fields", "33 31 0:30 / /m rw shared:1 master:2 - " V1 "freezer", "freezer",
		  "/a", "/m/a" },
		{ "a container's part", "33 31 0:30 /docker/1 /m rw - " V1 "cpuacct", "cpuacct",
		  "/docker/1/slurm", "/m/slurm" },
		{ "its root itself", "33 31 0:30 /docker/1 /m rw - " V1 "cpuacct", "cpuacct", "/docker/1",
		  "/m" },
		{ "a blank in the folder", "33 31 0:30 / /m\\040m rw - " V1 "cpuacct", "cpuacct", "/a",
		  "/m m/a" },
		{ "dots in a name", "33 31 0:30 / /m rw - " V1 "cpuacct", "cpuacct", "/..a/b..",
		  "/m/..a/b.." },
	};
	char buf[64];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		bool match = cgmount_match(t[i].line, t[i].controller, t[i].path, buf, sizeof(buf));

		ok(match == !!t[i].want && (!match || !strcmp(buf, t[i].want)), "mount: %s", t[i].name);
	}
	ok(!cgmount_match("33 31 0:30 / /m rw - " V1 "cpuacct", "cpuacct", "/abc", buf, 6), "mount: no room");
	is_int(cgmount_find("no-such-controller", "/", buf, sizeof(buf)), -ENOENT,
	       "mount: controller that no kernel has");
}

static const char *v2_point(char *buf, size_t size)
{
	return cgmount_find(NULL, "/", buf, size) == 0 ? buf : NULL;
}

/* Writes the root of CONTROLLER's hierarchy to BUF; "" if this machine has none. */
static void find_mount(const char *controller, char buf[PATH_MAX])
{
	if (cgmount_find(controller, "/", buf, PATH_MAX) < 0)
		buf[0] = '\0';
}

/* Another process's mount points are only where to look first. */
static void test_expected_mounts(void)
{
	struct cgmount_points points, wrong = { .v2 = "/nowhere", .freezer = "/proc" };
	char v2[PATH_MAX], freezer[PATH_MAX], memory[PATH_MAX], buf[PATH_MAX];

	cgmount_points(&points);
	find_mount("memory", memory);
	ok(strlen(memory) == (*memory ? strlen(points.memory) + 1 : 0) &&
		   !strncmp(memory, points.memory, strlen(points.memory)),
	   "memory, of which a step's end reads the peak: '%s'", points.memory);
	find_mount(NULL, v2);
	find_mount("freezer", freezer);
	ok(strlen(v2) == (*v2 ? strlen(points.v2) + 1 : 0) && !strncmp(v2, points.v2, strlen(points.v2)) &&
		   strlen(freezer) == (*freezer ? strlen(points.freezer) + 1 : 0),
	   "mount points without the path: '%s', '%s'", points.v2, points.freezer);
	cgmount_expect(&wrong);
	find_mount(NULL, buf);
	is_str(buf, v2, "wrong expectation, v2: the real mount is found");
	find_mount("freezer", buf);
	is_str(buf, freezer, "wrong expectation, freezer: the real mount is found");
	cgmount_expect(&points);
	find_mount(NULL, buf);
	is_str(buf, v2, "right expectation: found");
	is_int(cgmount_find(NULL, "/../x", buf, sizeof(buf)), -ENOENT, "but no path above the mount");
	memset(&points, 0, sizeof(points));
	cgmount_expect(&points);
}

/* Mounts that come and go, and another namespace's, are seen though the table is remembered. */
static int changing_mounts(void)
{
	char before[PATH_MAX], at[PATH_MAX];

	if (!v2_point(before, sizeof(before)))
		return 1;
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return 100;
	if (!v2_point(at, sizeof(at)) || strcmp(at, before) != 0)
		return 1;
	if (mount("none", before, "tmpfs", 0, NULL) < 0)
		return 100;
	if (v2_point(at, sizeof(at)) && !strcmp(at, before))
		return 2;
	if (umount2(before, MNT_DETACH) < 0 || !v2_point(at, sizeof(at)))
		return 3;
	while (v2_point(at, sizeof(at)))
		if (umount2(at, MNT_DETACH) < 0)
			return 4;
	return 0;
}

/* All but "/" and "/proc", the last first. */
static bool detach_mounts(void)
{
	bool is_done = false;

	while (!is_done) {
		FILE *f = setmntent("/proc/self/mounts", "re");
		char last[PATH_MAX] = "";
		struct mntent *m;

		while (f && (m = getmntent(f)))
			if (strcmp(m->mnt_dir, "/") != 0 && strcmp(m->mnt_dir, "/proc") != 0)
				(void)snprintf(last, sizeof(last), "%s", m->mnt_dir);
		if (f)
			(void)endmntent(f);
		is_done = !last[0];
		if (!f || (!is_done && umount2(last, MNT_DETACH) < 0))
			return false;
	}
	return true;
}

/* A table that stdio reads at once, as in a container, and what changes in there more than once. */
static int changing_short_table(void)
{
	static const char *const points[] = { "/sys/a/", "/sys/b/", "/sys/c/", "/sys/d/" };
	char at[PATH_MAX], table[1024];
	size_t i;
	int fd;

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    !detach_mounts() || mount("none", "/sys", "tmpfs", 0, NULL) < 0)
		return 100;
	for (i = 0; i < ARRAY_SIZE(points); i++)
		if (mkdir(points[i], 0700) < 0)
			return 100;
	if (mount("none", points[0], "cgroup2", 0, NULL) < 0)
		return 100;
	fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, table, sizeof(table)) <= 0 || read(fd, table, 1) != 0)
		return 100;
	(void)close(fd);
	for (i = 0; i < ARRAY_SIZE(points); i++) {
		if (i && mount(points[i - 1], points[i], NULL, MS_MOVE, NULL) < 0)
			return 100;
		if (!v2_point(at, sizeof(at)) || strcmp(at, points[i]) != 0)
			return (int)i + 1;
	}
	return 0;
}

static void in_child(int (*change)(void), const char *what)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid)
		_exit(change());
	(void)waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 100)
		skip(1, "may not mount here");
	else
		is_int(status, 0, what);
}

static void test_changing_mounts(void)
{
	char at[PATH_MAX], again[PATH_MAX];

	if (geteuid() != 0 || !v2_point(at, sizeof(at))) {
		skip(3, "needs root and cgroup v2");
		return;
	}
	in_child(changing_mounts, "mounts that come and go");
	in_child(changing_short_table, "in a table of less than 1 KiB, too");
	ok(v2_point(again, sizeof(again)) && !strcmp(at, again), "the mount of this process is as before");
}

static void test_step_paths(void)
{
	static const struct {
		const char *name, *text, *v2, *cpuacct, *freezer;
	} t[] = {
		{ "nothing", "", "", "", "" },
		{ "garbage", "\n:\nabc\n::\n1:\n0:\n:::\n", "", "", "" },
		{ "not in a step", "4:freezer:/slurm/uid_0/job_7\n0::/user.slice\n", "", "", "" },
		{ "slurmstepd is no step", "0::/system.slice/slurmstepd.scope/job_7\n", "", "", "" },
		{ "hybrid: v2 is the root", "6:freezer:/slurm_n1/uid_0/job_7/step_0\n2:cpuacct:/\n0::/\n", "",
		  "", "/slurm_n1/uid_0/job_7/step_0" },
		{ "v1, together",
		  "4:cpu,cpuacct:/slurm/uid_5/job_7/step_batch/task_0\n"
		  "3:freezer:/slurm/uid_5/job_7/step_batch\n",
		  "", "/slurm/uid_5/job_7/step_batch", "/slurm/uid_5/job_7/step_batch" },
		{ "v2, 24.11", "0::/system.slice/n1_slurmstepd.scope/job_1/step_0/user/task_0\n",
		  "/system.slice/n1_slurmstepd.scope/job_1/step_0", "", "" },
		{ "v2, 26.05", "0::/system.slice/slurmstepd.scope/s3ABCDEFGHJKMN/step_extern/user\n",
		  "/system.slice/slurmstepd.scope/s3ABCDEFGHJKMN/step_extern", "", "" },
		{ "the last of two", "0::/step_1/x/step_2/y\n", "/step_1/x/step_2", "", "" },
		{ "only the start of a name counts", "0::/my_step_1/task_step_2\n", "", "", "" },
		{ "a colon in the path", "0::/a:b/step_0/c:d\n", "/a:b/step_0", "", "" },
		{ "gone", "0::/job_1/step_0 (deleted)\n", "", "", "" },
		{ "no newline", "0::/job_1/step_0", "/job_1/step_0", "", "" },
	};
	struct cgroup_paths p;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		char text[256];
		FILE *f;
		int rc;

		snprintf(text, sizeof(text), "%s\n", t[i].text);
		f = fmemopen(text, strlen(t[i].text) ? strlen(t[i].text) : 1, "r");
		rc = f ? cgmount_step_paths(f, &p) : -errno;
		if (!ok(rc == 0 && !strcmp(p.v2, t[i].v2) && !strcmp(p.cpuacct, t[i].cpuacct) &&
				!strcmp(p.freezer, t[i].freezer),
			"step: %s", t[i].name))
			diag("%d '%s' '%s' '%s'", rc, p.v2, p.cpuacct, p.freezer);
		if (f)
			fclose(f);
	}
	{
		char text[CGROUP_PATH_MAX + 64];
		FILE *f;

		/* the shortest path that does not fit */
		snprintf(text, sizeof(text), "3:freezer:/x/step_1\n0::/%0*d/step_0\n",
			 CGROUP_PATH_MAX - (int)strlen("//step_0"), 0);
		f = fmemopen(text, strlen(text), "r");
		strcpy(p.freezer, "kept");
		is_int(cgmount_step_paths(f, &p), -ENAMETOOLONG, "step: no room");
		is_str(p.freezer, "kept", "nothing written then");
		fclose(f);
	}
	is_int(cputime_find_cgroups(INT_MAX, &p), -ENOENT, "step: no such process");
}

/* --- the node
 * ---------------------------------------------------------------------------- */

static int node_of(const char *text, uint64_t *busy_ns, uint32_t *cpus)
{
	char path[] = "/tmp/test_cputime.XXXXXX";
	int fd = mkstemp(path);
	int rc;

	if (fd < 0 || fileio_write_full(fd, text, strlen(text)) < 0)
		exit(99);
	unlink(path);
	rc = cputime_node(fd, busy_ns, cpus);
	close(fd);
	return rc;
}

static void test_node(void)
{
	static const char *const bad[] = {
		"",
		"\n",
		"intr 5\n",
		"cpu  1 2 3\n",
		"cpu  1 2 3 4 5 6 x 8 9 10\ncpu0 1 2 3 4 5 6 7\nintr\n",
		"cpu  1 2 3 4 5 6 7 8 9 10\nintr 1\n", /* no CPU */
		"cpu0 1 2 3 4 5 6 7 8 9 10\nintr 1\n", /* no sum */
		"cpu  99999999999999999999 2 3 4 5 6 7\ncpu0 1\n",
	};
	uint64_t tick_ns = NSEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t busy_ns = 5;
	uint64_t later_ns;
	uint32_t cpus = 6;
	char *text;
	size_t used;
	size_t i;
	int fd;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		is_int(node_of(bad[i], &busy_ns, &cpus), -(i == 7 ? ERANGE : EINVAL),
		       "node: refuses what is not a /proc/stat");
	ok(busy_ns == 5 && cpus == 6, "nothing written then");
	is_int(cputime_node(-1, &busy_ns, &cpus), -EBADF, "node: no file");
	is_int(node_of("cpu  1000 200 30 999999 888888 4 5 777777 666666 555555\n"
		       "cpu0 1 1 1 1 1 1 1 1 1 1\ncpu3 1\nintr 1 2 3\n",
		       &busy_ns, &cpus),
	       0, "node");
	is_u64(busy_ns, 1239 * tick_ns, "without idle, iowait, steal and guests");
	is_u64(cpus, 2, "CPUs that are online");
	is_int(node_of("cpu  1 0 0 9 0 0 0\ncpu0 1 0 0 9 0 0 0", &busy_ns, &cpus), -EINVAL,
	       "node: the last line is cut");

	text = malloc(1 << 20); /* more CPUs than any buffer holds, and a long line behind */
	if (!text)
		exit(99);
	used = (size_t)sprintf(text, "cpu  7 0 0 0 0 0 0 0 0 0\n");
	for (i = 0; i < 4096; i++)
		used += (size_t)sprintf(text + used, "cpu%zu 123456 1 2 3 4 5 6 7 8 9\n", i);
	used += (size_t)sprintf(text + used, "intr");
	memset(text + used, '9', 65536);
	strcpy(text + used + 65536, "\n");
	is_int(node_of(text, &busy_ns, &cpus), 0, "node: 4096 CPUs");
	is_u64(cpus, 4096, "all counted");
	is_u64(busy_ns, 7 * tick_ns, "the sum is the first line's");
	memset(text, 'c', 65536);
	memcpy(text, "cpu", 3);
	is_int(node_of(text, &busy_ns, &cpus), -EINVAL, "node: an endless line");
	free(text);

	fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
	is_int(cputime_node(fd, &busy_ns, &cpus), 0, "this node");
	is_u64(cpus, (uint64_t)sysconf(_SC_NPROCESSORS_ONLN), "its CPUs");
	is_int(cputime_node(fd, &later_ns, &cpus), 0, "again, the same file");
	ok(later_ns >= busy_ns && busy_ns > 0, "time goes on");
	close(fd);
}

/* --- steps
 * ------------------------------------------------------------------------------- */

static void burn(uint64_t ns)
{
	uint64_t until = clock_ns(CLOCK_PROCESS_CPUTIME_ID) + ns;

	while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) < until)
		;
}

/* A process that goes into the task folders, burns, has a child that burns, and waits. */
struct burner {
	pid_t pid;
	int done_fd; /* a byte when it has burnt */
};

static struct burner burner_start(const struct folders *f, uint64_t own_ns, uint64_t child_ns)
{
	struct burner b = { 0 };
	int done[2];
	char byte = 0;

	fflush(stdout);
	if (pipe(done) < 0)
		exit(99);
	b.pid = fork();
	if (b.pid < 0)
		exit(99);
	if (!b.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(done[0]);
		if (folders_enter(f) < 0)
			_exit(98);
		burn(own_ns);
		if (child_ns) {
			pid_t child = fork();

			if (!child) {
				burn(child_ns);
				_exit(0);
			}
			if (waitpid(child, NULL, 0) != child)
				_exit(97);
		}
		if (write(done[1], &byte, 1) != 1)
			_exit(96);
		for (;;)
			pause();
	}
	close(done[1]);
	b.done_fd = done[0];
	if (read(b.done_fd, &byte, 1) != 1)
		diag("the burner failed");
	return b;
}

static void burner_end(struct burner *b)
{
	close(b->done_fd);
	kill(b->pid, SIGKILL);
	if (waitpid(b->pid, NULL, 0) != b->pid)
		diag("lost the burner");
}

#define MS NSEC_PER_MSEC

/* Four fields of /proc/PID/stat are each cut to 10 ms; above, what start and end cost. */
static void is_about(uint64_t got, uint64_t want, const char *name)
{
	if (!ok(got + 45 * MS >= want && got <= want + want / 2 + 100 * MS, "%s: about %" PRIu64 " ms", name,
		want / MS))
		diag("got %" PRIu64 " us", got / 1000);
}

static void test_step(int hier)
{
	struct folders f;
	struct burner b;
	struct cputime *c = NULL;
	struct errmsg err = { 0 };
	struct cgroup_paths paths, use = { 0 };
	char *const path[] = { paths.v2, paths.cpuacct, paths.freezer };
	char *const to[] = { use.v2, use.cpuacct, use.freezer };
	uint64_t first = 0;
	uint64_t second = 0;
	uint64_t third = 0;
	int rc;

	folders_make(&f);
	if (!f.top[hier][0]) {
		char why[64];

		snprintf(why, sizeof(why), "no %s folder can be made here", hier_names[hier]);
		skip(11, why);
		folders_remove(&f);
		return;
	}
	b = burner_start(&f, 150 * MS, 100 * MS);
	is_int(cputime_find_cgroups(b.pid, &paths), 0, hier_names[hier]);
	rc = (int)strlen(path[hier]) - (int)strlen("/step_0");
	ok(rc > 0 && !strcmp(path[hier] + rc, "/step_0"), "%s: its step is %s", hier_names[hier], path[hier]);
	strcpy(to[hier], path[hier]);
	is_int(cputime_open(&use, &c, &err), 0, "open");
	if (!c) {
		diag("%s", err.text);
		burner_end(&b);
		folders_remove(&f);
		return;
	}
	is_int(cputime_read(c, &first), 0, "read");
	is_about(first, 250 * MS, "a task below the step, and its child");
	burner_end(&b);
	is_int(cputime_read(c, &second), 0, "read when the task is gone");
	ok(second >= first, "never less");
	b = burner_start(&f, 120 * MS, 0);
	is_int(cputime_read(c, &third), 0, "read with another task");
	is_about(third - first, 120 * MS, "the time of the other task is added");
	burner_end(&b);
	folders_remove(&f);
	third = 1;
	rc = cputime_read(c, &third);
	ok(rc < 0, "when the folder is gone: %s", strerror(-rc));
	is_u64(third, 1, "nothing written then");
	cputime_close(c);
}

/* Two readings of processes that nobody in the step waits for: nothing is forgotten. */
static void test_many_processes(void)
{
	struct folders f;
	struct burner b[40];
	struct cputime *c = NULL;
	struct cgroup_paths paths;
	uint64_t ns = 0;
	uint64_t after = 0;
	size_t i;

	folders_make(&f);
	if (!f.top[HIER_FREEZER][0]) {
		skip(4, "no v1 freezer folder can be made here");
		folders_remove(&f);
		return;
	}
	for (i = 0; i < ARRAY_SIZE(b); i++)
		b[i] = burner_start(&f, 20 * MS, 0);
	require(cputime_find_cgroups(b[0].pid, &paths) == 0);
	is_int(cputime_open(paths_of("", "", paths.freezer), &c, NULL), 0, "40 processes");
	is_int(c ? cputime_read(c, &ns) : -1, 0, "read");
	for (i = 0; i < ARRAY_SIZE(b); i += 2)
		burner_end(&b[i]);
	is_int(c ? cputime_read(c, &after) : -1, 0, "read with 20 left");
	is_u64(after, ns, "the time of those that ended is kept");
	for (i = 1; i < ARRAY_SIZE(b); i += 2)
		burner_end(&b[i]);
	cputime_close(c);
	folders_remove(&f);
}

/* Without a cgroup: what is below a process, which here is this one. */
static void test_tree(void)
{
	static const struct folders nowhere;
	struct burner other = burner_start(&nowhere, 60 * MS, 0); /* was there before */
	struct cputime *c = NULL;
	struct errmsg err = { 0 };
	uint64_t first = 0;
	uint64_t second = 0;
	uint64_t third = 0;
	struct burner b;
	int rc;

	rc = cputime_open_tree(getpid(), &c, &err);
	if (rc == -EOPNOTSUPP) {
		skip(8, "this kernel does not list a process's children");
		burner_end(&other);
		return;
	}
	is_int(rc, 0, "open the processes below this one");
	b = burner_start(&nowhere, 150 * MS, 100 * MS);
	is_int(cputime_read(c, &first), 0, "read");
	is_about(first, 310 * MS, "children, and theirs");
	burner_end(&b);
	is_int(cputime_read(c, &second), 0, "read when one is gone");
	is_u64(second, first, "what it used is kept");
	burn(100 * MS);
	is_int(cputime_read(c, &third), 0, "read");
	ok(third < second + 50 * MS, "the process itself does not count");
	burner_end(&other);
	cputime_close(c);
	is_int(cputime_open_tree(other.pid, &c, &err), -ESRCH, "of a process that is gone");
}

static void test_open_fails(void)
{
	static const struct {
		const char *name, *v2, *cpuacct, *freezer;
	} t[] = {
		{ "nothing", "", "", "" },
		{ "the root is no step", "/", "/", "/" },
		{ "gone", "/no/such/step_0", "/no/such/step_0", "/no/such/step_0" },
		{ "upwards", "/../step_0", "/a/../step_0", "/.." },
		{ "relative", "step_0", "step_0", "." },
	};
	struct errmsg err;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct cputime *c = NULL;

		is_int(cputime_open(paths_of(t[i].v2, t[i].cpuacct, t[i].freezer), &c, &err), -ENOENT,
		       t[i].name);
		ok(!c && !strncmp(err.text, "no cgroup to read CPU time from", 31), "said so");
	}
	cputime_close(NULL);
}

int main(void)
{
	int i;

	alarm(120); /* a lost child ends the test, not the test run */
	test_match();
	test_user();
	test_expected_mounts();
	test_changing_mounts();
	test_step_paths();
	test_node();
	test_open_fails();
	for (i = HIER_V2; i <= HIER_FREEZER; i++)
		test_step(i);
	test_many_processes();
	test_tree();
	return done_testing();
}
