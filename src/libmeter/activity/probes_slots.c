/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * probes_slots.c - the users of the node's BPF object: slots of steps, daemons, and their removal
 * when their process dies.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "src/libmeter/activity/probes_internal.h"
#include "src/libutil/clock.h"
#include "src/libutil/procstat.h"
#include "src/libutil/util.h"

/*
 * The inode of a hierarchy's root (fs/kernfs/dir.c numbers from 1). The root has all tasks and is
 * never a step's.
 */
#define ROOT_ID 1
/* The pause between two tries for a lock. */
#define LOCK_POLL_NS NSEC_PER_MSEC

/* --- maps --------------------------------------------------------------------------------- */

/* Returns the descriptor of a map that probes_open() has opened, so that there is no error. */
static int map_of(struct probes *p, const char *name)
{
	int fd;

	return probes_map(p, name, &fd) < 0 ? -1 : fd;
}

static int cgroups_of(struct probes *p)
{
	return map_of(p, "cgroups");
}

static int owners_of(struct probes *p)
{
	return map_of(p, "owners");
}

static int users_of(struct probes *p)
{
	return map_of(p, "users");
}

/* --- the cache ---------------------------------------------------------------------------- */

static void empty_cache(struct probes *p)
{
	const size_t size = PROBES_CACHE * sizeof(__u64);
	void *cache;

	if (probes_map_memory(p, "cache", size, PROT_READ | PROT_WRITE, &cache) < 0)
		return;
	memset(cache, 0, size);
	(void)munmap(cache, size);
}

/*
 * Raises the generation, which makes entries of the cache invalid. It has 20 bits, so before it begins again,
 * and in the middle, the cache is cleared. If the process that does this is killed, the next process does it.
 */
