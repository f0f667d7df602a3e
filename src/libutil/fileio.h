/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fileio.h - small files: kernel pseudo files kept open, configuration, atomic replacement.
 * Every fd is O_CLOEXEC.
 */
#ifndef CEEMS_FILEIO_H
#define CEEMS_FILEIO_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "src/libutil/errmsg.h"

/* Opens "<root><path>" read-only; ROOT is SysRoot, "/" or "" for the real one. fd or -errno. */
int fileio_open_at_root(const char *root, const char *path);

/*
 * Reads from offset 0 what fits into BUF and ends it with NUL. Returns the length, -errno, or
 * -EFBIG when the file does not fit. No allocation, no seek: usable every tick.
 */
ssize_t fileio_pread_all(int fd, char *buf, size_t size);

/* One unsigned number, as sysfs writes it. -EINVAL for anything else, also an empty file. */
int fileio_pread_u64(int fd, uint64_t *ret);

/* Of "<root><path>", which has to fit into BUF as a whole: the first line without its end. 0 or -errno. */
int fileio_read_line(const char *root, const char *path, char *buf, size_t size);

/* Opens a regular file for reading; *RET is what fstat() says of it. fd or -errno. */
int fileio_open_regular(const char *path, struct stat *ret, struct errmsg *err);

/* Whole regular file into malloc'ed, NUL-ended memory; -EFBIG above MAX bytes. */
int fileio_read_alloc(const char *path, size_t max, char **ret, size_t *ret_len,
		      struct errmsg *err);
/* The same of a file that decides what we do; *ST is its status. -EPERM: see trust_is_ours(). */
int fileio_read_ours(const char *path, size_t max, struct stat *st, char **ret, size_t *ret_len,
		     struct errmsg *err);

/*
 * Replaces PATH in one rename, so that a reader sees the old or the new content, never a part.
 * The temporary file is "<path>.tmp"; it is gone again when a step fails (disk full).
 */
int fileio_write_atomic(const char *path, const void *data, size_t len, mode_t mode,
			struct errmsg *err);
/* fileio_write_atomic(), and the file belongs to GROUP. */
int fileio_write_for_group(const char *path, const void *data, size_t len, mode_t mode, gid_t group,
			   struct errmsg *err);
/* fileio_write_atomic(), and on the disk when it returns: also after a power cut it is one of the two. */
int fileio_write_durable(const char *path, const void *data, size_t len, mode_t mode,
			 struct errmsg *err);

/* write(2) until all is out; -errno. */
int fileio_write_full(int fd, const void *data, size_t len);

/* mkdir -p; existing folders are left as they are. */
int fileio_mkdir_p(const char *path, mode_t mode, struct errmsg *err);

#endif
