/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * as_user.h - for programs that write a file of a step. They start as root, and become the user before they
 * touch anything of the user's. So they can write in a folder that only the user can write in.
 */
#ifndef CEEMS_AS_USER_H
#define CEEMS_AS_USER_H

#include <stddef.h>

#include "src/libutil/errmsg.h"

/*
 * Becomes user UID, a number, with GROUPS, such as "100,4,27": the primary group first.
 * Changes GROUPS. 0 or -errno.
 */
int as_user_become(const char *uid, char *groups);

/*
 * Creates DIR/NAME.SUFFIX or, of a job that is requeued, DIR/NAME-2.SUFFIX and so on, mode 0600. If these
 * names are taken, the name ends in a random number: in a folder that many write to, another user may have
 * taken all that can be guessed. Returns its fd and its path, or -errno.
 */
int as_user_create(const char *dir, const char *name, const char *suffix, char *path, size_t size,
		   struct errmsg *err) _must_check_;

/*
 * Creates PATH.RANDOM.tmp, mode 0600, which will be renamed to PATH. Nobody else can guess its name. Returns
 * its fd and its path, or -errno.
 */
int as_user_create_temporary(const char *path, char *temporary, size_t size, struct errmsg *err) _must_check_;

#endif