void probes_void_cache(struct probes *p)
{
	uint32_t *generation = &p->meta->generation;
	uint32_t now = __atomic_load_n(generation, __ATOMIC_ACQUIRE);
	uint32_t next;

	do {
		next = now + 1;
		if (!(next & PROBES_GENERATION_MASK))
			next++;
		if ((now ^ next) & PROBES_GENERATION_HALF)
			empty_cache(p);
	} while (!__atomic_compare_exchange_n(generation, &now, next, false, __ATOMIC_ACQ_REL,
					      __ATOMIC_ACQUIRE));
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

int probes_owner(struct probes *p, uint32_t slot, struct probes_owner *ret)
{
	return bpfsys_lookup(owners_of(p), &slot, ret);
}

/* Removes a cgroup, unless it was registered again and so belongs to another slot. */
static void remove_cgroup(struct probes *p, uint64_t id, uint32_t hierarchy, uint32_t slot)
{
	const struct probes_cgroup key = { .id = id, .hierarchy = hierarchy };
	uint32_t whose;

	if (id && bpfsys_lookup(cgroups_of(p), &key, &whose) == 0 && whose == slot)
		(void)bpfsys_delete(cgroups_of(p), &key);
}

static int empty_row(struct probes *p, const struct probes_by_slot *m, uint32_t slot)
{
	uint32_t shards = p->meta->shards;
	uint32_t size = probes_row_size(m->name, shards), rows = probes_rows_of_slot(m->name, shards);
	_cleanup_free_ void *zeroes = NULL;
	int fd;
	int rc = probes_map(p, m->name, &fd);

	if (rc < 0)
		return rc == -ENOENT ? 0 : rc; /* -ENOENT: the group is not loaded, so there are no rows */
	zeroes = calloc(rows, size);
	return zeroes ? bpfsys_write_range(fd, slot * rows, rows, zeroes) : -ENOMEM;
}

static int empty_rows(struct probes *p, uint32_t slot, uint32_t groups)
{
	size_t i;
	int rc = 0;

	for (i = 0; i < PROBES_BY_SLOT_N && rc == 0; i++)
		if (groups & 1u << probes_by_slot[i].group)
			rc = empty_row(p, &probes_by_slot[i], slot);
	return rc;
}

static void free_slot(struct probes *p, uint32_t slot, const struct probes_owner *owner)
{
	/* remove the cgroups before the owner: a slot without owner may be given to a new step at once */
	remove_cgroup(p, owner->cgroup_v2, PROBES_V2, slot);
	remove_cgroup(p, owner->cgroup_v1, PROBES_V1_FREEZER, slot);
	probes_void_cache(p);
	/* otherwise the next step in this slot would be counted by hardware counters without asking for it */
	(void)empty_rows(p, slot, owner->groups & 1u << PROBES_HW);
	(void)bpfsys_delete(owners_of(p), &slot);
}

/*
 * Finds the living and dead slots. They are not deleted here, since deleting an entry restarts a
 * walk of a hash map.
 */
static void count_slots(struct probes *p, struct probes_count *c, struct probes_dead *dead)
{
	struct probes_owner owner;
	uint32_t slot, prev, seen;
	int rc = bpfsys_next_key(owners_of(p), NULL, &slot);

	for (seen = 0; rc == 0 && seen < PROBES_SLOTS; seen++) {
		if (probes_owner(p, slot, &owner) < 0) {
			/* the slot was released just now */
		} else if (procstat_is_alive((pid_t)owner.pid, owner.start)) {
			c->slots++;
			c->groups |= owner.groups;
		} else if (dead->nslots < PROBES_DEAD_MAX) {
			dead->slot[dead->nslots] = slot;
			dead->owner[dead->nslots++] = owner;
		}
		prev = slot;
		rc = bpfsys_next_key(owners_of(p), &prev, &slot);
	}
}

static void count_users(struct probes *p, struct probes_count *c, struct probes_dead *dead)
{
	struct probes_user user;
	uint32_t pid, prev, seen;
	int rc = bpfsys_next_key(users_of(p), NULL, &pid);

	for (seen = 0; rc == 0 && seen < PROBES_USERS; seen++) {
		if (bpfsys_lookup(users_of(p), &pid, &user) < 0) {
			/* the user was removed just now */
		} else if (procstat_is_alive((pid_t)pid, user.start)) {
			c->users++;
		} else {
			dead->user[dead->nusers++] = pid;
		}
		prev = pid;
		rc = bpfsys_next_key(users_of(p), &prev, &pid);
	}
}

static uint32_t count_links(const struct probes *p)
{
	uint32_t n = 0;
	size_t i;
	int fd;

	for (i = 0; i < LINK_N; i++) {
		uint32_t id = __atomic_load_n(&p->meta->link[i], __ATOMIC_ACQUIRE);

		if (!id || bpfsys_open_link(id, &fd) < 0)
			continue;
		(void)close(fd);
		n++;
	}
	return n;
}

int probes_count(struct probes *p, struct probes_count *ret, struct probes_dead *ret_dead)
{
	struct probes_count c = {
		.full = __atomic_load_n(&p->meta->full, __ATOMIC_RELAXED),
		.holds = count_links(p),
	};
	struct probes_dead dead = { 0 };

	if (users_of(p) < 0)
		return -ENOENT;
	count_users(p, &c, &dead);
	count_slots(p, &c, &dead);
	*ret = c;
	if (ret_dead)
		*ret_dead = dead;
	return 0;
}

void probes_reap(struct probes *p, const struct probes_dead *dead)
{
	struct probes_owner owner;
	struct probes_user user;
	uint32_t i;

	for (i = 0; i < dead->nusers; i++)
		if (bpfsys_lookup(users_of(p), &dead->user[i], &user) == 0 &&
		    !procstat_is_alive((pid_t)dead->user[i], user.start))
			(void)bpfsys_delete(users_of(p), &dead->user[i]);
	for (i = 0; i < dead->nslots; i++)
		if (probes_owner(p, dead->slot[i], &owner) == 0 && owner.pid == dead->owner[i].pid &&
		    owner.start == dead->owner[i].start)
			free_slot(p, dead->slot[i], &owner);
}

int probes_user_add(struct probes *p, pid_t pid)
{
	struct probes_user user;
	uint32_t key = (uint32_t)pid;
	int rc = process_start(pid, &user.start);

	return rc < 0 ? rc : bpfsys_update(users_of(p), &key, &user, BPF_ANY);
}

int probes_user_remove(struct probes *p, pid_t pid)
{
	uint32_t key = (uint32_t)pid;

	return bpfsys_delete(users_of(p), &key);
}

/* --- slots -------------------------------------------------------------------------------- */

static int allocate_slot(struct probes *p, const struct probes_owner *owner, uint32_t *ret)
{
	/* begin anywhere, so that a freed slot is not reused soon */
	uint32_t first = owner->pid % PROBES_SLOTS;
	uint32_t i, slot;
	int rc;

	for (i = 0; i < PROBES_SLOTS; i++) {
		slot = 1 + (first + i) % PROBES_SLOTS;
		rc = bpfsys_update(owners_of(p), &slot, owner, BPF_NOEXIST);
		if (rc == 0) {
			*ret = slot;
			return 0;
		}
		if (rc != -EEXIST)
			return rc == -E2BIG ? -ENOSPC : rc;
	}
	return -ENOSPC;
}

/*
 * Deletes the slot's entries in the map fs_places, which has the mount points of a slot's file systems: see
 * bpf/fsio.bpf.h.
 */
static void empty_places(struct probes *p, uint32_t slot)
{
	struct probes_fs_place key = { .slot = slot };
	int fd;

	if (probes_map(p, "fs_places", &fd) < 0)
		return;
	for (key.place = 0; key.place < PROBES_FS; key.place++)
		(void)bpfsys_delete(fd, &key);
}

/*
 * Returns the caller's process id in the initial pid namespace, as a BPF program sees it. Before 5.10, the
 * program cannot be run, so this is getpid(), which is right only outside of pid namespaces. (Checking first
 * whether we are in one would take longer than running the program.)
 */
static uint32_t own_tgid(struct probes *p)
{
	uint32_t tgid;
	int fd;

	if (probes_program(p, "task_self", &fd) < 0 || bpfsys_run(fd, &tgid) < 0)
		return (uint32_t)getpid();
	return tgid;
}

static int set_fs_owner(struct probes *p, uint32_t slot, uint32_t pid)
{
	_cleanup_free_ struct probes_fs *fs = calloc(1, sizeof(*fs));
	int fd;
	int rc = fs ? probes_map(p, "fs_rows", &fd) : -ENOMEM;

	if (rc < 0)
		return rc == -ENOENT ? 0 : rc;
	fs->owner = pid;
	return bpfsys_update(fd, &slot, fs, BPF_ANY);
}

static int set_owner(struct probes *p, uint32_t slot, uint32_t pid)
{
	const struct probes_task_row row = { .owner = pid };

	return bpfsys_update(map_of(p, "task_rows"), &slot, &row, BPF_ANY);
}

static int add_cgroup(struct probes *p, uint64_t id, uint32_t hierarchy, uint32_t slot)
{
	struct probes_cgroup key = { .id = id, .hierarchy = hierarchy };

	/*
	 * overwrite an existing entry: the kernel does not reuse ids, so it is of an
	 * earlier step in this cgroup
	 */
	return id ? bpfsys_update(cgroups_of(p), &key, &slot, BPF_ANY) : 0;
}

/*
 * Frees dead slots, and returns true if there is room now. If another process holds the lock, it is freeing
 * them, and this step gets no slot.
 */
static bool reap_dead(struct probes *p)
{
	struct probes_count c;
	struct probes_dead dead;
	_cleanup_close_ int lock = -1;

	if (probes_lock(p->dir, /* wait_ns= */ 0, &lock, NULL) < 0 || probes_count(p, &c, &dead) < 0)
		return false;
	probes_reap(p, &dead);
	return dead.nslots > 0;
}

int probes_register(struct probes *p, uint64_t cgroup_v2_id, uint64_t cgroup_v1_id, uint32_t groups,
		    uint32_t *ret_slot)
{
	struct probes_owner owner = {
		.pid = (uint32_t)getpid(),
		.tgid = own_tgid(p),
		.groups = groups,
		.cgroup_v2 = cgroup_v2_id,
		.cgroup_v1 = cgroup_v1_id,
	};
	uint64_t start = 0;
	uint32_t slot;
	int rc;

	if (!cgroup_v2_id && !cgroup_v1_id)
		return -EINVAL;
	if (cgroup_v2_id == ROOT_ID || cgroup_v1_id == ROOT_ID)
		return -EINVAL;
	if (!cgroup_v2_id && !(p->meta->features & PROBES_HAS_V1))
		return -EOPNOTSUPP;
	rc = procstat_own_start(&start);
	owner.start = start;
	if (rc < 0)
		return rc;
	rc = allocate_slot(p, &owner, &slot);
	if (rc == -ENOSPC && reap_dead(p))
		rc = allocate_slot(p, &owner, &slot);
	if (rc < 0) {
		if (rc == -ENOSPC)
			(void)__atomic_fetch_add(&p->meta->full, 1, __ATOMIC_RELAXED);
		return rc;
	}
	/*
	 * rows of groups that the step did not ask for may have the counts of an earlier step; they are not
	 * read, and emptying them would take time
	 */
	rc = empty_rows(p, slot, groups | 1u << PROBES_TASKS | 1u << PROBES_TCP);
	if (rc == 0)
		rc = set_owner(p, slot, owner.tgid);
	if (rc == 0 && groups & 1u << PROBES_IO) {
		empty_places(p, slot);
		rc = set_fs_owner(p, slot, owner.tgid);
	}
	if (rc == 0)
		rc = add_cgroup(p, cgroup_v2_id, PROBES_V2, slot);
	if (rc == 0)
		rc = add_cgroup(p, cgroup_v1_id, PROBES_V1_FREEZER, slot);
	if (rc < 0) {
		free_slot(p, slot, &owner);
		return rc;
	}
	probes_void_cache(p);
	*ret_slot = slot;
	return 0;
}

/* Returns true if the object is in use. Slots are searched only if no daemon lives. */
static bool is_in_use(struct probes *p)
{
	struct probes_count c = { 0 };
	struct probes_dead dead = { 0 };

	count_users(p, &c, &dead);
	if (!c.users)
		count_slots(p, &c, &dead);
	return c.users || c.slots;
}

bool probes_leave(struct probes *p, uint32_t slot)
{
	struct probes_owner owner;

	if (probes_owner(p, slot, &owner) < 0 || owner.pid != (uint32_t)getpid())
		return false;
	free_slot(p, slot, &owner);
	return true;
}

void probes_release(struct probes *p, uint32_t slot)
{
	_cleanup_close_ int lock = -1;

	if (!probes_leave(p, slot) || is_in_use(p))
		return;
	/*
	 * Removes the object if nobody uses it. If another process has the lock, it is loading or
	 * unloading.
	 */
	if (probes_lock(p->dir, /* wait_ns= */ 0, &lock, NULL) < 0)
		return;
	if (is_in_use(p))
		return;
	probes_unpin(p->dir, PROBES_DIR);
	(void)rmdir(p->dir); /* fails if there are pins of another version, too */
}

/* --- the pins ----------------------------------------------------------------------------- */

static int flock_until(int fd, uint64_t wait_ns)
{
	const struct timespec pause = clock_ns_to_timespec(LOCK_POLL_NS);
	uint64_t start_ns = clock_mono_ns();

	if (wait_ns == UINT64_MAX)
		return flock(fd, LOCK_EX) < 0 ? -errno : 0;
	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		if (clock_mono_ns() - start_ns >= wait_ns)
			return -EWOULDBLOCK;
		(void)nanosleep(&pause, NULL);
	}
	return 0;
}

