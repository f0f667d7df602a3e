/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libmeter/harvest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/bpf.h>
#include <stddef.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "bpf/harvest.h"
#include "src/libmeter/bpfsys.h"
#include "src/libutil/procstat.h"
#include "src/libutil/util.h"

/* Inode of a hierarchy's root (fs/kernfs/dir.c numbers from 1): everybody's tasks, nobody's step. */
#define ROOT_ID 1

struct harvest {
	char dir[PATH_MAX];
	char living[PATH_MAX]; /* the iterator's file */
	uint32_t features;
	int meta, rows, cgroups, owners, users;
	/* what the last harvest_read() put into the figures */
	uint64_t put[METRIC_N];
	bool has_put[METRIC_N];
};

static const struct {
	const char *name;
	size_t fd; /* offset in struct harvest */
	struct bpfsys_map shape;
} pinned[] = {
	{ "meta", offsetof(struct harvest, meta),
	  { BPF_MAP_TYPE_ARRAY, sizeof(uint32_t), sizeof(struct harvest_meta) } },
	{ "rows", offsetof(struct harvest, rows),
	  { BPF_MAP_TYPE_ARRAY, sizeof(uint32_t), sizeof(struct harvest_row) } },
	{ "cgroups", offsetof(struct harvest, cgroups),
	  { BPF_MAP_TYPE_HASH, sizeof(struct harvest_cgroup), sizeof(uint32_t) } },
	{ "owners", offsetof(struct harvest, owners),
	  { BPF_MAP_TYPE_HASH, sizeof(uint32_t), sizeof(struct harvest_owner) } },
	{ "users", offsetof(struct harvest, users),
	  { BPF_MAP_TYPE_HASH, sizeof(uint32_t), sizeof(struct harvest_user) } },
};

static int *fd_of(struct harvest *h, size_t i)
{
	return (int *)((char *)h + pinned[i].fd);
}

/* --- opening ------------------------------------------------------------------------------ */

static int open_maps(struct harvest *h, struct errmsg *err)
{
	struct harvest_meta meta = { 0 };
	char path[PATH_MAX + sizeof("/" HARVEST_DIR "/cgroups")];
	uint32_t zero = 0;
	size_t i;
	int rc;

	for (i = 0; i < ARRAY_SIZE(pinned); i++) {
		(void)snprintf(path, sizeof(path), "%s/" HARVEST_DIR "/%s", h->dir,
			       pinned[i].name);
		rc = bpfsys_open_map(path, &pinned[i].shape, fd_of(h, i));
		if (rc == -EPROTO)
			return errmsg_set(err, rc, "harvest: %s is not a map of ours", path);
		if (rc < 0)
			return errmsg_errno(err, rc, "harvest: cannot open %s", path);
	}
	/* The pins come into being by one rename, so a missing file means half removed. */
	if (access(h->living, F_OK) < 0)
		return errmsg_errno(err, -errno, "harvest: %s", h->living);
	rc = bpfsys_lookup(h->meta, &zero, &meta);
	if (rc < 0)
		return errmsg_errno(err, rc, "harvest: cannot read %s", path);
	if (meta.abi != HARVEST_ABI)
		return errmsg_set(err, -EPROTO, "harvest: %s/" HARVEST_DIR " has ABI %u, not %u",
				  h->dir, meta.abi, HARVEST_ABI);
	h->features = meta.features;
	return 0;
}

int harvest_open(const char *dir, struct harvest **ret, struct errmsg *err)
{
	struct harvest *h;
	size_t i;
	int rc;

	if (!*dir)
		return errmsg_set(err, -ENOENT, "harvest: BpfDir is empty");
	h = calloc(1, sizeof(*h));
	if (!h)
		return errmsg_errno(err, -ENOMEM, "harvest");
	for (i = 0; i < ARRAY_SIZE(pinned); i++)
		*fd_of(h, i) = -1;
	rc = snprintf(h->living, sizeof(h->living), "%s/" HARVEST_DIR "/living", dir);
	if (rc < 0 || (size_t)rc >= sizeof(h->living)) {
		rc = errmsg_errno(err, -ENAMETOOLONG, "harvest: %s", dir);
		goto fail;
	}
	memcpy(h->dir, dir, strlen(dir) + 1);
	rc = open_maps(h, err);
	if (rc < 0)
		goto fail;
	*ret = h;
	return 0;
fail:
	harvest_close(h);
	return rc;
}

