/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ceems-bpf - loads and unloads the BPF programs; the only program that links libbpf. slurmd's
 * sampler runs it at its start and end. Steps only need what it pins. src/libnode/bpfload.c reads
 * the exit codes.
 */
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "bpf/probes.h"
#include "bpf/probes_mon.h"
#include "src/libmeter/activity/probes.h"
#include "src/libnode/bpfload.h"
#include "src/libutil/helper.h"
#include "src/libutil/parse.h"
#include "src/libutil/procstat.h"

#define DEFAULT_DIR "/sys/fs/bpf/ceems"

struct request {
	const char *dir;
	pid_t user; /* the process that needs the programs; 1, which never ends, for an administrator */
	bool force;
};

static int fail(int rc, const struct errmsg *err)
{
	(void)fprintf(stderr, "ceems-bpf: %s\n", err->text);
	switch (rc) {
	case -EOPNOTSUPP:
		return BPFLOAD_EXIT_UNSUPPORTED;
	case -EBUSY:
		return BPFLOAD_EXIT_IN_USE;
	default:
		return BPFLOAD_EXIT_FAILED;
	}
}

/* With the lock. */
static void unpin(const struct request *r)
{
	probes_unpin(r->dir, PROBES_DIR);
	(void)rmdir(r->dir); /* unless another version's pins are there, too */
}

/*
 * Opens the object, and a program: steps that find a link need no program, but the programs must be
 * there to be attached once.
 */
static int open_whole(const struct request *r, struct probes **ret, struct errmsg *err)
{
	struct probes *p;
	int fd;
	int rc = probes_open(r->dir, &p, err);

	if (rc < 0)
		return rc;
	rc = probes_program(p, "task_exit", &fd);
	if (rc < 0) {
		probes_close(p);
		return errmsg_errno(err, rc, "cannot open %s/" PROBES_DIR "/prog_task_exit", r->dir);
	}
	*ret = p;
	return 0;
}

static int bpf_load(const struct request *r, struct probes **ret, struct errmsg *err)
{
	int rc = open_whole(r, ret, err);

	if (rc == 0)
		return 0;
	if (rc == -EPERM || rc == -EACCES || rc == -ENOSYS)
		return errmsg_set(err, -EOPNOTSUPP,
				  "cannot open the pins in %s: CAP_BPF and CAP_PERFMON are needed, or "
				  "CAP_SYS_ADMIN: %s",
				  r->dir, strerror(-rc));
	/* other errors are temporary, and pins may be in use */
	if (rc != -ENOENT && rc != -EPROTO)
		return rc;
	probes_unpin(r->dir, PROBES_DIR); /* half of a set, or not ours */
	rc = probes_mon_load(r->dir, err);
	return rc < 0 ? rc : probes_open(r->dir, ret, err);
}

/* --- other versions ----------------------------------------------------------------------- */

static const struct {
	const char *map;
	bool has_pid; /* the pid is in the value, else it is the key */
	size_t start_at;
} known_by[] = { { "users", false, 0 }, { "owners", true, offsetof(struct probes_owner, start) } };

/* True also where it cannot be told. */
static bool has_living(const char *path, size_t how)
{
	unsigned char value[256];
	_cleanup_close_ int fd = -1;
	struct bpf_map_info info;
	uint32_t key, prev, pid, seen;
	uint64_t start;
	int rc = bpfsys_open(path, &fd);

	if (rc < 0)
		return rc != -ENOENT;
	if (bpfsys_map_info(fd, &info) < 0 || info.key_size != sizeof(key) ||
	    info.value_size > sizeof(value) || info.value_size < known_by[how].start_at + sizeof(start))
		return true;
	rc = bpfsys_next_key(fd, NULL, &key);
	for (seen = 0; rc == 0 && seen < info.max_entries; seen++) {
		if (bpfsys_lookup(fd, &key, value) == 0) {
			memcpy(&pid, known_by[how].has_pid ? value : (void *)&key, sizeof(pid));
			memcpy(&start, value + known_by[how].start_at, sizeof(start));
			if (procstat_is_alive((pid_t)pid, start))
				return true;
		}
		prev = key;
		rc = bpfsys_next_key(fd, &prev, &key);
	}
	return false;
}

/*
 * Removes folders of other versions that nobody uses. A slurmd that ends after an update runs this
 * new program, which does not know the old version's folder, so the next load removes it. Needs the
 * lock.
 */
static void remove_unused(const char *dir)
{
	char path[PATH_MAX];
	struct dirent *e;
	uint64_t abi;
	size_t i;
	DIR *d = opendir(dir);

	while (d && (e = readdir(d))) {
		if (e->d_name[0] != 'v' || parse_u64(e->d_name + 1, &abi) < 0 || abi == PROBES_ABI)
			continue;
		for (i = 0; i < ARRAY_SIZE(known_by); i++)
			if ((size_t)snprintf(path, sizeof(path), "%s/%s/%s", dir, e->d_name,
					     known_by[i].map) >= sizeof(path) ||
			    has_living(path, i))
				break;
		if (i == ARRAY_SIZE(known_by))
			probes_unpin(dir, e->d_name);
	}
	if (d)
		(void)closedir(d);
}

/* --- the verbs ---------------------------------------------------------------------------- */

