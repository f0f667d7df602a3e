/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* pipe2, memfd_create */
#include "src/libmeter/activity/fsio.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "src/libcore/fsroles.h"
#include "src/libmeter/activity/mounts.h"
#include "src/libutil/util.h"

/* The most mount namespaces of a step whose mounts are learned. Further ones get no names. */
#define NAMESPACES_MAX 64
/* The kernel's own file systems, such as that of pipes, which are not mounted. */
#define INTERNAL_N 4

struct fsio {
	uint32_t slot, shards;
	int fd, places_fd; /* descriptors of two maps, borrowed */
	char roles[sizeof(((struct settings *)0)->filesystems)];
	struct mounts *mounts;
	struct {
		uint32_t device;
		const char *name;
	} internal[INTERNAL_N];
	struct {
		ino_t ino;
		uint32_t unknown; /* devices that had no name even after this namespace's mounts were read */
	} seen[NAMESPACES_MAX];
	size_t nseen;
	struct probes_fs fs; /* the last reading */
};

/* --- names -------------------------------------------------------------------------------- */

/*
 * Learns the device numbers of the kernel's own file systems by opening a file of each, since the
 * numbers depend on the boot.
 */
static void learn_internal(struct fsio *io)
{
	int pipes[2] = { -1, -1 };
	const struct {
		const char *name;
		int fd;
	} kind[] = {
		{ "pipe", pipe2(pipes, O_CLOEXEC) < 0 ? -1 : pipes[0] },
		{ "socket", socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) },
		{ "anon", eventfd(0, EFD_CLOEXEC) },
		{ "memory", memfd_create("ceems", MFD_CLOEXEC) },
	};
	struct stat st;
	size_t i;

	_Static_assert(ARRAY_SIZE(kind) == INTERNAL_N, "a name for each");
	for (i = 0; i < INTERNAL_N; i++) {
		io->internal[i].name = kind[i].name;
		if (kind[i].fd < 0)
			continue;
		if (fstat(kind[i].fd, &st) == 0)
			io->internal[i].device = major(st.st_dev) << 20 | minor(st.st_dev);
		(void)close(kind[i].fd);
	}
	if (pipes[1] >= 0)
		(void)close(pipes[1]);
}

static const char *internal_name(const struct fsio *io, uint32_t device)
{
	size_t i;

	for (i = 0; i < INTERNAL_N; i++)
		if (io->internal[i].device == device)
			return io->internal[i].name;
	return NULL;
}

/* Copies a mount point, whose name a user may have chosen, and masks control characters. */
static void copy_masked(char *to, size_t size, const char *from)
{
	size_t i;

	for (i = 0; i + 1 < size && from[i]; i++)
		to[i] = (unsigned char)from[i] < 0x20 || from[i] == 0x7f ? '?' : from[i];
	to[i] = '\0';
}

/* The most folders in a path of struct probes_fs_mount. */
#define FOLDERS_MAX (sizeof(((struct probes_fs_mount *)0)->path) / 2)

static void join_folders(const struct probes_fs_mount *m, char *path, size_t size)
{
	const char *folder[FOLDERS_MAX], *p = m->path, *end = m->path + sizeof(m->path);
	size_t n, used = 0;

	for (n = 0; n < FOLDERS_MAX && p < end && *p; p += strnlen(p, (size_t)(end - p)) + 1)
		folder[n++] = p;
	(void)snprintf(path, size, "/");
	while (n-- && used < size)
		used += (size_t)snprintf(path + used, size - used, "/%s", folder[n]);
}

/*
 * Finds a file system that is in none of the learned namespaces, by what the BPF program
 * saw. Its path may be empty.
 */
static bool find_told(const struct fsio *io, size_t place, struct detail_fs *fs)
{
	const struct probes_fs_place key = { .slot = io->slot, .place = (uint32_t)place };
	struct probes_fs_mount m;
	char path[sizeof(m.path) + 2];

	if (io->places_fd < 0 || bpfsys_lookup(io->places_fd, &key, &m) < 0 ||
	    m.device != io->fs.device[place])
		return false;
	m.type[sizeof(m.type) - 1] = m.path[sizeof(m.path) - 1] = '\0';
	copy_masked(fs->type, sizeof(fs->type), m.type);
	if (m.has_path) {
		join_folders(&m, path, sizeof(path));
		copy_masked(fs->mount, sizeof(fs->mount), path);
	}
	return m.has_path;
}