void harvest_close(struct harvest *h)
{
	size_t i;

	if (!h)
		return;
	for (i = 0; i < ARRAY_SIZE(pinned); i++)
		util_closep(fd_of(h, i));
	free(h);
}

/* --- who is alive ------------------------------------------------------------------------- */

static int process_start(pid_t pid, __u64 *ret)
{
	struct procstat s;
	int rc = procstat_read(pid, &s);

	if (rc == 0)
		*ret = s.start_ticks;
	return rc;
}

static void free_row(struct harvest *h, uint32_t row, const struct harvest_owner *owner)
{
	struct harvest_cgroup v2 = { .id = owner->cgroup_v2, .hierarchy = HARVEST_V2 };
	struct harvest_cgroup v1 = { .id = owner->cgroup_v1, .hierarchy = HARVEST_V1_FREEZER };

	/* the cgroups first: a row without owner may be somebody else's the next moment */
	if (v2.id)
		(void)bpfsys_delete(h->cgroups, &v2);
	if (v1.id)
		(void)bpfsys_delete(h->cgroups, &v1);
	(void)bpfsys_delete(h->owners, &row);
}

/*
 * Deleting while walking restarts a hash map's walk: bounded by its size, and collected first.
 * REAP needs harvest_lock(): of two who found the same dead row, the slower one would take it from
 * whoever got it in between.
 */
static void census_rows(struct harvest *h, bool reap, struct harvest_census *c)
{
	struct harvest_owner owner, dead_owner[64];
	uint32_t dead[ARRAY_SIZE(dead_owner)];
	uint32_t row, prev, n = 0, seen;
	int rc = bpfsys_next_key(h->owners, NULL, &row);

	for (seen = 0; rc == 0 && seen < HARVEST_ROWS; seen++) {
		if (bpfsys_lookup(h->owners, &row, &owner) == 0) {
			if (procstat_is_alive((pid_t)owner.pid, owner.start)) {
				c->rows++;
			} else if (n < ARRAY_SIZE(dead)) {
				dead_owner[n] = owner;
				dead[n++] = row;
			}
		}
		prev = row;
		rc = bpfsys_next_key(h->owners, &prev, &row);
	}
	if (!reap)
		return;
	c->reaped += n;
	while (n--)
		free_row(h, dead[n], &dead_owner[n]);
}

static void census_users(struct harvest *h, bool reap, struct harvest_census *c)
{
	struct harvest_user user;
	uint32_t dead[HARVEST_USERS];
	uint32_t pid, prev, n = 0, seen;
	int rc = bpfsys_next_key(h->users, NULL, &pid);

	for (seen = 0; rc == 0 && seen < HARVEST_USERS; seen++) {
		if (bpfsys_lookup(h->users, &pid, &user) == 0) {
			if (procstat_is_alive((pid_t)pid, user.start))
				c->users++;
			else
				dead[n++] = pid;
		}
		prev = pid;
		rc = bpfsys_next_key(h->users, &prev, &pid);
	}
	if (!reap)
		return;
	c->reaped += n;
	while (n--)
		(void)bpfsys_delete(h->users, &dead[n]);
}

int harvest_census(struct harvest *h, bool reap, struct harvest_census *ret)
{
	struct harvest_census c = { .features = h->features };
	struct harvest_meta meta;
	uint32_t zero = 0;
	int rc = bpfsys_lookup(h->meta, &zero, &meta);

	if (rc < 0)
		return rc;
	c.full = meta.full;
	census_users(h, reap, &c);
	census_rows(h, reap, &c);
	*ret = c;
	return 0;
}

int harvest_user_add(struct harvest *h, pid_t pid)
{
	struct harvest_user user;
	uint32_t key = (uint32_t)pid;
	int rc = process_start(pid, &user.start);

	return rc < 0 ? rc : bpfsys_update(h->users, &key, &user, BPF_ANY);
}

int harvest_user_remove(struct harvest *h, pid_t pid)
{
	uint32_t key = (uint32_t)pid;

	return bpfsys_delete(h->users, &key);
}

/* --- rows --------------------------------------------------------------------------------- */

static int allocate_row(struct harvest *h, const struct harvest_owner *owner, uint32_t *ret)
{
	uint32_t first = owner->pid % HARVEST_ROWS; /* spreads, and so delays reuse */
	uint32_t i, row;
	int rc;

	for (i = 0; i < HARVEST_ROWS; i++) {
		row = 1 + (first + i) % HARVEST_ROWS;
		rc = bpfsys_update(h->owners, &row, owner, BPF_NOEXIST);
		if (rc == 0) {
			*ret = row;
			return 0;
		}
		if (rc != -EEXIST)
			return rc == -E2BIG ? -ENOSPC : rc;
	}
	return -ENOSPC;
}

