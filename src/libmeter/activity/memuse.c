/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libmeter/activity/memuse.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "src/libmeter/activity/cgmount.h"
#include "src/libmeter/activity/cgprocs.h"
#include "src/libutil/fileio.h"
#include "src/libutil/parse.h"

/* The keys of anonymous and of shared memory in each kind of file. */
static const char *const keys_v2[] = { "anon ", "shmem " };
/* With the groups below. rss is anonymous memory; shmem exists since Linux 4.13. */
static const char *const keys_v1[] = { "total_rss ", "total_shmem " };
static const char *const keys_meminfo[] = { "AnonPages:", "Shmem:" };
static const char *const keys_status[] = { "RssAnon:", "RssShmem:" };

struct memuse {
	int fd;			 /* memory.stat, or the folder of the cgroup */
	int all_fd;		 /* memory.current or memory.usage_in_bytes; -1: none */
	int swap_fd;		 /* memory.swap.current; -1: none */
	const char *const *keys; /* keys in memory.stat; NULL: processes are read instead */
	struct cgprocs procs;
};

/* --- text ------------------------------------------------------------------------------- */

/* Parses the number after KEY at the begin of a line. -ENOENT: no such line. */
static int field(const char *text, const char *key, uint64_t *ret)
{
	const char *p = parse_find_line(text, key);

	if (!p)
		return -ENOENT;
	p += strspn(p, " \t");
	return parse_u64_n(p, strspn(p, "0123456789"), ret);
}

static int two_fields(const char *text, const char *const key[2], uint64_t ret[2])
{
	int rc = field(text, key[0], &ret[0]);

	if (rc < 0)
		return rc == -ENOENT ? -EINVAL : rc;
	rc = field(text, key[1], &ret[1]);
	if (rc == -ENOENT)
		ret[1] = 0;
	return rc == -ENOENT ? 0 : rc;
}

static int sum_fields(const char *text, const char *const key[2], uint64_t *ret)
{
	uint64_t n[2];
	uint64_t sum;
	int rc = two_fields(text, key, n);

	if (rc < 0)
		return rc;
	if (__builtin_add_overflow(n[0], n[1], &sum))
		return -ERANGE;
	*ret = sum;
	return 0;
}

int memuse_parse(const char *text, bool is_v2, uint64_t *ret_bytes)
{
	return sum_fields(text, is_v2 ? keys_v2 : keys_v1, ret_bytes);
}

static int read_file(int fd, const char *const key[2], uint64_t *ret)
{
	char buf[8192];
	ssize_t n = fileio_pread_all(fd, buf, sizeof(buf));

	return n < 0 ? (int)n : sum_fields(buf, key, ret);
}

static int kb_to_bytes(uint64_t kb, uint64_t *ret_bytes)
{
	if (kb > UINT64_MAX / 1024)
		return -ERANGE;
	*ret_bytes = kb * 1024;
	return 0;
}

/* --- by processes ----------------------------------------------------------------------- */

struct sum {
	uint64_t anon_kb;
	uint64_t shmem_kb; /* the largest value, not the sum: ranks map the same memory */
};

/* Adds the memory of one process; an ended one or a kernel thread has none. */
static int add_process(void *ctx, pid_t pid)
{
	struct sum *sum = ctx;
	_cleanup_close_ int fd = -1;
	uint64_t kb[2];
	char path[32];
	char buf[4096];

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	fd = fileio_open_at_root("/", path);
	if (fd < 0 || fileio_pread_all(fd, buf, sizeof(buf)) < 0 || two_fields(buf, keys_status, kb) < 0)
		return 0;
	sum->anon_kb += kb[0];
	if (kb[1] > sum->shmem_kb)
		sum->shmem_kb = kb[1];
	return 0;
}

