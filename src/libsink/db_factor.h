/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * db_factor.h - fills the table emission_factor, which has the factor for a job's region, kind and year.
 */
#ifndef CEEMS_DB_FACTOR_H
#define CEEMS_DB_FACTOR_H

#include <stddef.h>

#include "src/libsink/mariadb_client.h"

/*
 * Writes the rows of the factors at PATH and the world mean, in one transaction; other years' rows stay.
 * *RET_CHANGED: the number of rows that are new or have another value.
 */
int db_factor_fill(MYSQL *m, const char *path, size_t *ret_changed, struct errmsg *err);

#endif
