/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bpfrig.h - what a test of the BPF programs on the running kernel needs: a bpf file system in a
 * private mount namespace, the programs loaded there, cgroups below the machine's, children that
 * stop. Needs root and the right to load BPF programs; bpfrig_up() says what is missing.
 */
#ifndef CEEMS_BPFRIG_H
#define CEEMS_BPFRIG_H

#ifndef _GNU_SOURCE
#error "a test that includes bpfrig.h defines _GNU_SOURCE first: unshare()"
#endif

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child_end.h"
#include "src/libmeter/activity/bpfsys.h"
#include "src/libmeter/activity/probes.h"
#include "src/libnode/bpfload.h"
#include "src/libutil/clock.h"
#include "tap.h"

/* For whatever must happen some time, on a machine as slow as it may be. */
#define BPFRIG_TIMEOUT_NS (60 * NSEC_PER_SEC)

static char bpfrig_scratch[] = "/tmp/test_bpf-XXXXXX";
static char bpfrig_mount[PATH_MAX];
static char bpfrig_dir[PATH_MAX]; /* BpfDir */
static char bpfrig_helper[PATH_MAX];

static inline void bpfrig_down(void)
{
	(void)umount2(bpfrig_mount, MNT_DETACH);
	(void)rmdir(bpfrig_mount);
	(void)rmdir(bpfrig_scratch);
}

static inline int bpfrig_load(void)
{
	struct errmsg err = { 0 };
	int rc = bpfload_run(bpfrig_helper, bpfrig_dir, BPFRIG_TIMEOUT_NS, &err);

	if (rc < 0)
		diag("%s", err.text);
	return rc;
}

static inline int bpfrig_unload(void)
{
	return bpfload_stop(bpfrig_helper, bpfrig_dir, BPFRIG_TIMEOUT_NS, NULL);
}