static int read_processes(struct memuse *m, uint64_t *ret_bytes)
{
	struct sum sum = { 0 };
	int rc = cgprocs_each(&m->procs, m->fd, add_process, &sum);

	return rc < 0 ? rc : kb_to_bytes(sum.anon_kb + sum.shmem_kb, ret_bytes);
}

/* ---------------------------------------------------------------------------------------- */

int memuse_read(struct memuse *m, uint64_t *ret_bytes)
{
	return m->keys ? read_file(m->fd, m->keys, ret_bytes) : read_processes(m, ret_bytes);
}

static uint64_t field_or_unknown(const char *text, const char *key)
{
	uint64_t v;

	return field(text, key, &v) < 0 ? UINT64_MAX : v;
}

static int parse_kinds(const char *text, bool is_v2, struct memuse_kinds *p)
{
	uint64_t n[2];
	int rc = two_fields(text, is_v2 ? keys_v2 : keys_v1, n);

	if (rc < 0)
		return rc;
	if (__builtin_add_overflow(n[0], n[1], &p->held))
		return -ERANGE;
	p->rss = n[0];
	p->cache = field_or_unknown(text, is_v2 ? "file " : "total_cache ");
	if (p->cache != UINT64_MAX)
		p->page_cache = p->cache > n[1] ? p->cache - n[1] : 0;
	if (!is_v2)
		p->swap = field_or_unknown(text, "total_swap ");
	return 0;
}

static uint64_t number_or_unknown(int fd)
{
	uint64_t v;

	return fd < 0 || fileio_pread_u64(fd, &v) < 0 ? UINT64_MAX : v;
}

int memuse_read_kinds(struct memuse *m, struct memuse_kinds *ret)
{
	struct memuse_kinds p = { UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX };
	char buf[8192];
	ssize_t len;
	int rc;

	if (!m->keys) {
		rc = read_processes(m, &p.held);
		p.rss = p.held;
	} else {
		len = fileio_pread_all(m->fd, buf, sizeof(buf));
		rc = len < 0 ? (int)len : parse_kinds(buf, m->keys == keys_v2, &p);
	}
	if (rc < 0)
		return rc;
	if (m->keys)
		p.used = number_or_unknown(m->all_fd);
	if (m->keys == keys_v2)
		p.swap = number_or_unknown(m->swap_fd);
	*ret = p;
	return 0;
}

bool memuse_opens_files(const struct memuse *m)
{
	return !m->keys;
}

/* Tries to read FD, which this function owns. A file that opens may still not be readable. */
static int try_fd(struct memuse *m, int fd, const char *const *keys)
{
	uint64_t bytes;
	int rc;

	if (fd < 0)
		return fd;
	m->fd = fd;
	m->keys = keys;
	rc = memuse_read(m, &bytes);
	if (rc < 0) {
		(void)close(fd);
		m->fd = -1;
	}
	return rc;
}

/*
 * Opens FILE in the step's subfolder "user", which has the tasks. The subfolder "slurm" has
 * slurmstepd, which is not part of the step.
 */
static int memuse_open_v2(const char *v2, const char *file)
{
	char name[64];
	int fd;

	(void)snprintf(name, sizeof(name), "user/%s", file);
	fd = cgmount_open_step(NULL, v2, name);
	return fd < 0 ? cgmount_open_step(NULL, v2, file) : fd;
}

int memuse_open(const struct cgroup_paths *paths, struct memuse **ret, struct errmsg *err)
{
	struct memuse *m = calloc(1, sizeof(*m));
	const char *v1 = cgroup_paths_v1(paths);

	if (!m)
		return errmsg_errno(err, -ENOMEM, "memory of a step");
	m->fd = m->all_fd = m->swap_fd = -1;
	if (try_fd(m, memuse_open_v2(paths->v2, "memory.stat"), keys_v2) < 0 &&
	    try_fd(m, cgmount_open_step("memory", v1, "memory.stat"), keys_v1) < 0 &&
	    try_fd(m, cgmount_open_step("freezer", paths->freezer, "."), NULL) < 0 &&
	    try_fd(m, cgmount_open_step(NULL, paths->v2, "."), NULL) < 0) {
		memuse_close(m);
		return errmsg_set(err, -ENOENT, "no cgroup to read memory from (v2 '%s', v1 '%s')", paths->v2,
				  v1);
	}
	if (m->keys == keys_v2) {
		m->all_fd = memuse_open_v2(paths->v2, "memory.current");
		m->swap_fd = memuse_open_v2(paths->v2, "memory.swap.current");
	} else if (m->keys == keys_v1) {
		m->all_fd = cgmount_open_step("memory", v1, "memory.usage_in_bytes");
	}
	*ret = m;
	return 0;
}

