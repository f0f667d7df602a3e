/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * as_user.h - for programs that write a file of a step: they start as root and become the user before they touch
 * anything of his. A folder in which only he may write is written by him.
 */
#ifndef CEEMS_AS_USER_H
#define CEEMS_AS_USER_H

#include <stddef.h>

#include "src/libutil/errmsg.h"

/* UID is a number, GROUPS is "100,4,27", his own group first; GROUPS is changed. 0 or -errno. */
int as_user_become(const char *uid, char *groups);

/*
 * Creates DIR/NAME.SUFFIX or, of a job that is requeued, DIR/NAME-2.SUFFIX and so on, mode 0600. Returns its fd and its
 * path, or -errno.
 */
int as_user_create(const char *dir, const char *name, const char *suffix, char *path, size_t size, struct errmsg *err);

#endif