static int run_load(const struct request *r, struct errmsg *err)
{
	_cleanup_close_ int lock = -1;
	struct probes_count count;
	struct probes_dead dead;
	struct probes *p;
	int rc = probes_mon_check_dir(r->dir, err);

	if (rc == 0)
		rc = probes_lock(r->dir, /* wait_ns= */ UINT64_MAX, &lock, err);
	if (rc == 0)
		rc = bpf_load(r, &p, err);
	if (lock >= 0)
		remove_unused(r->dir);
	if (rc < 0) {
		if (lock >= 0)
			(void)rmdir(r->dir); /* if it is empty */
		return rc;
	}
	if (probes_count(p, &count, &dead) == 0) {
		dead.nslots = 0; /* slurmd first reads what is in them */
		probes_reap(p, &dead);
	}
	rc = probes_user_add(p, r->user);
	if (rc < 0)
		(void)errmsg_errno(err, rc, "cannot register process %d as a user of the BPF programs",
				   (int)r->user);
	probes_close(p);
	return rc;
}

static int run_unload(const struct request *r, struct errmsg *err)
{
	_cleanup_close_ int lock = -1;
	struct probes_count count;
	struct probes_dead dead;
	struct probes *p;
	int rc = probes_open(r->dir, &p, err);

	if (rc == -ENOENT)
		return 0;
	if (rc < 0)
		return rc;
	rc = probes_lock(r->dir, /* wait_ns= */ UINT64_MAX, &lock, err);
	if (rc < 0)
		goto out;
	(void)probes_user_remove(p, r->user);
	rc = probes_count(p, &count, &dead);
	if (rc < 0)
		(void)errmsg_errno(err, rc, "cannot read the maps of the BPF programs");
	else if (!r->force && (count.users || count.slots))
		rc = errmsg_set(
			err, -EBUSY,
			"%u daemons and %u steps use the programs; the last of them unloads them, --force "
			"does so now",
			count.users, count.slots);
	else
		unpin(r);
out:
	probes_close(p);
	return rc;
}

static void print_group(struct probes *p, enum probes_group group)
{
	uint64_t lost = probes_lost(p, group), skipped = probes_skipped(p, group);

	printf("%-9s %s", probes_group_name(group), probes_why_text(probes_why(p, group)));
	if (lost)
		printf(", %llu events lost", (unsigned long long)lost);
	if (skipped)
		printf(", %llu events skipped", (unsigned long long)skipped);
	putchar('\n');
}

static void print_features(uint32_t features)
{
	static const struct {
		uint32_t bit;
		const char *name;
	} feature[] = {
		{ PROBES_HAS_CHARS, "bytes and calls" }, { PROBES_HAS_STORAGE, "storage" },
		{ PROBES_HAS_RUN_DELAY, "run delay" },	 { PROBES_HAS_LIVE_TCP, "live sockets" },
		{ PROBES_HAS_V1, "cgroup v1" },		 { PROBES_HAS_URING, "io_uring" },
	};
	const char *before = "counts    ";
	size_t i;

	for (i = 0; i < ARRAY_SIZE(feature); i++) {
		if (!(features & feature[i].bit))
			continue;
		printf("%s%s", before, feature[i].name);
		before = ", ";
	}
	putchar('\n');
}

static int run_status(const struct request *r, struct errmsg *err)
{
	struct probes_count c;
	struct probes_dead dead;
	struct probes *p;
	unsigned int i;
	int rc = probes_open(r->dir, &p, err);

	if (rc < 0)
		return rc;
	rc = probes_count(p, &c, &dead);
	if (rc < 0) {
		(void)errmsg_errno(err, rc, "cannot read the maps of the BPF programs");
		goto out;
	}
	printf("pins      %s/" PROBES_DIR "\n", r->dir);
	printf("daemons   %u\n", c.users);
	printf("steps     %u of %u", c.slots, PROBES_SLOTS);
	if (dead.nslots)
		printf(", and %u whose slurmstepd was killed", dead.nslots);
	putchar('\n');
	printf("refused   %llu\n", (unsigned long long)c.full);
	printf("attached  %u programs\n", c.holds);
	for (i = 0; i < PROBES_GROUP_N; i++)
		print_group(p, (enum probes_group)i);
	print_features(probes_features(p));
out:
	probes_close(p);
	return rc;
}

static int bpf_usage(FILE *to)
{
	(void)fprintf(to, "usage: ceems-bpf load|unload|status [--dir DIR] [--for PID] [--force]\n"
			  "Loads the BPF programs that count I/O, network and CPU events per Slurm step; see "
			  "ceems-bpf(8).\n");
	return to == stdout ? 0 : BPFLOAD_EXIT_USAGE;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "dir", required_argument, NULL, 'd' },
		{ "for", required_argument, NULL, 'p' },
		{ "force", no_argument, NULL, 'f' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	static const struct {
		const char *name;
		int (*run)(const struct request *r, struct errmsg *err);
	} verbs[] = { { "load", run_load }, { "unload", run_unload }, { "status", run_status } };
	struct request r = { .dir = DEFAULT_DIR, .user = 1 };
	struct errmsg err = { 0 };
	uint64_t pid;
	size_t i;
	int c, rc;

	helper_close_inherited();
	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (c) {
		case 'd':
			r.dir = optarg;
			break;
		case 'p':
			if (parse_u64(optarg, &pid) < 0 || !pid || pid > INT_MAX)
				return bpf_usage(stderr);
			r.user = (pid_t)pid;
			break;
		case 'f':
			r.force = true;
			break;
		case 'h':
			return bpf_usage(stdout);
		default:
			return bpf_usage(stderr);
		}
	}
	if (optind != argc - 1)
		return bpf_usage(stderr);
	if (r.dir[0] != '/') {
		(void)fprintf(stderr, "ceems-bpf: --dir %s: not an absolute path\n", r.dir);
		return BPFLOAD_EXIT_USAGE;
	}
	for (i = 0; i < ARRAY_SIZE(verbs); i++) {
		if (strcmp(argv[optind], verbs[i].name))
			continue;
		rc = verbs[i].run(&r, &err);
		return rc < 0 ? fail(rc, &err) : 0;
	}
	return bpf_usage(stderr);
}
