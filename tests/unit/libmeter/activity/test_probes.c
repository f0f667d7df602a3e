/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The node's BPF object on the running kernel: loading, slots, links, and what becomes of them when
 * a holder is killed. bpfrig.h lists the requirements.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <sys/prctl.h>

#include "bpfrig.h"

/* Ids that no cgroup has: the kernel counts them from 1. */
#define NOBODYS_ID (UINT64_C(1) << 40)

/* --- the loader --------------------------------------------------------------------------- */

static bool write_script(char *path, size_t size, const char *text)
{
	FILE *f;

	(void)snprintf(path, size, "%s/helper", bpfrig_scratch);
	f = fopen(path, "we");
	if (!f)
		return false;
	(void)fputs(text, f);
	(void)fchmod(fileno(f), 0700);
	return fclose(f) == 0;
}

static void test_helper_fails(void)
{
	static const char *const bad[] = { "/bin/false", "/bin/true" };
	char script[PATH_MAX];
	struct errmsg err = { 0 };

	is_int(bpfload_run(bpfrig_helper, "", BPFRIG_TIMEOUT_NS, &err), -ENOENT, "loading with BpfDir empty");
	is_int(bpfload_run("/nonexistent/ceems-bpf", bpfrig_dir, BPFRIG_TIMEOUT_NS, &err), -EOPNOTSUPP,
	       "a helper that does not exist");
	is_int(bpfload_run(bad[0], bpfrig_dir, BPFRIG_TIMEOUT_NS, &err), -EIO, "a helper that fails");
	is_int(bpfload_run(bad[1], bpfrig_dir, BPFRIG_TIMEOUT_NS, &err), 0, "a helper that succeeds");

	if (!ok(write_script(script, sizeof(script), "#!/bin/sh\nexec sleep 1000\n"), "script"))
		return;
	is_int(bpfload_run(script, bpfrig_dir, NSEC_PER_SEC / 5, &err), -ETIMEDOUT,
	       "a helper that hangs is given up");
	if (!ok(write_script(script, sizeof(script), "#!/bin/sh\nyes | head -c 100000 >&2\nexit 4\n"),
		"script"))
		return;
	is_int(bpfload_run(script, bpfrig_dir, BPFRIG_TIMEOUT_NS, &err), -EOPNOTSUPP,
	       "a helper that writes too much fails");
	(void)unlink(script);

	is_int(bpfload_run(bpfrig_helper, bpfrig_scratch, BPFRIG_TIMEOUT_NS, &err), -EOPNOTSUPP,
	       "not a bpf file system");
	ok(strstr(err.text, "mount -t bpf") != NULL, "the error says what to do");
	diag("%s", err.text);
}

static void test_load_is_idempotent(void)
{
	struct probes *p, *again;
	char path[PATH_MAX + 32];
	uint32_t id;

	is_int(probes_open(bpfrig_dir, &p, NULL), 0, "open");
	is_int(probes_hold(p, PROBES_TASKS, NULL), 0, "hold");
	id = bpfrig_link_id(LINK_TASK_EXIT);
	is_int(bpfrig_load(), 0, "load again");
	ok(id && bpfrig_link_id(LINK_TASK_EXIT) == id, "the attached link is kept");

	(void)snprintf(path, sizeof(path), "%s/" PROBES_DIR "/task_rows", bpfrig_dir);
	ok(unlink(path) == 0, "a pin is lost");
	is_int(probes_open(bpfrig_dir, &again, NULL), -ENOENT, "an incomplete set of pins is not opened");
	is_int(bpfrig_load(), 0, "load repairs it");
	is_int(probes_open(bpfrig_dir, &again, NULL), 0, "open");
	probes_close(again);
	probes_close(p);
	ok(bpfrig_link_goes(id), "the old programs go with their last holder");

	(void)snprintf(path, sizeof(path), "%s/" PROBES_DIR "/prog_task_exit", bpfrig_dir);
	ok(unlink(path) == 0, "a program is lost");
	is_int(bpfrig_load(), 0, "load repairs it");
	is_int(probes_open(bpfrig_dir, &p, NULL), 0, "open");
	is_int(probes_hold(p, PROBES_TASKS, NULL), 0, "hold");
	probes_close(p);
}