static void set_name(const struct fsio *io, size_t place, struct detail_fs *fs)
{
	uint32_t device = place == PROBES_FS ? 0 : io->fs.device[place];
	const struct mount_point *m = mounts_find(io->mounts, device);
	const char *internal = internal_name(io, device);

	if (!device) {
		copy_masked(fs->mount, sizeof(fs->mount), "others");
	} else if (m) {
		copy_masked(fs->mount, sizeof(fs->mount), m->path);
		copy_masked(fs->type, sizeof(fs->type), m->type);
	} else if (internal) {
		copy_masked(fs->mount, sizeof(fs->mount), internal);
	} else if (!find_told(io, place, fs)) {
		(void)snprintf(fs->mount, sizeof(fs->mount), "%u:%u", device >> 20, device & 0xfffff);
	}
}

/* --- reading ------------------------------------------------------------------------------ */

static int read_rows(struct fsio *io)
{
	return bpfsys_lookup(io->fd, &io->slot, &io->fs);
}

static uint32_t count_unknown(const struct fsio *io)
{
	uint32_t n = 0;
	size_t i;

	for (i = 0; i < PROBES_FS; i++)
		n += io->fs.device[i] && !internal_name(io, io->fs.device[i]) &&
		     !mounts_find(io->mounts, io->fs.device[i]);
	return n;
}

void fsio_learn(struct fsio *io, pid_t pid)
{
	char path[64];
	struct stat st;
	size_t i;

	(void)snprintf(path, sizeof(path), "/proc/%ld/ns/mnt", (long)pid);
	if (stat(path, &st) < 0 || read_rows(io) < 0)
		return;
	for (i = 0; i < io->nseen && io->seen[i].ino != st.st_ino; i++)
		;
	if (i == NAMESPACES_MAX || (i < io->nseen && count_unknown(io) <= io->seen[i].unknown))
		return;
	if (mounts_learn(io->mounts, pid) < 0)
		return; /* the process has just ended */
	io->seen[i].ino = st.st_ino;
	io->seen[i].unknown = count_unknown(io);
	if (i == io->nseen)
		io->nseen++;
}

static void add_row(struct detail_fs *to, const struct probes_fs_row *row)
{
	to->read_bytes += row->read_bytes;
	to->write_bytes += row->write_bytes;
	to->read_calls += row->read_calls;
	to->write_calls += row->write_calls;
	to->read_errors += row->read_errors;
	to->write_errors += row->write_errors;
}

static void add_fs(struct detail_fs *to, const struct detail_fs *fs)
{
	to->read_bytes += fs->read_bytes;
	to->write_bytes += fs->write_bytes;
	to->read_calls += fs->read_calls;
	to->write_calls += fs->write_calls;
	to->read_errors += fs->read_errors;
	to->write_errors += fs->write_errors;
}

static bool has_calls(const struct detail_fs *fs)
{
	return fs->read_calls || fs->write_calls;
}

/*
 * Sums the shards of place N; the place after the last one is that of "others". If the map was too
 * busy, a device may have two places; the first gets the sum of both.
 */
static void sum_place(const struct fsio *io, size_t n, struct detail_fs *ret)
{
	uint32_t shard;
	size_t i;

	memset(ret, 0, sizeof(*ret));
	if (n == PROBES_FS) {
		add_row(ret, &io->fs.others);
		set_name(io, PROBES_FS, ret);
		return;
	}
	if (!io->fs.device[n])
		return;
	for (i = 0; i < n; i++)
		if (io->fs.device[i] == io->fs.device[n])
			return;
	for (; i < PROBES_FS; i++)
		for (shard = 0; io->fs.device[i] == io->fs.device[n] && shard < io->shards; shard++)
			add_row(ret, &io->fs.row[shard][i]);
	set_name(io, n, ret);
}

/* --- by role ------------------------------------------------------------------------------ */

static void read_roles(const struct fsio *io, const struct detail_fs fs[PROBES_FS + 1], struct values *values)
{
	uint64_t read_bytes[FSROLE_N + 1] = { 0 }, write_bytes[FSROLE_N + 1] = { 0 };
	bool is_there[FSROLE_N + 1] = { false };
	const struct mount_point *m;
	enum fsrole role;
	unsigned int r;
	size_t i;

	for (i = 0; i < mounts_count(io->mounts); i++)
		is_there[fsroles_find(io->roles, mounts_at(io->mounts, i)->path)] = true;
	for (i = 0; i < PROBES_FS; i++) {
		m = mounts_find(io->mounts, io->fs.device[i]);
		if (!m && fs[i].mount[0] != '/')
			continue;
		role = fsroles_find(io->roles, m ? m->path : fs[i].mount);
		is_there[role] = true;
		read_bytes[role] += fs[i].read_bytes;
		write_bytes[role] += fs[i].write_bytes;
	}
	for (r = 0; r < FSROLE_N; r++) {
		/* I/O to "others" may belong to any role, so with such I/O no role is known */
		enum metric_reason reason = !is_there[r]	      ? REASON_NO_DEVICE :
					    has_calls(&fs[PROBES_FS]) ? REASON_NO_SLOT :
									REASON_NONE;

		role = (enum fsrole)r;
		if (reason == REASON_NONE) {
			values_set(values, fsrole_read_metric(role), read_bytes[r]);
			values_set(values, fsrole_write_metric(role), write_bytes[r]);
		} else {
			values_miss(values, fsrole_read_metric(role), reason);
			values_miss(values, fsrole_write_metric(role), reason);
		}
	}
}

