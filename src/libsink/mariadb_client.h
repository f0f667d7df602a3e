/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mariadb_client.h - one connection with bounds on every wait, for the sink and for migrate.
 */
#ifndef CEEMS_MARIADB_CLIENT_H
#define CEEMS_MARIADB_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include <mysql.h>

#include "src/libutil/errmsg.h"

/* The version of the schema that this program writes: the highest number in sql/. */
#define MARIADB_SCHEMA 1

/*
 * Checks the option file before it is used, because the library ignores a file that does not exist.
 * -EINVAL: no path; -EACCES: it has a password and everybody may read it.
 */
int mariadb_client_check(const char *defaults_file, struct errmsg *err);

/* The caller may use libmariadb's non-blocking calls in addition to the blocking ones. */
#define MARIADB_CLIENT_ASYNC 1u

/*
 * Connects with the groups [client] and [client-mariadb] of DEFAULTS_FILE. DATABASE may be NULL.
 * TIMEOUT_NS bounds the connect and every later read and write, each in whole seconds, at least
 * one, and the server's waits for locks. The session is strict, utf8mb4 and UTC. Never reconnects by
 * itself. OPTIONS: MARIADB_CLIENT_ASYNC or 0; FLAGS: CLIENT_*.
 */
int mariadb_client_open(const char *defaults_file, const char *database, uint64_t timeout_ns,
			unsigned int options, unsigned long flags, MYSQL **ret, struct errmsg *err);
void mariadb_client_close(MYSQL *m);

/* Runs SQL and ignores its result. -EIO with the server's message; mysql_errno() has its number. */
int mariadb_client_query(MYSQL *m, const char *sql, struct errmsg *err);

/* One number from SQL; -ENOENT: no row or NULL. */
int mariadb_client_number(MYSQL *m, const char *sql, uint64_t *ret, struct errmsg *err);

/* The highest applied version in schema_version; 0: there is no such table. */
int mariadb_client_schema(MYSQL *m, uint64_t *ret, struct errmsg *err);

/*
 * Whoever alters tables holds this lock of the database, as long as the connection lasts. -EBUSY: another
 * connection kept it for 10 s.
 */
int mariadb_client_lock_schema(MYSQL *m, struct errmsg *err);

#endif
