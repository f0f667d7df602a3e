/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trust.h - whether a daemon may use this file: run it (a module, a library, a helper program),
 * believe it (configuration, emission factors, a meter's values), or take a secret from it.
 * Whoever can write such a file decides what a daemon does, or what every job is charged.
 */
#ifndef CEEMS_TRUST_H
#define CEEMS_TRUST_H

#include <sys/stat.h>

#include "src/libutil/errmsg.h"

/*
 * Checks that only root, our own user or the owner of this plugin can change the file PATH. Both
 * PATH and its folder must belong to one of them and be writable by no one else; the folder may be
 * sticky, as /tmp is. Returns 0; -EPERM with the reason in ERR; else -errno, such as -ENOENT.
 */
int trust_check(const char *path, struct errmsg *err);

/*
 * Returns 0 if the file of ST at PATH may be believed. Its owner has to be root, us, the owner of
 * this plugin, or the owner of the folder of PATH, who could replace the file anyway. Nobody but its
 * owner may be able to write it. -EPERM: the reason and what to type.
 */
int trust_is_ours(const char *path, const struct stat *st, struct errmsg *err);
/* For `ceems check`: what trust_is_ours() returns in a process of USER. */
int trust_is_ours_for(uid_t user, const char *path, const struct stat *st, struct errmsg *err);

/*
 * trust_is_ours() for a file that tells a library what to do: root believes only its own. as_owner.h is for
 * the files of others.
 */
int trust_is_own(const char *path, const struct stat *st, struct errmsg *err);
/* trust_is_own() and trust_is_secret() */
int trust_is_own_secret(const char *path, const struct stat *st, struct errmsg *err);

/* Returns 0 if only its owner can read and write the file of ST; -EACCES with what to type. */
int trust_is_secret(const char *path, const struct stat *st, struct errmsg *err);

/*
 * Returns 0 if only root or our own user can read the file of ST; -EACCES with what to type. PATH
 * is for the message.
 */
int trust_is_private(const char *path, const struct stat *st, struct errmsg *err);
/* trust_is_private() for the file at PATH; -errno: stat() failed. */
int trust_check_private(const char *path, struct errmsg *err);

#endif