/* A machine that is short of descriptors for a moment must not lose what is in use. */
static void test_load_runs_out_of_fds(void)
{
	char script[PATH_MAX], text[2 * PATH_MAX];
	struct bpf_map_info rows, again;
	struct probes *p;
	int fd;

	is_int(probes_open(bpfrig_dir, &p, NULL), 0, "open");
	is_int(probes_map(p, "task_rows", &fd), 0, "a map");
	is_int(bpfsys_map_info(fd, &rows), 0, "its number");
	probes_close(p);
	(void)snprintf(text, sizeof(text), "#!/bin/sh\nulimit -n 6\nexec %s \"$@\"\n", bpfrig_helper);
	if (!ok(write_script(script, sizeof(script), text), "script"))
		return;
	is_int(bpfload_run(script, bpfrig_dir, BPFRIG_TIMEOUT_NS, NULL), -EIO,
	       "a loader that cannot open all pins fails");
	(void)unlink(script);
	if (!ok(probes_open(bpfrig_dir, &p, NULL) == 0, "what is pinned stays"))
		return;
	is_int(probes_map(p, "task_rows", &fd), 0, "a map");
	is_int(bpfsys_map_info(fd, &again), 0, "its number");
	is_u64(again.id, rows.id, "is the same");
	probes_close(p);
}

/* Daemons that were all killed must not keep the next one out. */
static void test_users_full_of_the_dead(void)
{
	const struct probes_user dead = { .start = 1 };
	struct probes_count c;
	struct probes *p;
	uint32_t pid;
	int fd;

	is_int(probes_open(bpfrig_dir, &p, NULL), 0, "open");
	is_int(probes_user_remove(p, getpid()), 0, "slurmd goes");
	if (!ok(probes_map(p, "users", &fd) == 0, "users"))
		return;
	for (pid = 1u << 30; bpfsys_update(fd, &pid, &dead, BPF_ANY) == 0; pid++)
		;
	is_u64(pid, (1u << 30) + PROBES_USERS, "64 killed daemons fill the table of users");
	is_int(bpfrig_load(), 0, "the next daemon gets a place");
	is_int(probes_count(p, &c, NULL), 0, "count");
	is_u64(c.users, 1, "and is the only user");
	probes_close(p);
}

static ino_t inode(const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 ? 0 : st.st_ino;
}

/* The folder is the lock: if it were made anew meanwhile, another loader could lock the new one. */
static void test_load_keeps_the_lock(void)
{
	char staging[PATH_MAX + 32];
	ino_t before;

	is_int(bpfrig_unload(), 0, "unload");
	(void)snprintf(staging, sizeof(staging), "%s/new_" PROBES_DIR, bpfrig_dir);
	ok(mkdir(bpfrig_dir, 0700) == 0 && mkdir(staging, 0700) == 0, "a loader was killed");
	before = inode(bpfrig_dir);
	is_int(bpfrig_load(), 0, "load");
	ok(before && inode(bpfrig_dir) == before, "the next loader uses the same folder");
	ok(access(staging, F_OK) < 0, "and removes what the killed one left");
}

/* --- links -------------------------------------------------------------------------------- */

static void test_joining(void)
{
	struct probes *a, *b;
	struct probes_count c;
	struct errmsg err = { 0 };
	uint32_t id;
	int group;

	is_int(probes_open(bpfrig_dir, &a, NULL), 0, "open");
	is_int(probes_open(bpfrig_dir, &b, NULL), 0, "open");
	is_int(probes_count(a, &c, NULL), 0, "count");
	is_u64(c.holds, 0, "loading attaches nothing");
	is_int(probes_hold(a, PROBES_TASKS, NULL), 0, "hold");
	id = bpfrig_link_id(LINK_TASK_EXIT);
	is_int(probes_hold(a, PROBES_TASKS, NULL), 0, "once more changes nothing");
	is_int(probes_hold(b, PROBES_TASKS, NULL), 0, "another one holds");
	is_u64(bpfrig_link_id(LINK_TASK_EXIT), id, "it is one link: two would count twice");
	is_int(probes_count(a, &c, NULL), 0, "count");
	is_u64(c.holds, 1, "one link");
	probes_close(a);
	ok(bpfrig_link_lives(id), "the second one keeps it");
	probes_close(b);
	ok(bpfrig_link_goes(id), "the link goes with the last holder");

	is_int(probes_open(bpfrig_dir, &a, NULL), 0, "open");
	for (group = 0; group < PROBES_GROUP_N; group++) {
		int rc = probes_hold(a, (enum probes_group)group, &err);

		if (probes_why(a, (enum probes_group)group) == PROBES_OK)
			ok(rc == 0, "%s: attached", probes_group_name((enum probes_group)group));
		else
			ok(rc == -EOPNOTSUPP, "refused with its reason: %s", err.text);
	}
	probes_close(a);
}

