/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * disk_faults.h - a disk that begins to fail. These functions are this program's, which the dynamic linker prefers to
 * libc's, also in libsqlite3. They fail for files below disk.dir, from call number disk.from on, with disk.error; the
 * first write that fails is cut short before. With disk_now_and_then each call fails whose number disk.from divides. A sync that fails loses what was written since the last one, as the kernel
 * may: later syncs of that file succeed, and its pages are gone.
 */
#ifndef CEEMS_DISK_FAULTS_H
#define CEEMS_DISK_FAULTS_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DISK_CALL __attribute__((visibility("default")))
#define DISK_FILES 32

static struct {
	const char *dir; /* NULL: no call fails or counts */
	unsigned int calls, from; /* from 0: no call fails */
	bool has_failed;
	int error;
	bool loses; /* a failed sync loses what it should have written */
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

static bool disk_is_ours(int fd)
{
	char link[32], path[512];
	ssize_t n;

	if (!disk.dir)
		return false;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path));
	/* SQLite makes its file of shared memory again after a crash, so that is never synced */
	return n > 0 && (size_t)n >= strlen(disk.dir) && !memcmp(path, disk.dir, strlen(disk.dir)) &&
	       memmem(path, (size_t)n, "-shm", 4) == NULL;
}

/* Counts a call. 0: it is to succeed; 1: it is the first to fail; 2: a later one. */
static int disk_fails(int fd)
{
	if (!disk_is_ours(fd) || ++disk.calls < disk.from || !disk.from ||
	    (disk_now_and_then && disk.calls % disk.from != 0))
		return 0;
	disk.has_failed = true;
	return disk.calls == disk.from && !disk_now_and_then ? 1 : 2;
}

static ssize_t disk_write(int fd, const void *data, size_t len, off_t at, bool is_at)
{
	int fails = disk_fails(fd);

	if (fails == 2 || (fails && len < 2)) {
		errno = disk.error;
		return -1;
	}
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

#endif
