/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What memory is a step's: texts of the three kinds of cgroup files, then a child with anonymous,
 * shared and cached memory of known size in folders of the machine that runs the test.
 */
#include "src/libmeter/activity/memuse.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "cgfolders.h"
#include "paths_of.h"
#include "scratch.h"
#include "src/libmeter/activity/cputime.h"
#include "src/libutil/fileio.h"
#include "src/libutil/util.h"
#include "tap.h"

#define MB (UINT64_C(1) << 20)

static void test_parse(void)
{
	static const struct {
		const char *name, *text;
		bool is_v2;
		int rc;
		uint64_t bytes;
	} t[] = {
		{ "empty", "", true, -EINVAL, 0 },
		{ "another file", "usage_usec 5\n", true, -EINVAL, 0 },
		{ "a cut line", "anon", true, -EINVAL, 0 },
		{ "no number", "anon \nshmem 5\n", true, -EINVAL, 0 },
		{ "negative", "anon -5\n", true, -EINVAL, 0 },
		{ "too large", "anon 99999999999999999999\n", true, -ERANGE, 0 },
		{ "too large a sum", "anon 18446744073709551615\nshmem 1\n", true, -ERANGE, 0 },
		{ "bad shmem", "anon 1\nshmem x\n", true, -EINVAL, 0 },
		{ "v1 where v2 is asked", "cache 7\nrss 5\ntotal_rss 9\n", true, -EINVAL, 0 },
		{ "v2 where v1 is asked", "anon 7\nshmem 5\n", false, -EINVAL, 0 },
		{ "v2", "anon 1000\nfile 70000\nkernel 9\nshmem 50\nanon_thp 3\n", true, 0, 1050 },
		{ "v2: only the start of a line", "inactive_anon 5\nanon 7\nnoshmem 5\n", true, 0, 7 },
		{ "v1: with the groups below",
		  "cache 9\nrss 1\nshmem 2\ntotal_cache 999\ntotal_rss 40\ntotal_rss_huge 8\n"
		  "total_shmem 5\n",
		  false, 0, 45 },
		{ "v1 before 4.13", "rss 1\ntotal_rss 40\n", false, 0, 40 },
		{ "no newline", "anon 3", true, 0, 3 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		uint64_t bytes = 77;

		is_int(memuse_parse(t[i].text, t[i].is_v2, &bytes), t[i].rc, t[i].name);
		is_u64(bytes, t[i].rc ? 77 : t[i].bytes, "its bytes, or nothing written");
	}
}

static int node_of(const char *dir, const char *text, uint64_t *ret)
{
	const char *path = scratch_path(dir, "meminfo");
	int fd, rc;

	scratch_write(path, text, strlen(text));
	fd = fileio_open_at_root("", path);
	rc = memuse_node(fd, ret);
	close(fd);
	return rc;
}

static void test_node(void)
{
	char dir[] = SCRATCH_TEMPLATE;
	uint64_t bytes = 77;
	int fd;

	if (!mkdtemp(dir))
		exit(99);
	is_int(memuse_node(-1, &bytes), -EBADF, "node: no file");
	is_int(node_of(dir, "MemTotal: 5 kB\n", &bytes), -EINVAL, "node: nothing of ours");
	is_int(node_of(dir, "AnonPages: 18446744073709551615 kB\n", &bytes), -ERANGE, "node: absurd");
	is_u64(bytes, 77, "nothing written then");
	is_int(node_of(dir,
		       "MemTotal:    9000 kB\nCached:  7000 kB\nAnonPages:    1000 kB\n"
		       "Shmem:          24 kB\nShmemHugePages: 5 kB\n",
		       &bytes),
	       0, "node");
	is_u64(bytes, MB, "anonymous and shared, in bytes");
	fd = fileio_open_at_root("/", "/proc/meminfo");
	is_int(memuse_node(fd, &bytes), 0, "this node's memory is read");
	ok(bytes > 0, "and is not 0");
	close(fd);
	scratch_clear(dir);
	rmdir(dir);
}

/* --- steps ------------------------------------------------------------------------------ */

#define ANON (24 * MB)
#define SHARED (16 * MB)

/* Two processes of a step that share a segment; the file they read is nobody's. */
static void be_step(const struct folders *f, int done_fd)
{
	const int flags = MAP_ANONYMOUS | MAP_POPULATE;
	char byte = 0;
	void *p;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (folders_enter(f) < 0)
		_exit(98);
	p = mmap(NULL, SHARED, PROT_READ | PROT_WRITE, MAP_SHARED | flags, -1, 0);
	if (p == MAP_FAILED)
		_exit(97);
	memset(p, 1, SHARED);
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		memset(p, 2, SHARED);
		if (mmap(NULL, ANON, PROT_READ | PROT_WRITE, MAP_PRIVATE | flags, -1, 0) == MAP_FAILED ||
		    write(done_fd, &byte, 1) != 1)
			_exit(96);
	}
	for (;;)
		pause();
}