/* NULL: loaded, on behalf of this process. Else the reason to skip all. */
static inline const char *bpfrig_up(void)
{
	const char *top = getenv("top_builddir");

	(void)snprintf(bpfrig_helper, sizeof(bpfrig_helper), "%s/bpf/ceems-bpf", top ? top : "../..");
	if (access(bpfrig_helper, X_OK) < 0)
		return "ceems-bpf is not built";
	if (geteuid() != 0)
		return "not root";
	if (!mkdtemp(bpfrig_scratch) || unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return "no private mount namespace";
	(void)snprintf(bpfrig_mount, sizeof(bpfrig_mount), "%s/bpf", bpfrig_scratch);
	(void)snprintf(bpfrig_dir, sizeof(bpfrig_dir), "%s/bpf/ceems", bpfrig_scratch);
	if (mkdir(bpfrig_mount, 0700) < 0 || mount("bpf", bpfrig_mount, "bpf", 0, NULL) < 0) {
		bpfrig_down();
		return "no bpf file system";
	}
	if (bpfrig_load() == -EOPNOTSUPP) {
		bpfrig_down();
		return "the kernel or our rights do not allow BPF";
	}
	return NULL;
}

/* --- cgroups ------------------------------------------------------------------------------ */

struct folder {
	char path[PATH_MAX];
	uint64_t id;
};

/* The root of a hierarchy in which we may make folders; NULL: there is none. */
static inline const char *bpfrig_root(bool is_v2)
{
	static const char *const v2[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified", NULL };
	static const char *const v1[] = { "/sys/fs/cgroup/freezer", NULL };
	const char *const *root;
	char probe[PATH_MAX];

	for (root = is_v2 ? v2 : v1; *root; root++) {
		(void)snprintf(probe, sizeof(probe), "%s/cgroup.procs", *root);
		if (access(probe, W_OK) == 0)
			return *root;
	}
	return NULL;
}

static inline bool folder_make(struct folder *f, const char *parent, const char *name)
{
	struct stat st;

	(void)snprintf(f->path, sizeof(f->path), "%.3000s/%s", parent, name);
	if (mkdir(f->path, 0755) < 0 || stat(f->path, &st) < 0)
		return false;
	f->id = st.st_ino;
	return true;
}

/* In the root cgroup. The name has this process's number: another run of the test may be on this machine. */
static inline bool folder_make_own(struct folder *f, const char *root, const char *what)
{
	char name[64];

	(void)snprintf(name, sizeof(name), "test_bpf-%d-%s", (int)getpid(), what);
	return folder_make(f, root, name);
}

static inline bool folder_join(const struct folder *f, pid_t pid)
{
	char path[PATH_MAX + 16];
	FILE *procs;
	bool done;

	(void)snprintf(path, sizeof(path), "%s/cgroup.procs", f->path);
	procs = fopen(path, "we");
	if (!procs)
		return false;
	done = fprintf(procs, "%d", (int)pid) > 0;
	return fclose(procs) == 0 && done;
}

/* The kernel lets go of a dead task's cgroup a little after its parent knows. */
static inline void folder_remove(const struct folder *f)
{
	uint64_t deadline = clock_mono_ns() + BPFRIG_TIMEOUT_NS;

	while (f->id && rmdir(f->path) < 0 && errno == EBUSY && clock_mono_ns() < deadline)
		(void)usleep(1000);
}

/* --- children ----------------------------------------------------------------------------- */

static inline bool child_wait_stopped(pid_t pid)
{
	int status;

	return waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status);
}

/*
 * Forks a child that stops, joins A and B (each may be NULL) while it is stopped and so does
 * nothing, runs WORK and stops again. -1: no.
 */
static inline pid_t child_begin(void (*work)(void), const struct folder *a, const struct folder *b)
{
	pid_t pid = fork();

	if (pid < 0)
		return -1;
	if (pid == 0) {
		(void)raise(SIGSTOP);
		work();
		(void)raise(SIGSTOP);
		_exit(0);
	}
	if (!child_wait_stopped(pid) || (a && !folder_join(a, pid)) || (b && !folder_join(b, pid)))
		return -1;
	(void)kill(pid, SIGCONT);
	return pid;
}

static inline pid_t child_start(void (*work)(void), const struct folder *a, const struct folder *b)
{
	pid_t pid = child_begin(work, a, b);

	return pid > 0 && child_wait_stopped(pid) ? pid : -1;
}

/* Ended by the test, whatever it does. */
static inline void child_kill(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
}

/* --- what is in the kernel ---------------------------------------------------------------- */

/* The id of the link in force; 0: never attached. */
static inline uint32_t bpfrig_link_id(enum probes_link which)
{
	struct probes_meta meta = { 0 };
	char path[PATH_MAX + 16];
	uint32_t zero = 0;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/" PROBES_DIR "/meta", bpfrig_dir);
	if (bpfsys_open(path, &fd) < 0)
		return 0;
	(void)bpfsys_lookup(fd, &zero, &meta);
	(void)close(fd);
	return meta.link[which];
}

static inline bool bpfrig_link_lives(uint32_t id)
{
	int fd;

	if (!id || bpfsys_open_link(id, &fd) < 0)
		return false;
	(void)close(fd);
	return true;
}

/* Freeing is deferred in the kernel. */
static inline bool bpfrig_link_goes(uint32_t id)
{
	uint64_t deadline = clock_mono_ns() + BPFRIG_TIMEOUT_NS;

	while (bpfrig_link_lives(id) && clock_mono_ns() < deadline)
		(void)usleep(1000);
	return !bpfrig_link_lives(id);
}

/* --- a task that is known to the byte: 640 bytes in 10 writes --------------------------------- */

#define BPFRIG_TASK_BYTES 640

static int bpfrig_null = -1; /* /dev/null: what children write to */

static inline void bpfrig_task(void)
{
	char data[64] = { 0 };
	int i;

	for (i = 0; i < 10; i++)
		if (write(bpfrig_null, data, sizeof(data)) != sizeof(data))
			_exit(1);
}

static inline bool bpfrig_run_task(const struct folder *step)
{
	pid_t pid = child_start(bpfrig_task, step, NULL);

	return pid > 0 && child_end(pid);
}

#endif
