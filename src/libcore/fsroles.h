/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fsroles.h - parses the setting Filesystems, which gives file systems a role. With
 * "home:/home,scratch:/scratch", file systems mounted at or below /home have the role home, unless
 * a longer path matches.
 */
#ifndef CEEMS_FSROLES_H
#define CEEMS_FSROLES_H

#include <stdbool.h>
#include <stddef.h>

#include "src/libcore/metric.h"
#include "src/libutil/errmsg.h"

enum fsrole {
	FSROLE_HOME,
	FSROLE_PROJECT,
	FSROLE_SCRATCH,
	FSROLE_LOCAL,
	FSROLE_N /* no role */
};

#define FSROLE_PATH_MAX 256

/* Returns "home", "project", "scratch" or "local"; "none" for FSROLE_N. */
const char *fsrole_name(enum fsrole role);
/* Return the metrics of bytes read and written in ROLE, which must not be FSROLE_N. */
enum metric fsrole_read_metric(enum fsrole role);
enum metric fsrole_write_metric(enum fsrole role);

/*
 * Takes the next role and its path off SETTING. PATH gets no slash at its end; "" is the root.
 * Returns 1; 0 at the end; -EINVAL: malformed, ERR says what.
 */
int fsroles_next(const char **setting, enum fsrole *ret, char path[FSROLE_PATH_MAX],
		 struct errmsg *err) _must_check_;

/* Checks SETTING. -EINVAL: it is malformed, or names a path twice. */
int fsroles_check(const char *setting, struct errmsg *err);

/* Returns the role of the file system mounted at MOUNT; FSROLE_N: none. */
enum fsrole fsroles_find(const char *setting, const char *mount);

#endif
