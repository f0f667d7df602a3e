/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mariadb_walk.h - members of struct sink_db that read jobs from MariadbDatabase, as the
 * user in MariadbDefaultsFile.
 */
#ifndef CEEMS_MARIADB_WALK_H
#define CEEMS_MARIADB_WALK_H

#include "src/libcore/settings.h"
#include "src/libsink/db_walk.h"
#include "src/libutil/must_check.h"

int mariadb_walk(const struct settings *s, const struct db_walk *w, struct errmsg *err);
int mariadb_gone(const struct settings *s, uint64_t from, uint64_t to, uint64_t *ret,
		 struct errmsg *err) _must_check_;

#endif