static pid_t start_step(const struct folders *f)
{
	int done[2];
	char byte;
	pid_t pid;

	fflush(stdout);
	if (pipe(done) < 0 || (pid = fork()) < 0)
		exit(99);
	if (!pid)
		be_step(f, done[1]);
	close(done[1]);
	if (read(done[0], &byte, 1) != 1)
		diag("the step failed");
	close(done[0]);
	return pid;
}

static void end_step(const struct folders *f, pid_t pid)
{
	int left = 2000;

	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	/* its child, which is nobody's to wait for, leaves the folder a little later */
	while (rmdir(f->task[HIER_FREEZER]) < 0 && errno == EBUSY && left--)
		usleep(1000);
	mkdir(f->task[HIER_FREEZER], 0755);
}

static void check_step(const char *name, const char *v2, const char *cpuacct, const char *freezer)
{
	struct memuse *m = NULL;
	struct errmsg err = { 0 };
	uint64_t bytes = 0;

	if (!is_int(memuse_open(paths_of(v2, cpuacct, freezer), &m, &err), 0, name)) {
		diag("%s", err.text);
		skip(2, "not open");
		return;
	}
	is_int(memuse_read(m, &bytes), 0, "read");
	/* libc's own pages on top; v1 counts in batches of 32 pages per CPU */
	if (!ok(bytes + 2 * MB >= ANON + SHARED && bytes < ANON + SHARED + 12 * MB,
		"anonymous memory, and what is shared once"))
		diag("got %" PRIu64 " bytes", bytes);
	memuse_close(m);
}

static void test_steps(void)
{
	struct folders f;
	struct memuse *m = NULL;
	struct cgroup_paths paths;
	char memory[PATH_MAX];
	uint64_t bytes = 77;
	pid_t pid;

	folders_make(&f);
	if (!f.top[HIER_FREEZER][0]) {
		skip(9, "no v1 freezer folder can be made here");
		folders_remove(&f);
		return;
	}
	pid = start_step(&f);
	require(cputime_find_cgroups(pid, &paths) == 0);
	check_step("by processes", "", "", paths.freezer);
	if (f.top[HIER_MEMORY][0]) {
		folders_step_path(HIER_MEMORY, memory, sizeof(memory));
		check_step("v1 memory.stat", "", memory, "");
	} else {
		skip(3, "no v1 memory folder can be made here");
	}
	is_int(memuse_open(paths_of("", "", paths.freezer), &m, NULL), 0, "open");
	end_step(&f, pid);
	folders_remove(&f);
	ok(m && memuse_read(m, &bytes) < 0, "reading fails when the cgroup is gone");
	is_u64(bytes, 77, "nothing written then");
	memuse_close(m);
}

static void test_open_fails(void)
{
	static const char *const path[] = { "", "/", "/no/such/step_0", "/../step_0" };
	struct errmsg err;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(path); i++) {
		struct memuse *m = NULL;

		is_int(memuse_open(paths_of(path[i], path[i], path[i]), &m, &err), -ENOENT, path[i]);
		ok(!m && !strncmp(err.text, "no cgroup to read memory from", 29), "the error says so");
	}
	memuse_close(NULL);
}

int main(void)
{
	alarm(120);
	test_parse();
	test_node();
	test_open_fails();
	test_steps();
	return done_testing();
}