void memuse_close(struct memuse *m)
{
	if (!m)
		return;
	cgprocs_fini(&m->procs);
	if (m->fd >= 0)
		(void)close(m->fd);
	if (m->all_fd >= 0)
		(void)close(m->all_fd);
	if (m->swap_fd >= 0)
		(void)close(m->swap_fd);
	free(m);
}

/* --- what the kernel kept ----------------------------------------------------------------- */

/* Reads a number from FD and closes it. UINT64_MAX: not known. */
static uint64_t read_and_close(int fd)
{
	_cleanup_close_ int own = fd;

	return number_or_unknown(own);
}

/*
 * Reads the OOM kills from FD, an open memory.events or memory.oom_control, and closes
 * it. UINT64_MAX: not known.
 */
static uint64_t read_oom_kills(int fd)
{
	_cleanup_close_ int own = fd;
	char buf[512];

	return own < 0 || fileio_pread_all(own, buf, sizeof(buf)) < 0 ? UINT64_MAX :
									field_or_unknown(buf, "oom_kill ");
}

/*
 * Sums OOM kills over the step's group and those below. v1 counts a kill only in the group of the
 * killed process.
 */
static uint64_t sum_oom_kills(const char *v1)
{
	uint64_t sum = read_oom_kills(cgmount_open_step("memory", v1, "memory.oom_control"));
	int fd = cgmount_open_step("memory", v1, ".");
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	if (!d && fd >= 0)
		(void)close(fd);
	while (d && (e = readdir(d))) {
		char name[NAME_MAX + 32];
		uint64_t n;

		if (e->d_type != DT_DIR || e->d_name[0] == '.')
			continue;
		(void)snprintf(name, sizeof(name), "%s/memory.oom_control", e->d_name);
		n = read_oom_kills(openat(fd, name, O_RDONLY | O_CLOEXEC));
		if (n != UINT64_MAX && sum != UINT64_MAX)
			sum += n;
	}
	if (d)
		(void)closedir(d);
	return sum;
}

int memuse_read_record(const struct cgroup_paths *paths, struct memuse_record *ret)
{
	const char *v1 = cgroup_paths_v1(paths);
	int events = memuse_open_v2(paths->v2, "memory.events");
	int peak;

	if (events >= 0) {
		*ret = (struct memuse_record){
			.peak = read_and_close(memuse_open_v2(paths->v2, "memory.peak")),
			.swap_peak = read_and_close(memuse_open_v2(paths->v2, "memory.swap.peak")),
			.oom_kills = read_oom_kills(events),
		};
		return 0;
	}
	peak = cgmount_open_step("memory", v1, "memory.max_usage_in_bytes");
	if (peak < 0)
		return -ENOENT;
	*ret = (struct memuse_record){
		.peak = read_and_close(peak),
		.swap_peak = UINT64_MAX,
		.oom_kills = sum_oom_kills(v1),
	};
	return 0;
}

/* ------------------------------------------------------------------------------------------ */

int memuse_node(int meminfo_fd, uint64_t *ret_bytes)
{
	uint64_t kb;
	int rc = read_file(meminfo_fd, keys_meminfo, &kb);

	return rc < 0 ? rc : kb_to_bytes(kb, ret_bytes);
}