static void count_full(struct harvest *h)
{
	struct harvest_meta *meta = mmap(NULL, sizeof(*meta), PROT_READ | PROT_WRITE,
					 MAP_SHARED, h->meta, 0);

	if (meta == MAP_FAILED)
		return;
	(void)__atomic_fetch_add(&meta->full, 1, __ATOMIC_RELAXED);
	(void)munmap(meta, sizeof(*meta));
}

static int add_cgroup(struct harvest *h, uint64_t id, uint32_t hierarchy, uint32_t row)
{
	struct harvest_cgroup key = { .id = id, .hierarchy = hierarchy };

	/* an entry there is a dead step's: kernfs ids are not used twice */
	return id ? bpfsys_update(h->cgroups, &key, &row, BPF_ANY) : 0;
}

/* Whether there is room now. Busy: whoever has the lock reaps as well, and this step goes without. */
static bool reap_dead(struct harvest *h)
{
	struct harvest_census c;
	_cleanup_close_ int lock = -1;

	if (harvest_lock(h->dir, /* wait= */ false, &lock, NULL) < 0)
		return false;
	return harvest_census(h, /* reap= */ true, &c) == 0 && c.reaped;
}

int harvest_register(struct harvest *h, uint64_t cgroup_v2_id, uint64_t cgroup_v1_id,
		     uint32_t *ret_row)
{
	struct harvest_row empty = { .owner = (uint32_t)getpid() };
	struct harvest_owner owner = {
		.pid = (uint32_t)getpid(),
		.cgroup_v2 = cgroup_v2_id,
		.cgroup_v1 = cgroup_v1_id,
	};
	uint32_t row;
	int rc;

	if (!cgroup_v2_id && !cgroup_v1_id)
		return -EINVAL;
	if (cgroup_v2_id == ROOT_ID || cgroup_v1_id == ROOT_ID)
		return -EINVAL;
	rc = process_start(getpid(), &owner.start);
	if (rc < 0)
		return rc;
	rc = allocate_row(h, &owner, &row);
	if (rc == -ENOSPC && reap_dead(h))
		rc = allocate_row(h, &owner, &row);
	if (rc < 0) {
		if (rc == -ENOSPC)
			count_full(h);
		return rc;
	}
	rc = bpfsys_update(h->rows, &row, &empty, BPF_ANY);
	if (rc == 0)
		rc = add_cgroup(h, cgroup_v2_id, HARVEST_V2, row);
	if (rc == 0)
		rc = add_cgroup(h, cgroup_v1_id, HARVEST_V1_FREEZER, row);
	if (rc < 0) {
		free_row(h, row, &owner);
		return rc;
	}
	memset(h->has_put, 0, sizeof(h->has_put));
	*ret_row = row;
	return 0;
}

/* A living slurmd answers for all, so that the rows are looked through only without one. */
static bool is_in_use(struct harvest *h)
{
	struct harvest_census c = { 0 };

	census_users(h, /* reap= */ false, &c);
	if (!c.users)
		census_rows(h, /* reap= */ false, &c);
	return c.users || c.rows;
}

void harvest_release(struct harvest *h, uint32_t row)
{
	struct harvest_owner owner;
	_cleanup_close_ int lock = -1;

	if (bpfsys_lookup(h->owners, &row, &owner) < 0 || owner.pid != (uint32_t)getpid())
		return;
	free_row(h, row, &owner);
	if (is_in_use(h))
		return;
	/* Nobody left, Slurm is gone. Busy: somebody is just loading or unloading. */
	if (harvest_lock(h->dir, /* wait= */ false, &lock, NULL) < 0)
		return;
	if (!is_in_use(h))
		harvest_unpin(h->dir, HARVEST_DIR);
}

/* --- reading ------------------------------------------------------------------------------ */

static void add_counters(struct harvest_counters *to, const struct harvest_counters *c)
{
	to->rchar += c->rchar;
	to->wchar += c->wchar;
	to->syscr += c->syscr;
	to->syscw += c->syscw;
	to->read_bytes += c->read_bytes;
	to->write_bytes += c->write_bytes;
	to->run_ns += c->run_ns;
	to->switches += c->switches;
	to->faults += c->faults;
	to->tasks += c->tasks;
}

