/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mariadb_rig.h - a private server with the schema of sql/ in it, and short ways to ask it. The caller
 * defines _GNU_SOURCE.
 */
#ifndef CEEMS_MARIADB_RIG_H
#define CEEMS_MARIADB_RIG_H

#include <errno.h>

#include <mysql.h>

#include "private_mariadbd.h"
#include "scratch.h"
#include "src/libsink/mariadb/mariadb_client.h"
#include "src/libsink/mariadb/migrate.h"
#include "src/libutil/clock.h"
#include "tap.h"

#define SECOND NSEC_PER_SEC

struct mariadb_rig {
	char dir[sizeof(SCRATCH_TEMPLATE)];
	char sql_dir[PATH_MAX - 64];
	struct settings settings; /* of the server's root */
	struct private_mariadbd server;
	struct errmsg err;
};

static struct mariadb_rig rig = { .dir = SCRATCH_TEMPLATE };

static inline void rig_defaults_file(const char *name, const char *user, const char *password, char *path,
				     size_t size)
{
	char text[512];
	int n = snprintf(text, sizeof(text), "[client]\nsocket=%s\nuser=%s\n%s%s\n", rig.server.socket, user,
			 password ? "password=" : "", password ? password : "");

	snprintf(path, size, "%s/%s", rig.dir, name);
	scratch_write(path, text, (size_t)n);
	chmod(path, 0600);
}

/* NULL, or why there is no server here. */
static inline const char *rig_start(void)
{
	const char *top = getenv("top_builddir");
	const char *why;

	if (!mkdtemp(rig.dir))
		return "no scratch folder";
	snprintf(rig.sql_dir, sizeof(rig.sql_dir), "%s/sql", top ? top : ".");
	why = mariadbd_install(&rig.server, rig.dir);
	if (!why && !mariadbd_start(&rig.server))
		why = "mariadbd does not start here";
	rig_defaults_file("my.cnf", "root", NULL, rig.settings.mariadb_defaults_file,
			  sizeof(rig.settings.mariadb_defaults_file));
	snprintf(rig.settings.mariadb_database, sizeof(rig.settings.mariadb_database), "ceems");
	return why;
}

static inline void rig_stop(void)
{
	mariadbd_stop(&rig.server, SIGKILL);
	scratch_clear(rig.dir);
	is_int(rmdir(rig.dir), 0, "nothing left behind");
}

static inline bool rig_migrate(void)
{
	struct db_options o = { .sql_dir = rig.sql_dir };

	if (migrate_run(&rig.settings, &o, &rig.err) == 0)
		return true;
	diag("%s", rig.err.text);
	return false;
}

static inline MYSQL *rig_connect(const char *defaults_file, const char *database, unsigned long flags)
{
	MYSQL *m = NULL;

	if (mariadb_client_open(defaults_file, database, 60 * SECOND, 0, flags, &m, &rig.err) < 0)
		diag("%s", rig.err.text);
	return m;
}

static inline uint64_t rig_number(const char *sql)
{
	MYSQL *m = rig_connect(rig.settings.mariadb_defaults_file, NULL, 0);
	uint64_t n = UINT64_MAX;

	if (m && mariadb_client_number(m, sql, &n, &rig.err) < 0)
		diag("%s", rig.err.text);
	mariadb_client_close(m);
	return n;
}

/* One statement or several; false: an error, which is printed. */
static inline bool rig_query(const char *sql)
{
	MYSQL *m = rig_connect(rig.settings.mariadb_defaults_file, NULL, CLIENT_MULTI_STATEMENTS);
	bool good = m && mariadb_client_query(m, sql, &rig.err) == 0;

	if (!good)
		diag("%.200s: %s", sql, rig.err.text);
	mariadb_client_close(m);
	return good;
}

/* Makes TABLE with the numbers 1 to 2048 in the column seq. MySQL has no tables such as seq_1_to_2000. */
static inline bool rig_make_seq(const char *table)
{
	char sql[256];
	unsigned int n;
	bool good;

	snprintf(sql, sizeof(sql),
		 "CREATE TABLE %s (seq INT UNSIGNED PRIMARY KEY); INSERT INTO %s VALUES (1)", table, table);
	good = rig_query(sql);
	for (n = 1; good && n < 2048; n *= 2) {
		snprintf(sql, sizeof(sql), "INSERT INTO %s SELECT seq + %u FROM %s", table, n, table);
		good = rig_query(sql);
	}
	return good;
}

#endif
