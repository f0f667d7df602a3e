/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fsroles.h - the setting Filesystems: what a site uses its file systems for. With
 * "home:/home,scratch:/scratch", what is mounted at or below /home has the role home, unless a
 * longer path matches.
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
	FSROLE_N /* none of them */
};

#define FSROLE_PATH_MAX 256

const char *fsrole_name(enum fsrole role);
enum metric fsrole_read_metric(enum fsrole role);
enum metric fsrole_write_metric(enum fsrole role);

/*
 * Steps through SETTING: the next role and its path, without slashes at its end ("" is the root).
 * Returns 1; 0 at the end; -EINVAL: another form, which ERR names.
 */
int fsroles_next(const char **setting, enum fsrole *ret, char path[FSROLE_PATH_MAX],
		 struct errmsg *err);

/* Parses SETTING. -EINVAL: it is malformed, or gives two roles to one path. */
int fsroles_check(const char *setting, struct errmsg *err);

/* The role of what is mounted at MOUNT. */
enum fsrole fsroles_find(const char *setting, const char *mount);

#endif
