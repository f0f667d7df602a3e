/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mariadb_client.h - a connection to MariaDB or MySQL on which every wait has a timeout.
 */
#ifndef CEEMS_MARIADB_CLIENT_H
#define CEEMS_MARIADB_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include <mysql.h>

#include "src/libutil/errmsg.h"

/* The version of the schema that this program writes: the highest number in sql/. */
#define MARIADB_SCHEMA 3

/*
 * Checks the option file DEFAULTS_FILE, because libmariadb ignores a file that does not exist. -EINVAL: no
 * path is given. -EACCES: the file has a password and everybody may read it. Other -errno: it cannot be read.
 */
int mariadb_client_check(const char *defaults_file, struct errmsg *err);

/* Option: the caller will also use libmariadb's non-blocking calls. */
#define MARIADB_CLIENT_ASYNC 1u

/*
 * Connects with the groups [client] and [client-mariadb] of DEFAULTS_FILE. DATABASE may be NULL. TIMEOUT_NS,
 * rounded up to whole seconds, bounds the connect, each later read and write, and the server's waits for
 * locks. The session has SQL mode STRICT_ALL_TABLES, character set utf8mb4 and time zone UTC. It does not
 * reconnect by itself. OPTIONS: MARIADB_CLIENT_ASYNC or 0. FLAGS: CLIENT_* of libmariadb.
 */
int mariadb_client_open(const char *defaults_file, const char *database, uint64_t timeout_ns,
			unsigned int options, unsigned long flags, MYSQL **ret,
			struct errmsg *err) _must_check_;
void mariadb_client_close(MYSQL *m);

/* Returns false if the server is MySQL, which shares most of the protocol and of SQL with MariaDB. */
bool mariadb_client_is_mariadb(MYSQL *m);

#define MARIADB_CLIENT_SERVER_MAX 32

/*
 * Writes the server's name and version to BUF, such as "MySQL 9.7.4". -EPROTO: it is older than MariaDB
 * 10.3 or MySQL 8.0.17, and lacks what the schema needs, such as collations without padding.
 */
int mariadb_client_server(MYSQL *m, char buf[MARIADB_CLIENT_SERVER_MAX], struct errmsg *err);

/*
 * Runs SQL and ignores its rows. -EIO: an error of the server; ERR has its message, mysql_errno() its number.
 */
int mariadb_client_query(MYSQL *m, const char *sql, struct errmsg *err);

/* Runs SQL and gives its first value, a number. -ENOENT: no row, or NULL. -EIO as mariadb_client_query(). */
int mariadb_client_number(MYSQL *m, const char *sql, uint64_t *ret, struct errmsg *err) _must_check_;

/* Gives the highest applied version in schema_version; 0: there is no such table. */
int mariadb_client_schema(MYSQL *m, uint64_t *ret, struct errmsg *err) _must_check_;

/*
 * Takes the lock of this database that everybody takes before altering its tables. It is held until the
 * connection is closed. -EBUSY: another connection kept the lock for 10 s.
 */
int mariadb_client_lock_schema(MYSQL *m, struct errmsg *err);

#endif