static int add_living(const char *path, uint32_t row, struct harvest_counters *sum)
{
	struct harvest_living one;
	_cleanup_fclose_ FILE *f = fopen(path, "re");

	if (!f)
		return -errno;
	while (fread(&one, sizeof(one), 1, f) == 1)
		if (one.row == row)
			add_counters(sum, &one.c);
	return ferror(f) ? -EIO : 0;
}

static void put(struct harvest *h, struct figures *f, enum metric m, uint64_t value)
{
	if (figures_has(f, m) && !(h->has_put[m] && h->put[m] == f->value[m]))
		return;
	figures_set(f, m, value);
	h->put[m] = value;
	h->has_put[m] = true;
}

static void miss(struct figures *f, enum metric m, enum metric_reason reason)
{
	if (!figures_has(f, m))
		figures_miss(f, m, reason);
}

int harvest_read(struct harvest *h, uint32_t row, struct figures *f)
{
	struct harvest_row ended;
	int rc = bpfsys_lookup(h->rows, &row, &ended);

	if (rc < 0)
		return rc;
	/* in this order, or a task that exits in between would count twice */
	rc = add_living(h->living, row, &ended.ended);
	if (rc < 0)
		return rc;
	if (h->features & HARVEST_HAS_CHARS) {
		put(h, f, METRIC_IO_READ_BYTES, ended.ended.rchar);
		put(h, f, METRIC_IO_WRITE_BYTES, ended.ended.wchar);
		put(h, f, METRIC_IO_READ_CALLS, ended.ended.syscr);
		put(h, f, METRIC_IO_WRITE_CALLS, ended.ended.syscw);
	}
	if (h->features & HARVEST_HAS_STORAGE) {
		put(h, f, METRIC_STORAGE_READ_BYTES, ended.ended.read_bytes);
		put(h, f, METRIC_STORAGE_WRITE_BYTES, ended.ended.write_bytes);
	}
	put(h, f, METRIC_CPU_TIME, ended.ended.run_ns);
	put(h, f, METRIC_CONTEXT_SWITCHES, ended.ended.switches);
	put(h, f, METRIC_PAGE_FAULTS, ended.ended.faults);
	harvest_miss(f, REASON_NO_BPF); /* what this kernel does not count */
	return 0;
}

void harvest_miss(struct figures *f, enum metric_reason reason)
{
	static const enum metric ours[] = {
		METRIC_IO_READ_BYTES,	    METRIC_IO_WRITE_BYTES,	METRIC_IO_READ_CALLS,
		METRIC_IO_WRITE_CALLS,	    METRIC_STORAGE_READ_BYTES,	METRIC_STORAGE_WRITE_BYTES,
		METRIC_CPU_TIME,	    METRIC_CONTEXT_SWITCHES,	METRIC_PAGE_FAULTS,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ours); i++)
		miss(f, ours[i], reason);
}

/* --- the pins ----------------------------------------------------------------------------- */

int harvest_lock(const char *dir, bool wait, int *ret_fd, struct errmsg *err)
{
	struct stat locked, named;
	int attempt;

	for (attempt = 0; attempt < 10; attempt++) {
		_cleanup_close_ int fd = -1;

		if (mkdir(dir, 0700) < 0 && errno != EEXIST)
			return errmsg_errno(err, -errno, "cannot create %s", dir);
		fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			return errmsg_errno(err, -errno, "cannot open %s", dir);
		if (flock(fd, LOCK_EX | (wait ? 0 : LOCK_NB)) < 0)
			return errmsg_errno(err, -errno, "cannot lock %s", dir);
		/* the one who held it may have removed the folder */
		if (fstat(fd, &locked) == 0 && stat(dir, &named) == 0 &&
		    locked.st_ino == named.st_ino) {
			*ret_fd = TAKE_FD(fd);
			return 0;
		}
	}
	return errmsg_errno(err, -EBUSY, "cannot lock %s", dir);
}

void harvest_unpin(const char *dir, const char *sub)
{
	char path[PATH_MAX];
	struct dirent *e;
	DIR *d;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, sub) >= sizeof(path))
		return;
	d = opendir(path);
	if (!d)
		return;
	while ((e = readdir(d)))
		if (e->d_name[0] != '.')
			(void)unlinkat(dirfd(d), e->d_name, 0);
	(void)closedir(d);
	(void)rmdir(path);
	(void)rmdir(dir);
}
