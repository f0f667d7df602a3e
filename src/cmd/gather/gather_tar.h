/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gather_tar.h - writes an archive that `tar xzf` reads (POSIX ustar, compressed by zlib).
 */
#ifndef CEEMS_GATHER_TAR_H
#define CEEMS_GATHER_TAR_H

#include <stddef.h>

#include "src/libutil/errmsg.h"

struct gather_tar;

/* Creates the file PATH, which must not exist: an archive of one node must not replace that of another. */
int gather_tar_create(const char *path, struct gather_tar **ret, struct errmsg *err) _must_check_;

/*
 * Adds a file or a symbolic link. -ENAMETOOLONG: ustar cannot hold this NAME or TARGET, and nothing is
 * written. -EIO: gather_tar_close() says more.
 */
int gather_tar_file(struct gather_tar *t, const char *name, const char *data, size_t len) _must_check_;
int gather_tar_link(struct gather_tar *t, const char *name, const char *target) _must_check_;

/* Ends the archive. If that, or any write before, failed, the file is removed. */
int gather_tar_close(struct gather_tar *t, struct errmsg *err) _must_check_;
/* Removes the archive. */
void gather_tar_drop(struct gather_tar *t);

#endif
