/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trust.h - may a daemon run this file: a module, a library, a helper program? May a secret be in
 * it?
 */
#ifndef CEEMS_TRUST_H
#define CEEMS_TRUST_H

#include <sys/stat.h>

#include "src/libutil/errmsg.h"

/*
 * 0 if PATH, and the folder it is in, are root's, our own or of whoever owns this plugin, and nobody
 * else may write them (a folder may be like /tmp, where nobody removes another's files). -EPERM
 * with the reason; -errno: there is no such file.
 */
int trust_check(const char *path, struct errmsg *err);

/*
 * 0 if only root, or the user we run as, can use the file of ST, which PATH names in messages;
 * -EACCES with what to type.
 */
int trust_is_private(const char *path, const struct stat *st, struct errmsg *err);
/* The same of the file that is at PATH now; -errno: there is none. */
int trust_check_private(const char *path, struct errmsg *err);

#endif