#define MANY 6

/* Holds GROUP from when START is closed until GO_ON is; reports the result. */
static void hold_at_once(enum probes_group group, int start, int told, int go_on)
{
	struct probes *p;
	char word;
	int rc;

	if (probes_open(bpfrig_dir, &p, NULL) < 0 || read(start, &word, 1) != 0)
		_exit(1);
	rc = probes_hold(p, group, NULL);
	if (write(told, &rc, sizeof(rc)) != sizeof(rc) || read(go_on, &word, 1) != 0)
		_exit(1);
	_exit(0);
}

/* Function hooks take their time: who comes second waits for the first one. */
static void test_many_at_once(enum probes_group group)
{
	int start[2], told[2], go_on[2];
	struct probes_count c;
	struct probes *p;
	pid_t pid[MANY];
	unsigned int i, held = 0;
	int rc, refused;

	is_int(probes_open(bpfrig_dir, &p, NULL), 0, "open");
	if (probes_why(p, group) != PROBES_OK) {
		skip(1, probes_why_text(probes_why(p, group)));
		probes_close(p);
		return;
	}
	if (!ok(pipe(start) == 0 && pipe(told) == 0 && pipe(go_on) == 0, "pipes"))
		return;
	for (i = 0; i < MANY; i++) {
		pid[i] = fork();
		if (pid[i] == 0) {
			(void)close(start[1]);
			(void)close(go_on[1]);
			hold_at_once(group, start[0], told[1], go_on[0]);
		}
	}
	(void)close(start[1]);
	(void)close(told[1]);
	for (i = 0, refused = 0; i < MANY && read(told[0], &rc, sizeof(rc)) == sizeof(rc); i++) {
		held += rc == 0;
		refused = rc < 0 ? rc : refused;
	}
	ok(held == MANY, "%s: many attach at once, and all have it", probes_group_name(group));
	is_int(refused, 0, "nobody is refused");
	is_int(probes_count(p, &c, NULL), 0, "count");
	is_u64(c.holds, probes_share(p, group), "another that only joins holds all links");
	(void)close(go_on[1]);
	for (i = 0; i < MANY; i++)
		(void)waitpid(pid[i], NULL, 0);
	is_int(probes_count(p, &c, NULL), 0, "count");
	ok(c.holds > 0, "and keeps them when the others end");
	for (i = 0; probes_drop(p, group); i++)
		;
	is_u64(i, c.holds, "it releases them one by one");
	is_u64(probes_share(p, group), 0, "then there is nothing to join");
	is_int(probes_count(p, &c, NULL), 0, "count");
	is_u64(c.holds, 0, "nothing stays attached");
	(void)close(start[0]);
	(void)close(told[0]);
	(void)close(go_on[0]);
	probes_close(p);
}

static void test_lock_is_kept(void)
{
	struct errmsg err = { 0 };
	struct probes *p;
	int lock;

	is_int(probes_open(bpfrig_dir, &p, NULL), 0, "open");
	is_int(probes_lock(bpfrig_dir, 0, &lock, NULL), 0, "another process keeps the lock");
	is_int(probes_hold(p, PROBES_TASKS, &err), -EBUSY, "attaching gives up");
	ok(strstr(err.text, "task_exit"), "and says so: %s", err.text);
	(void)close(lock);
	is_int(probes_hold(p, PROBES_TASKS, NULL), 0, "and works once the lock is free");
	probes_close(p);
}