int probes_check_folder(const char *dir, const struct stat *st, struct errmsg *err)
{
	if (!S_ISDIR(st->st_mode))
		return errmsg_errno(err, -ENOTDIR, "%s", dir);
	if ((st->st_uid && st->st_uid != geteuid()) || st->st_mode & (S_IWGRP | S_IWOTH))
		return errmsg_set(err, -EPERM, "others than root may write to %s", dir);
	return 0;
}

int probes_lock(const char *dir, uint64_t wait_ns, int *ret_fd, struct errmsg *err)
{
	struct stat locked, named;
	int attempt;
	int rc;

	for (attempt = 0; attempt < 10; attempt++) {
		_cleanup_close_ int fd = -1;

		if (mkdir(dir, 0700) < 0 && errno != EEXIST)
			return errmsg_errno(err, -errno, "cannot create %s", dir);
		fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0 || fstat(fd, &locked) < 0)
			return errmsg_errno(err, -errno, "cannot open %s", dir);
		rc = probes_check_folder(dir, &locked, err);
		if (rc < 0)
			return rc;
		rc = flock_until(fd, wait_ns);
		if (rc < 0)
			return errmsg_errno(err, rc, "cannot lock %s", dir);
		/* the former holder of the lock may have removed the folder */
		if (stat(dir, &named) == 0 && locked.st_ino == named.st_ino) {
			*ret_fd = TAKE_FD(fd);
			return 0;
		}
	}
	return errmsg_errno(err, -EBUSY, "cannot lock %s", dir);
}

void probes_unpin(const char *dir, const char *sub)
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
}
