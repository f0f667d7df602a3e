/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sqlite_walk.h - parts of struct sink_db: reads jobs from SqliteFile. A sink may write meanwhile. */
#ifndef CEEMS_SQLITE_WALK_H
#define CEEMS_SQLITE_WALK_H

#include "src/libcore/settings.h"
#include "src/libsink/db_walk.h"

int sqlite_walk(const struct settings *s, const struct db_walk *w, struct errmsg *err);
int sqlite_gone(const struct settings *s, uint64_t from, uint64_t to, uint64_t *ret, struct errmsg *err);

#endif
