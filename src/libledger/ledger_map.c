/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ledger_map.c - makes, takes over and opens the ledger's file.
 */
#include "src/libledger/ledger_map.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "src/libutil/clock.h"
#include "src/libutil/crc32c.h"
#include "src/libutil/fileio.h"
#include "src/libutil/logger.h"
#include "src/libutil/pages.h"

#define BOOT_ID "/proc/sys/kernel/random/boot_id"

_Static_assert(sizeof(struct ledger_header) % 8 == 0, "no padding behind the header");
_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "atomics that processes share must be lock-free");

static int read_boot_id(char *buf, size_t size, struct errmsg *err)
{
	_cleanup_close_ int fd = open(BOOT_ID, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return errmsg_errno(err, -errno, "%s: cannot open", BOOT_ID);
	n = fileio_pread_all(fd, buf, size);
	if (n < 0)
		return errmsg_errno(err, (int)n, "%s: cannot read", BOOT_ID);
	buf[strcspn(buf, "\n")] = '\0';
	return 0;
}

uint32_t ledger_map_crc(const struct ledger_header *h)
{
	return crc32c(0, h, offsetof(struct ledger_header, crc32c));
}

int ledger_map_header(struct ledger_header *h, const char *node, struct errmsg *err)
{
	int rc;

	memset(h, 0, sizeof(*h));
	memcpy(h->magic, LEDGER_MAGIC, sizeof(h->magic));
	h->version = LEDGER_VERSION;
	h->header_bytes = sizeof(struct ledger_header);
	h->page_bytes = sizeof(struct ledger_page);
	h->slot_bytes = sizeof(struct ledger_slot);
	h->steps = LEDGER_STEPS;
	h->jobs = LEDGER_JOBS;
	rc = read_boot_id(h->boot_id, sizeof(h->boot_id), err);
	if (rc < 0)
		return rc;
	(void)snprintf(h->node, sizeof(h->node), "%s", node);
	h->created_wall_ns = clock_wall_ns();
	h->crc32c = ledger_map_crc(h);
	return 0;
}

static int make_path(char *path, size_t size, const char *dir, const char *node, struct errmsg *err)
{
	int n;

	if (!*node || strchr(node, '/') || strlen(node) >= sizeof(((struct ledger *)0)->node))
		return errmsg_set(err, -EINVAL, "'%s' is not a node name", node);
	n = snprintf(path, size, "%s/%s.ledger", dir, node);
	if (n < 0 || (size_t)n >= size - sizeof(".2147483647"))
		return errmsg_set(err, -ENAMETOOLONG, "%s/%s.ledger: path too long", dir, node);
	return 0;
}

static int map_file(struct ledger *l, int fd, int prot)
{
	void *p = mmap(NULL, sizeof(struct ledger_file), prot, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return -errno;
	l->file = p;
	return 0;
}

/* --- whose file is it? ------------------------------------------------------------------ */

/* Checks the indices in a page: a wrong one would lead outside the mapping. */
static bool page_is_sane(const struct ledger_page *p)
{
	size_t i;

	if (p->nsteps > LEDGER_STEPS || p->njobs > LEDGER_JOBS || p->nparts > PARTS_MAX)
		return false;
	for (i = 0; i < SOURCE_N; i++)
		if (p->state[i].ncounters > SOURCE_MAX_COUNTERS)
			return false;
	for (i = 0; i < DOMAIN_N; i++)
		if (p->domain_source[i] > SOURCE_N)
			return false;
	for (i = 0; i < p->nparts; i++)
		if (p->part[i].domain >= DOMAIN_N || p->part[i].source >= SOURCE_N)
			return false;
	for (i = 0; i < LEDGER_STEPS; i++) /* all of them, because later ticks use also those beyond nsteps */
		if (p->step[i].job > p->njobs)
			return false;
	return true;
}

static bool has_end(const char *path)
{
	return strnlen(path, CGROUP_PATH_MAX) < CGROUP_PATH_MAX;
}

static bool slots_are_sane(const struct ledger_slot *slot)
{
	size_t i;

	for (i = 0; i < LEDGER_STEPS; i++)
		if (atomic_load(&slot[i].state) > SLOT_LEFT || !has_end(slot[i].cgroup.v2) ||
		    !has_end(slot[i].cgroup.cpuacct) || !has_end(slot[i].cgroup.freezer))
			return false;
	return true;
}

static bool file_is_sane(const struct ledger_file *f)
{
	return page_is_sane(&f->page[atomic_load(&f->turns) & 1]) && slots_are_sane(f->slot);
}

/* Checks the header. -ENOENT: it is of another boot. -EPROTO: it has another layout, or is damaged. */
static int check_header(const struct ledger_header *h, const char *node)
{
	struct ledger_header want;
	int rc = ledger_map_header(&want, node, NULL);

	if (rc < 0)
		return rc;
	if (h->crc32c != ledger_map_crc(h))
		return -EPROTO;
	want.created_wall_ns = h->created_wall_ns;
	if (memcmp(h->boot_id, want.boot_id, sizeof(want.boot_id))) {
		memcpy(want.boot_id, h->boot_id, sizeof(want.boot_id));
		want.crc32c = ledger_map_crc(&want);
		return memcmp(h, &want, sizeof(want)) ? -EPROTO : -ENOENT;
	}
	want.crc32c = ledger_map_crc(&want);
	return memcmp(h, &want, sizeof(want)) ? -EPROTO : 0;
}

/*
 * Checks that only root or our user can write to the file. Another writer could kill the daemon by
 * truncating the mapped file, or forge indices. LedgerDir may be a folder where others create files.
 */
static bool is_for_daemons(const struct stat *st)
{
	return (st->st_uid == geteuid() || !st->st_uid) && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

static int map_existing(struct ledger *l, int fd, int prot)
{
	struct stat st;
	int rc;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size != sizeof(struct ledger_file))
		return -EPROTO;
	if ((prot & PROT_WRITE) && !is_for_daemons(&st))
		return -EPROTO;
	rc = map_file(l, fd, prot);
	if (rc < 0)
		return rc;
	l->dev = st.st_dev;
	l->ino = st.st_ino;
	return check_header(&l->file->header, l->node);
}

static void ledger_map_unmap(struct ledger *l)
{
	if (l->file)
		(void)munmap(l->file, sizeof(*l->file));
	l->file = NULL;
}

/* --- making ----------------------------------------------------------------------------- */

static void init_page(struct ledger_page *p)
{
	size_t i;

	for (i = 0; i < DOMAIN_N; i++)
		p->domain_source[i] = SOURCE_N; /* none; 0 would be the first source */
}

/* Locks the new file FD and allocates all its blocks: writing to a mapped hole of a full disk kills us. */
static int fill_new(struct ledger *l, int fd, struct errmsg *err)
{
	struct ledger_header header;
	int rc = ledger_map_header(&header, l->node, err);

	if (rc < 0)
		return rc;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return -errno;
	rc = -posix_fallocate(fd, 0, sizeof(struct ledger_file));
	if (rc < 0)
		return rc;
	rc = map_file(l, fd, PROT_READ | PROT_WRITE);
	if (rc < 0)
		return rc;
	init_page(&l->file->page[0]);
	init_page(&l->file->page[1]);
	l->file->header = header;
	return 0;
}

/*
 * Makes a new ledger. The file is complete and locked before it gets the name PATH. If REPLACE, it
 * replaces the existing file, whose lock the caller holds. -EEXIST: another process made PATH meanwhile.
 */
static int make_new(struct ledger *l, const char *path, bool replace, struct errmsg *err)
{
	_cleanup_close_ int fd = -1;
	char tmp[PATH_MAX];
	int rc;

	(void)snprintf(tmp, sizeof(tmp), "%s.%d", path, (int)getpid()); /* make_path() left room */
	(void)unlink(tmp);
	fd = open(tmp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return errmsg_errno(err, -errno, "%s: cannot create", tmp);
	rc = fill_new(l, fd, err);
	if (rc == 0 && replace && rename(tmp, path) < 0)
		rc = -errno;
	if (rc == 0 && !replace && link(tmp, path) < 0)
		rc = -errno;
	(void)unlink(tmp);
	if (rc < 0) {
		ledger_map_unmap(l);
		return errmsg_errno(err, rc, "%s: cannot create", path);
	}
	l->fd = TAKE_FD(fd);
	return 0;
}

static bool is_still_named(int fd, const char *path)
{
	struct stat a;
	struct stat b;

	return fstat(fd, &a) == 0 && lstat(path, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Overwrites the other page, which the former sampler may have left half-written, with the current one. */
static void resume(struct ledger *l)
{
	uint32_t turns = atomic_load(&l->file->turns);

	memcpy(ledger_map_page(l, turns + 1), ledger_map_page(l, turns), sizeof(struct ledger_page));
	l->maker->seen = l->maker->begun = atomic_load(&l->file->served);
}

/*
 * Takes over the ledger at PATH, or makes a new one. -EAGAIN: another process made or replaced it meanwhile.
 */
static int take_over(struct ledger *l, const char *path, bool *ret_fresh, struct errmsg *err)
{
	_cleanup_close_ int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	int rc;

	if (fd < 0 && errno == ENOENT) {
		rc = make_new(l, path, /* replace= */ false, err);
		*ret_fresh = true;
		return rc == -EEXIST ? -EAGAIN : rc;
	}
	if (fd < 0)
		return errmsg_errno(err, -errno, "%s: cannot open", path);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errmsg_set(err, errno == EWOULDBLOCK ? -EBUSY : -errno,
				  "%s: held by another slurmd of this node name", path);
	if (!is_still_named(fd, path))
		return -EAGAIN;
	rc = map_existing(l, fd, PROT_READ | PROT_WRITE);
	if (rc == 0 && file_is_sane(l->file)) {
		resume(l);
		l->fd = TAKE_FD(fd);
		*ret_fresh = false;
		return 0;
	}
	ledger_map_unmap(l);
	if (rc < 0 && rc != -EPROTO && rc != -ENOENT)
		return errmsg_errno(err, rc, "%s: cannot map", path);
	*ret_fresh = true;
	/* -ENOENT, a ledger of another boot, is normal after each boot */
	if (rc != -ENOENT)
		logger_error("%s is of another version of the plugin, or damaged; a new ledger is begun, "
			     "earlier usage of running steps is lost",
			     path);
	return make_new(l, path, /* replace= */ true, err);
}

static int ledger_alloc(const char *node, struct ledger **ret)
{
	struct ledger *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->fd = -1;
	(void)snprintf(l->node, sizeof(l->node), "%s", node);
	*ret = l;
	return 0;
}

/* On failure, L is freed. */
static int make_maker(struct ledger *l)
{
	l->maker = pages_alloc(sizeof(*l->maker));
	if (l->maker)
		return 0;
	ledger_close(l);
	return -ENOMEM;
}

int ledger_create(const char *dir, const char *node, struct ledger **ret, bool *ret_fresh, struct errmsg *err)
{
	char path[PATH_MAX];
	struct ledger *l;
	bool fresh = false;
	int tries = 0;
	int rc = make_path(path, sizeof(path), dir, node, err);

	if (rc == 0)
		rc = fileio_mkdir_p(dir, 0755, err);
	if (rc < 0)
		return rc;
	rc = ledger_alloc(node, &l);
	if (rc == 0)
		rc = make_maker(l);
	if (rc < 0)
		return errmsg_set(err, rc, "%s: out of memory", path);
	do {
		rc = take_over(l, path, &fresh, err);
	} while (rc == -EAGAIN && ++tries < 10);
	if (rc < 0) {
		ledger_close(l);
		return rc == -EAGAIN ?
			       errmsg_set(err, -EBUSY, "%s: other processes keep replacing the file", path) :
			       rc;
	}
	*ret = l;
	if (ret_fresh)
		*ret_fresh = fresh;
	return 0;
}

int ledger_open(const char *dir, const char *node, bool writable, struct ledger **ret, struct errmsg *err)
{
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX];
	struct ledger *l;
	int rc = make_path(path, sizeof(path), dir, node, err);

	if (rc < 0)
		return rc;
	fd = open(path, (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return errmsg_errno(err, -errno, "%s: cannot open", path);
	rc = ledger_alloc(node, &l);
	if (rc < 0)
		return errmsg_set(err, rc, "%s: out of memory", path);
	rc = map_existing(l, fd, writable ? PROT_READ | PROT_WRITE : PROT_READ);
	if (rc < 0) {
		ledger_close(l);
		if (rc == -EPROTO)
			return errmsg_set(err, rc, "%s: not a ledger of this version", path);
		if (rc == -ENOENT)
			return errmsg_set(err, rc, "%s: of an earlier boot", path);
		return errmsg_errno(err, rc, "%s: cannot map", path);
	}
	*ret = l;
	return 0;
}

bool ledger_is_replaced(const struct ledger *l, const char *dir)
{
	char path[PATH_MAX];
	struct stat st;

	return make_path(path, sizeof(path), dir, l->node, NULL) == 0 && lstat(path, &st) == 0 &&
	       (st.st_dev != l->dev || st.st_ino != l->ino);
}

void ledger_close(struct ledger *l)
{
	if (!l)
		return;
	ledger_map_unmap(l);
	if (l->fd >= 0) {
		/*
		 * close() alone keeps the lock while a child of fork() that has not called
		 * exec has a copy of the fd
		 */
		(void)flock(l->fd, LOCK_UN);
		(void)close(l->fd);
	}
	pages_free(l->maker, sizeof(*l->maker));
	free(l);
}

const char *ledger_node(const struct ledger *l)
{
	return l->node;
}

/* --- shared words ----------------------------------------------------------------------- */

#define SEQ_TRIES 1000

typedef uint32_t __attribute__((may_alias)) shared_word;

_Static_assert(sizeof(struct values) % sizeof(shared_word) == 0 &&
		       sizeof(struct ledger_live) % sizeof(shared_word) == 0 &&
		       sizeof(struct gpu_slices) % sizeof(shared_word) == 0 &&
		       sizeof(struct source_notes) % sizeof(shared_word) == 0,
	       "copied by words");

/* Not memcpy(): to write what another thread reads is undefined, unless both are atomic. */
void ledger_seq_write(void *to, const void *from, size_t size)
{
	const shared_word *f = from;
	shared_word *t = to;
	size_t i;

	for (i = 0; i < size / sizeof(*t); i++)
		__atomic_store_n(&t[i], f[i], __ATOMIC_RELAXED);
}

static void ledger_seq_copy(void *to, const void *from, size_t size)
{
	const shared_word *f = from;
	shared_word *t = to;
	size_t i;

	for (i = 0; i < size / sizeof(*t); i++)
		t[i] = __atomic_load_n(&f[i], __ATOMIC_RELAXED);
}

bool ledger_seq_read(const _Atomic uint32_t *seq, void *to, const void *from, size_t size)
{
	unsigned int i;

	for (i = 0; i < SEQ_TRIES; i++) {
		uint32_t before = atomic_load(seq);

		ledger_seq_copy(to, from, size);
		atomic_thread_fence(memory_order_seq_cst);
		if (!(before & 1) && atomic_load(seq) == before)
			return true;
	}
	return false;
}

/* --- mount points ----------------------------------------------------------------------- */

void ledger_set_mounts(struct ledger *l, const struct cgmount_points *mounts)
{
	atomic_store(&l->file->mounts_known, 0);
	l->file->mounts = *mounts;
	atomic_store(&l->file->mounts_known, 1);
}

bool ledger_mounts(const struct ledger *l, struct cgmount_points *ret)
{
	/* while another slurmd takes over, a path may be half-written; then no file has that path */
	if (!atomic_load(&l->file->mounts_known))
		return false;
	*ret = l->file->mounts;
	ret->v2[sizeof(ret->v2) - 1] = '\0';
	ret->cpuacct[sizeof(ret->cpuacct) - 1] = '\0';
	ret->freezer[sizeof(ret->freezer) - 1] = '\0';
	return true;
}

void ledger_set_slices(struct ledger *l, const struct gpu_slices *slices)
{
	uint32_t seq = ledger_seq_begin(&l->file->slices_seq);

	ledger_seq_write(&l->file->slices, slices, sizeof(*slices));
	ledger_seq_end(&l->file->slices_seq, seq);
}

void ledger_slices(const struct ledger *l, struct gpu_slices *ret)
{
	if (!ledger_seq_read(&l->file->slices_seq, ret, &l->file->slices, sizeof(*ret)) ||
	    ret->n > GPU_SLICES_MAX)
		ret->n = 0;
}

/* --- while slurmd is away --------------------------------------------------------------- */

void ledger_notes(const struct ledger *l, struct source_notes *ret)
{
	if (!ledger_seq_read(&l->file->notes_seq, ret, &l->file->notes, sizeof(*ret)) ||
	    ret->n > SOURCE_MAX_COUNTERS || ret->base_mono_ns != ledger_current(l)->t_mono_ns)
		ret->n = 0;
}

int ledger_note_away(struct ledger *l, const char *dir, ledger_note_fn *fn, void *arg)
{
	const struct ledger_page *page = ledger_current(l);
	struct source_notes notes;
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX];
	uint32_t seq;
	int rc = make_path(path, sizeof(path), dir, l->node, NULL);

	if (rc < 0)
		return rc;
	if (ledger_is_replaced(l, dir))
		return -ESTALE;
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? -EBUSY : -errno;
	ledger_notes(l, &notes);
	if (!notes.n)
		notes = (struct source_notes){ .base_mono_ns = page->t_mono_ns };
	fn(arg, page, &notes);
	seq = ledger_seq_begin(&l->file->notes_seq);
	ledger_seq_write(&l->file->notes, &notes, sizeof(notes));
	ledger_seq_end(&l->file->notes_seq, seq);
	(void)flock(fd, LOCK_UN); /* a child of fork() may have a copy of the fd for a moment */
	return 0;
}
