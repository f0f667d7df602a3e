/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fileio.h - reads kernel files and configuration files, and replaces files atomically. Every fd is
 * O_CLOEXEC.
 */
#ifndef CEEMS_FILEIO_H
#define CEEMS_FILEIO_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "src/libutil/errmsg.h"

/*
 * Opens "<root><path>" read-only. ROOT is SysRoot; "/", "" or NULL mean the real root. Returns an
 * fd or -errno.
 */
int fileio_open_at_root(const char *root, const char *path);

/*
 * Reads the whole file of FD, from offset 0, into BUF and adds a NUL. Returns the length, -errno,
 * or -EFBIG if file and NUL do not fit into SIZE bytes. It neither allocates nor seeks, so a tick
 * may call it.
 */
ssize_t fileio_pread_all(int fd, char *buf, size_t size) _must_check_;

/*
 * Reads the one unsigned number in the file of FD, as sysfs writes it. -EINVAL: the file has
 * anything else, or is empty.
 */
int fileio_pread_u64(int fd, uint64_t *ret) _must_check_;

/*
 * Reads the first line of "<root><path>" into BUF, without its newline. Returns 0 or -errno.
 * -EFBIG: the whole file, not only its first line, has to fit into SIZE bytes.
 */
int fileio_read_line(const char *root, const char *path, char *buf, size_t size) _must_check_;

/*
 * Opens PATH read-only if it is a regular file, and writes what fstat() says to *RET. Returns an
 * fd, -EINVAL (not a regular file) or -errno.
 */
int fileio_open_regular(const char *path, struct stat *ret, struct errmsg *err) _must_check_;

/*
 * Reads the whole regular file PATH into malloc'ed memory, NUL-ended; the caller frees *RET.
 * *RET_LEN (may be NULL) is the length without the NUL. Returns 0, -EFBIG (more than MAX bytes) or
 * -errno.
 */
int fileio_read_alloc(const char *path, size_t max, char **ret, size_t *ret_len,
		      struct errmsg *err) _must_check_;
/*
 * Reads a file that decides what we do, if CHECK accepts its status: trust_is_ours(),
 * trust_is_own(), trust_is_secret(). ST may be NULL; else *ST is the
 * status. Otherwise as fileio_read_alloc().
 */
int fileio_read_checked(const char *path, size_t max,
			int (*check)(const char *path, const struct stat *st, struct errmsg *err),
			struct stat *st, char **ret, size_t *ret_len, struct errmsg *err) _must_check_;

#define FILEIO_TMP ".tmp" /* ends the name of a file that is being written; a killed writer leaves it */
/*
 * Replaces PATH by rename(), so a reader sees the old or the new content, never a part. The
 * temporary file is "<path>.tmp" and is removed when a step fails (disk full). Returns 0 or -errno.
 */
int fileio_write_atomic(const char *path, const void *data, size_t len, mode_t mode, struct errmsg *err);
/* fileio_write_atomic() that also gives the file to GROUP. */
int fileio_write_for_group(const char *path, const void *data, size_t len, mode_t mode, gid_t group,
			   struct errmsg *err);
/*
 * fileio_write_atomic() that also syncs file and folder: after a power cut PATH has the old or the
 * new content.
 */
int fileio_write_durable(const char *path, const void *data, size_t len, mode_t mode, struct errmsg *err);

/* Syncs the folder of PATH, so that a power cut does not lose the name of a new file. */
int fileio_sync_folder(const char *path);

/* Calls write(2) until all LEN bytes are written. Returns 0 or -errno. */
int fileio_write_full(int fd, const void *data, size_t len);

/*
 * Creates PATH and its parents as `mkdir -p` does; existing folders keep their mode. Returns 0 or
 * -errno.
 */
int fileio_mkdir_p(const char *path, mode_t mode, struct errmsg *err);

#endif