static void test_holder_is_killed(void)
{
	struct probes *p;
	uint32_t id;
	char word;
	int fd[2];
	pid_t pid;

	if (!ok(pipe(fd) == 0, "pipe"))
		return;
	pid = fork();
	if (pid == 0) {
		if (probes_open(bpfrig_dir, &p, NULL) < 0 || probes_hold(p, PROBES_TASKS, NULL) < 0 ||
		    write(fd[1], "y", 1) != 1)
			_exit(1);
		for (;;)
			(void)pause();
	}
	(void)close(fd[1]);
	ok(pid > 0 && read(fd[0], &word, 1) == 1, "one attaches");
	(void)close(fd[0]);
	id = bpfrig_link_id(LINK_TASK_EXIT);
	ok(bpfrig_link_lives(id), "the link is there");
	child_kill(pid);
	/* no pause: what is just being detached must not keep the next one out */
	is_int(probes_open(bpfrig_dir, &p, NULL), 0, "open");
	is_int(probes_hold(p, PROBES_TASKS, NULL), 0, "its holder is killed, the next one attaches");
	ok(bpfrig_link_goes(id), "the old link is gone");
	ok(bpfrig_link_id(LINK_TASK_EXIT) != id && bpfrig_link_lives(bpfrig_link_id(LINK_TASK_EXIT)),
	   "the new link is attached");
	probes_close(p);
}

/* --- pins of another version or user ------------------------------------------------------- */

static void test_other_abi(void)
{
	struct probes_meta meta;
	struct errmsg err = { 0 };
	struct probes *p;
	uint32_t zero = 0;
	int fd;

	is_int(probes_open(bpfrig_dir, &p, NULL), 0, "open");
	if (!ok(probes_map(p, "meta", &fd) == 0 && bpfsys_lookup(fd, &zero, &meta) == 0, "meta"))
		return;
	meta.abi++;
	is_int(bpfsys_update(fd, &zero, &meta, BPF_ANY), 0, "the pins are of another ABI");
	probes_close(p);
	is_int(probes_open(bpfrig_dir, &p, &err), -EPROTO, "is refused");
	diag("%s", err.text);
	is_int(bpfrig_load(), 0, "and loaded anew");
	is_int(probes_open(bpfrig_dir, &p, &err), 0, "open");
	probes_close(p);
}

#define NOBODY 65534

/* Everybody may make folders on a bpf file system that was mounted without mode=. */
static void test_folder_of_others(void)
{
	static const struct {
		const char *what;
		uid_t owner;
		mode_t mode;
	} bad[] = { { "another user's", NOBODY, 0755 }, { "everybody's", 0, 0777 } };
	struct errmsg err = { 0 };
	struct probes *p;
	size_t i;

	is_int(bpfrig_unload(), 0, "unload");
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		ok(mkdir(bpfrig_dir, 0700) == 0 && chmod(bpfrig_dir, bad[i].mode) == 0 &&
			   chown(bpfrig_dir, bad[i].owner, bad[i].owner) == 0,
		   "BpfDir is %s", bad[i].what);
		is_int(bpfload_run(bpfrig_helper, bpfrig_dir, BPFRIG_TIMEOUT_NS, &err), -EIO,
		       "nothing is loaded into it");
		ok(strstr(err.text, "others than root"), "says why: %s", err.text);
		is_int(probes_open(bpfrig_dir, &p, &err), -EPERM, "nor opened there");
		(void)rmdir(bpfrig_dir);
	}
	ok(symlink(bpfrig_mount, bpfrig_dir) == 0, "BpfDir leads elsewhere");
	is_int(bpfload_run(bpfrig_helper, bpfrig_dir, BPFRIG_TIMEOUT_NS, &err), -EIO,
	       "nothing is loaded there");
	is_int(probes_open(bpfrig_dir, &p, &err), -ENOTDIR, "nor opened");
	(void)unlink(bpfrig_dir);
	is_int(bpfrig_load(), 0, "load");
}

