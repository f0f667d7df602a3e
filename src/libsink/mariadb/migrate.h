/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * migrate.h - brings the database to schema MARIADB_SCHEMA. Of the files NNNN-what.sql in sql/, it applies in
 * order those whose number is above the highest version in the table schema_version, and then views.sql.
 */
#ifndef CEEMS_MIGRATE_H
#define CEEMS_MIGRATE_H

#include "src/libcore/settings.h"
#include "src/libsink/db_options.h"
#include "src/libutil/errmsg.h"

/*
 * Migrates the database s->mariadb_database, and creates it if it is missing. -EPROTO: its schema is of a
 * later version; nothing is changed. -EBUSY: another run is at work. -EIO: the server refused a statement;
 * ERR has the version and the reason. Earlier versions stay applied, and the next run repeats the one that
 * failed.
 */
int migrate_run(const struct settings *s, const struct db_options *options, struct errmsg *err);

#endif
