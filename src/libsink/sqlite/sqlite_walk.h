/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sqlite_walk.h - members of struct sink_db that read jobs from SqliteFile. A sink
 * may write at the same time.
 */
#ifndef CEEMS_SQLITE_WALK_H
#define CEEMS_SQLITE_WALK_H

#include "src/libcore/settings.h"
#include "src/libsink/db_walk.h"
#include "src/libutil/must_check.h"

int sqlite_walk(const struct settings *s, const struct db_walk *w, struct errmsg *err);
int sqlite_gone(const struct settings *s, uint64_t from, uint64_t to, uint64_t *ret,
		struct errmsg *err) _must_check_;

#endif