static void read_errors(const struct detail_fs fs[PROBES_FS + 1], struct values *values)
{
	uint64_t reads = 0, writes = 0;
	size_t i;

	for (i = 0; i <= PROBES_FS; i++) {
		reads += fs[i].read_errors;
		writes += fs[i].write_errors;
	}
	values_set(values, METRIC_IO_READ_ERRORS, reads);
	values_set(values, METRIC_IO_WRITE_ERRORS, writes);
}

/* --- the step's --------------------------------------------------------------------------- */

static int by_bytes(const void *a, const void *b)
{
	const struct detail_fs *x = a, *y = b;
	uint64_t x_bytes = x->read_bytes + x->write_bytes, y_bytes = y->read_bytes + y->write_bytes;

	if (x_bytes != y_bytes)
		return x_bytes > y_bytes ? -1 : 1;
	return strcmp(x->mount, y->mount);
}

_Static_assert(DETAIL_FS == PROBES_FS, "one more than that is with the others");

int fsio_read(struct fsio *io, struct values *values, struct step_detail *detail)
{
	_cleanup_free_ struct detail_fs *fs = NULL;
	size_t i, n = 0;
	int rc = read_rows(io);

	if (rc == 0) {
		fs = calloc(PROBES_FS + 1, sizeof(*fs));
		rc = fs ? 0 : -ENOMEM;
	}
	if (rc < 0) {
		fsio_miss(values, REASON_FAILED);
		return rc;
	}
	for (i = 0; i <= PROBES_FS; i++)
		sum_place(io, i, &fs[i]);
	read_roles(io, fs, values);
	read_errors(fs, values);
	for (i = 0; i < PROBES_FS; i++)
		if (has_calls(&fs[i]))
			fs[n++] = fs[i];
	qsort(fs, n, sizeof(*fs), by_bytes);
	if (has_calls(&fs[PROBES_FS])) {
		if (n == DETAIL_FS)
			add_fs(&fs[PROBES_FS], &fs[--n]);
		fs[n++] = fs[PROBES_FS];
	}
	memcpy(detail->fs, fs, n * sizeof(*fs));
	detail->nfs = (uint32_t)n;
	return 0;
}

void fsio_miss(struct values *values, enum metric_reason reason)
{
	unsigned int r;

	values_miss(values, METRIC_IO_READ_ERRORS, reason);
	values_miss(values, METRIC_IO_WRITE_ERRORS, reason);
	for (r = 0; r < FSROLE_N; r++) {
		values_miss(values, fsrole_read_metric((enum fsrole)r), reason);
		values_miss(values, fsrole_write_metric((enum fsrole)r), reason);
	}
}

/* --- life --------------------------------------------------------------------------------- */

int fsio_open(struct probes *p, uint32_t slot, const struct settings *s, struct fsio **ret,
	      struct errmsg *err)
{
	const uint32_t shards = probes_shards(p);
	struct fsio *io;
	int rc;

	if (!shards || shards > PROBES_SHARDS_MAX)
		return errmsg_set(err, -EPROTO, "%s: %u shards", probes_dir(p), shards);
	io = calloc(1, sizeof(*io));
	if (!io)
		return errmsg_errno(err, -ENOMEM, "I/O by file system");
	io->slot = slot;
	io->shards = shards;
	memcpy(io->roles, s->filesystems, sizeof(io->roles));
	learn_internal(io);
	rc = probes_map(p, "fs_rows", &io->fd);
	if (probes_map(p, "fs_places", &io->places_fd) < 0)
		io->places_fd = -1;
	if (rc < 0)
		(void)errmsg_errno(err, rc, "%s: cannot open fs_rows", probes_dir(p));
	else
		rc = mounts_create(&io->mounts);
	if (rc < 0) {
		fsio_close(io);
		return rc;
	}
	*ret = io;
	return 0;
}

void fsio_close(struct fsio *io)
{
	if (!io)
		return;
	mounts_destroy(io->mounts);
	free(io);
}
