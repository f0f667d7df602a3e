/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * db_factor.h - fills the table emission_factor: the emission factor of each region, kind and year.
 */
#ifndef CEEMS_DB_FACTOR_H
#define CEEMS_DB_FACTOR_H

#include <stddef.h>

#include "src/libsink/mariadb/mariadb_client.h"
#include "src/libutil/must_check.h"

/*
 * Writes the factors in the file PATH and the world's mean to the table, in one transaction. Rows of other
 * years stay. *RET_CHANGED is the number of rows that are new or got another value.
 */
int db_factor_fill(MYSQL *m, const char *path, size_t *ret_changed, struct errmsg *err) _must_check_;

#endif