/* An update while steps run; the old slurmd called the new ceems-bpf, which did not know of v1. */
static void test_former_version(void)
{
	char now[PATH_MAX + 32], former[PATH_MAX + 32];
	struct probes_count c;
	struct probes *p;
	uint32_t slot;

	(void)snprintf(now, sizeof(now), "%s/" PROBES_DIR, bpfrig_dir);
	(void)snprintf(former, sizeof(former), "%s/v1", bpfrig_dir);
	is_int(probes_open(bpfrig_dir, &p, NULL), 0, "open");
	is_int(probes_register(p, NOBODYS_ID, 0, 0, &slot), 0, "a step runs");
	is_int(probes_count(p, &c, NULL), 0, "count"); /* opens what is used below */
	ok(rename(now, former) == 0, "it is a former version's");
	is_int(bpfrig_load(), 0, "load");
	ok(access(former, F_OK) == 0, "a daemon and a step of it are there: it stays");
	is_int(probes_user_remove(p, getpid()), 0, "the daemon goes");
	is_int(bpfrig_load(), 0, "load");
	ok(access(former, F_OK) == 0, "the step is there: it stays");
	probes_release(p, slot); /* takes this version's pins, which have the name of its own */
	probes_close(p);
	is_int(bpfrig_load(), 0, "load");
	ok(access(former, F_OK) < 0, "nobody is there: it goes");
}

/* --- memory -------------------------------------------------------------------------------- */

#define MANY_CPUS 256
#define MAPS_MAX_BYTES (32u << 20)

static uint64_t map_bytes(const char *name, const struct bpf_map_info *info)
{
	uint64_t entries = info->max_entries;
	uint64_t rows = probes_rows_of_slot(name, PROBES_SHARDS_MAX);

	if (rows)
		return (uint64_t)(PROBES_SLOTS + 1) * rows * probes_row_size(name, PROBES_SHARDS_MAX);
	switch (info->type) {
	case BPF_MAP_TYPE_PERCPU_ARRAY:
	case BPF_MAP_TYPE_PERCPU_HASH:
		return entries * MANY_CPUS * ((info->value_size + 7) / 8 * 8);
	case BPF_MAP_TYPE_PERCPU_CGROUP_STORAGE:
	case BPF_MAP_TYPE_CGROUP_STORAGE:
	case BPF_MAP_TYPE_SK_STORAGE:
		return 0; /* per cgroup or socket, if there is one */
	case BPF_MAP_TYPE_PERF_EVENT_ARRAY:
		return entries * sizeof(void *);
	case BPF_MAP_TYPE_HASH: /* struct htab_elem has 48 bytes, and a bucket 16 */
		return entries * (info->value_size + info->key_size + 48 + 16);
	default:
		return entries * info->value_size;
	}
}

static void test_memory(void)
{
	char path[PATH_MAX + 32];
	struct bpf_map_info info;
	uint64_t sum = 0, bytes;
	struct dirent *e;
	DIR *d;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/" PROBES_DIR, bpfrig_dir);
	d = opendir(path);
	if (!ok(d != NULL, "pins"))
		return;
	while ((e = readdir(d))) {
		(void)snprintf(path, sizeof(path), "%s/" PROBES_DIR "/%.32s", bpfrig_dir, e->d_name);
		if (e->d_name[0] == '.' || !strncmp(e->d_name, "prog_", 5) || bpfsys_open(path, &fd) < 0)
			continue;
		if (bpfsys_map_info(fd, &info) == 0) {
			bytes = map_bytes(e->d_name, &info);
			diag("%-12s %8" PRIu64 " KiB", e->d_name, bytes >> 10);
			sum += bytes;
		}
		(void)close(fd);
	}
	(void)closedir(d);
	ok(sum && sum <= MAPS_MAX_BYTES, "all maps on %u CPUs with %u slots take %" PRIu64 " KiB", MANY_CPUS,
	   PROBES_SLOTS, sum >> 10);
}

/* --- the end ------------------------------------------------------------------------------- */

