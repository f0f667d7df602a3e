/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * disk_faults.h - a disk that begins to fail. These functions are this program's, which the dynamic linker
 * prefers to libc's, also in libsqlite3. They fail for files below disk.dir, from call number disk.from on,
 * with disk.error; the first write that fails is cut short before. With disk_now_and_then each call fails
 * whose number disk.from divides. A sync that fails loses what was written since the last one, as the kernel
 * may: later syncs of that file succeed, and its pages are gone. A close that fails has closed the file.
 */
#ifndef CEEMS_DISK_FAULTS_H
#define CEEMS_DISK_FAULTS_H

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DISK_CALL __attribute__((visibility("default")))
#define DISK_FILES 32

static struct {
	const char *dir;	  /* NULL: no call fails or counts */
	unsigned int calls, from; /* from 0: no call fails */
	bool has_failed;
	int error;
	bool loses;	   /* a failed sync loses what it should have written */
	bool is_name_lost; /* the last sync of a folder has failed */
	bool is_name_kept; /* it has not */
	unsigned int nsynced;
	struct {
		ino_t ino;
		off_t size;
	} synced[DISK_FILES];
} disk;

static bool disk_now_and_then;

static void disk_begin(const char *dir, unsigned int from, int error, bool loses)
{
	memset(&disk, 0, sizeof(disk));
	disk.dir = dir;
	disk.from = from;
	disk.error = error;
	disk.loses = loses;
}

static void disk_mend(void)
{
	disk.from = 0;
}

static bool disk_has_path(const char *path)
{
	/* SQLite makes its file of shared memory again after a crash, so that is never synced */
	return disk.dir && !strncmp(path, disk.dir, strlen(disk.dir)) && !strstr(path, "-shm");
}

static bool disk_is_ours(int fd)
{
	char link[32], path[512];
	ssize_t n;

	if (!disk.dir)
		return false;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n < 0 ? 0 : n] = '\0';
	return disk_has_path(path);
}

/* Counts a call, if it IS_OURS. 0: it is to succeed; 1: it is the first to fail; 2: a later one. */
static int disk_counts(bool is_ours)
{
	if (!is_ours || ++disk.calls < disk.from || !disk.from ||
	    (disk_now_and_then && disk.calls % disk.from != 0))
		return 0;
	disk.has_failed = true;
	errno = disk.error;
	return disk.calls == disk.from && !disk_now_and_then ? 1 : 2;
}

static int disk_fails(int fd)
{
	return disk_counts(disk_is_ours(fd));
}

static ssize_t disk_write(int fd, const void *data, size_t len, off_t at, bool is_at)
{
	int fails = disk_fails(fd);

	if (fails == 2 || (fails && len < 2))
		return -1;
	len = fails ? len / 2 : len;
	return is_at ? syscall(SYS_pwrite64, fd, data, len, at) : syscall(SYS_write, fd, data, len);
}

DISK_CALL ssize_t write(int fd, const void *data, size_t len)
{
	return disk_write(fd, data, len, 0, /* is_at= */ false);
}

DISK_CALL ssize_t pwrite(int fd, const void *data, size_t len, off_t at)
{
	return disk_write(fd, data, len, at, /* is_at= */ true);
}

DISK_CALL ssize_t pwrite64(int fd, const void *data, size_t len, off64_t at)
{
	return disk_write(fd, data, len, at, /* is_at= */ true);
}

/* The size up to which a file was synced; its entry is made when it is first seen. */
static off_t *disk_synced(ino_t ino)
{
	unsigned int i;

	for (i = 0; i < disk.nsynced && disk.synced[i].ino != ino; i++)
		;
	if (i == DISK_FILES)
		return &disk.synced[0].size;
	if (i == disk.nsynced)
		disk.synced[disk.nsynced++].ino = ino;
	return &disk.synced[i].size;
}

static int disk_sync(int fd, long number)
{
	struct stat st;
	bool fails = disk_fails(fd) != 0;

	if (!disk_is_ours(fd) || fstat(fd, &st) < 0)
		return (int)syscall(number, fd);
	if (S_ISDIR(st.st_mode)) {
		disk.is_name_lost = fails;
		disk.is_name_kept = !fails;
	} else if (!fails) {
		*disk_synced(st.st_ino) = st.st_size;
	} else if (disk.loses && *disk_synced(st.st_ino) < st.st_size) {
		(void)!ftruncate(fd, *disk_synced(st.st_ino));
	}
	if (!fails)
		return (int)syscall(number, fd);
	errno = disk.error;
	return -1;
}

/* Which of the two SQLite calls depends on how it was built. */
DISK_CALL int fdatasync(int fd)
{
	return disk_sync(fd, SYS_fdatasync);
}

DISK_CALL int fsync(int fd)
{
	return disk_sync(fd, SYS_fsync);
}

/* Only a new file takes room on the disk. */
#define DISK_OPEN(name)                                                       \
	DISK_CALL int name(const char *path, int flags, ...)                  \
	{                                                                     \
		va_list ap;                                                   \
		mode_t mode;                                                  \
                                                                              \
		va_start(ap, flags);                                          \
		mode = va_arg(ap, mode_t);                                    \
		va_end(ap);                                                   \
		if ((flags & O_CREAT) && disk_counts(disk_has_path(path)))    \
			return -1;                                            \
		return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode); \
	}
DISK_OPEN(open)
DISK_OPEN(open64)

DISK_CALL int openat(int folder, const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = va_arg(ap, mode_t);
	va_end(ap);
	if ((flags & O_CREAT) && *path != '/' && disk_fails(folder))
		return -1;
	return (int)syscall(SYS_openat, folder, path, flags, mode);
}

/* Closing a folder writes nothing. */
DISK_CALL int close(int fd)
{
	struct stat st;
	bool is_file = disk.dir && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
	int fails = is_file && disk_fails(fd), error = errno, rc = (int)syscall(SYS_close, fd);

	if (!fails)
		return rc;
	errno = error;
	return -1;
}

/* Returns the error, and does not set errno. */
static int disk_fallocate(int fd, off_t at, off_t len)
{
	if (disk_fails(fd))
		return disk.error;
	return syscall(SYS_fallocate, fd, 0, at, len) < 0 ? errno : 0;
}

DISK_CALL int posix_fallocate(int fd, off_t at, off_t len)
{
	return disk_fallocate(fd, at, len);
}

DISK_CALL int posix_fallocate64(int fd, off64_t at, off64_t len)
{
	return disk_fallocate(fd, at, len);
}

DISK_CALL int rename(const char *from, const char *to)
{
	return disk_counts(disk_has_path(to)) ? -1 : (int)syscall(SYS_rename, from, to);
}

#endif