/* The order of a node: slurmd stops while a step runs; the step is the last to leave. */
static void test_last_one_unloads(void)
{
	struct errmsg err = { 0 };
	struct probes *p;
	uint32_t id, slot;

	if (!ok(probes_open(bpfrig_dir, &p, &err) == 0, "open %s", err.text))
		return;
	is_int(probes_hold(p, PROBES_TASKS, NULL), 0, "hold");
	is_int(probes_register(p, NOBODYS_ID, 0, 0, &slot), 0, "a step runs");
	is_int(bpfrig_unload(), -EBUSY, "slurmd stops");
	id = bpfrig_link_id(LINK_TASK_EXIT);
	ok(bpfrig_link_lives(id), "the programs stay");
	probes_release(p, slot);
	ok(access(bpfrig_dir, F_OK) < 0, "the step's end removes the pins");
	ok(bpfrig_link_lives(id), "it still holds the programs");
	probes_close(p);
	ok(bpfrig_link_goes(id), "nothing stays in the kernel");

	is_int(bpfrig_load(), 0, "load");
	is_int(bpfrig_unload(), 0, "unload while nobody uses it");
	ok(access(bpfrig_dir, F_OK) < 0, "nothing stays");
}

/* A kernel without CONFIG_DEBUG_INFO_BTF has no such file. */
static void test_no_btf(void)
{
	struct errmsg err = { 0 };

	if (mount("none", "/sys/kernel/btf", "tmpfs", 0, NULL) < 0) {
		skip(3, "cannot hide the kernel's BTF");
		return;
	}
	is_int(bpfload_run(bpfrig_helper, bpfrig_dir, BPFRIG_TIMEOUT_NS, &err), -EOPNOTSUPP,
	       "no BTF: not possible here, which is no error");
	ok(strstr(err.text, "CONFIG_DEBUG_INFO_BTF") != NULL, "says so: %s", err.text);
	ok(access(bpfrig_dir, F_OK) < 0, "and leaves nothing");
	(void)umount2("/sys/kernel/btf", MNT_DETACH);
}

static int load_without(const int *caps, size_t n, struct errmsg *err)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		int rc = 0;

		while (n--)
			rc |= prctl(PR_CAPBSET_DROP, caps[n], 0, 0, 0);
		_exit(rc ? 99 : -bpfload_run(bpfrig_helper, bpfrig_dir, BPFRIG_TIMEOUT_NS, err) & 0x7f);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -EIO;
	return -WEXITSTATUS(status);
}

static void test_rights(void)
{
	static const int enough[] = { CAP_NET_ADMIN, CAP_SYS_ADMIN };
	static const int all[] = { CAP_BPF, CAP_PERFMON, CAP_SYS_ADMIN };
	struct probes *p;
	int rc = load_without(all, ARRAY_SIZE(all), NULL);

	is_int(rc, -EOPNOTSUPP, "no right at all: not possible here, which is no error");
	rc = load_without(enough, ARRAY_SIZE(enough), NULL);
	if (!ok(rc == 0 && probes_open(bpfrig_dir, &p, NULL) == 0, "CAP_BPF and CAP_PERFMON are enough (%d)",
		rc))
		return;
	is_int(probes_why(p, PROBES_TASKS), PROBES_OK, "tasks are counted");
	probes_close(p);
	is_int(bpfrig_unload(), 0, "unload");
}

static void run_tests(void)
{
	struct errmsg err = { 0 };
	struct probes *p;

	is_int(bpfrig_unload(), 0, "unload");
	is_int(bpfrig_unload(), 0, "unload what is not loaded");
	is_int(probes_open("", &p, &err), -ENOENT, "BpfDir empty");
	is_int(probes_open(bpfrig_dir, &p, &err), -ENOENT, "not loaded");
	test_helper_fails();
	is_int(bpfrig_load(), 0, "load");
	test_load_is_idempotent();
	test_load_runs_out_of_fds();
	test_users_full_of_the_dead();
	test_load_keeps_the_lock();
	test_many_at_once(PROBES_TASKS);
	test_many_at_once(PROBES_TCP);
	test_lock_is_kept();
	test_joining();
	test_holder_is_killed();
	test_other_abi();
	test_folder_of_others();
	test_former_version();
	test_memory();
	test_last_one_unloads();
	is_int(bpfrig_load(), 0, "load");
	test_many_at_once(PROBES_IO);
	is_int(bpfrig_unload(), 0, "unload");
	test_no_btf();
	test_rights();
}

int main(void)
{
	const char *why = bpfrig_up();

	if (why)
		return skip_all(why);
	run_tests();
	bpfrig_down();
	return done_testing();
}
