/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libsink/mariadb/db_check.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <mysqld_error.h>

#include "src/libsink/mariadb/db_partition.h"
#include "src/libsink/mariadb/mariadb_client.h"
#include "src/libsink/sqlrow.h"
#include "src/libutil/clock.h"

#define CONNECT_TIMEOUT_NS (3 * NSEC_PER_SEC)
/* `ceems db status` counts jobs; for 100 million jobs this takes minutes. */
#define STATEMENT_TIMEOUT_NS (3600 * NSEC_PER_SEC)

#define GRANTS CEEMS_SQL_DIR "/grants.sql.example"
#define ADMIN "--defaults-file=admin.cnf" /* the option file of an administrator, as in doc/admin-guide.md */
#define MIGRATE "ceems db migrate " ADMIN "  # the option file of a user who may create tables"

/* Warns if `ceems db maintain` has not made the partitions of the next months. */
static void check_partitions(MYSQL *m, sink_tell_fn *tell, void *ctx)
{
	struct errmsg err = { 0 };
	struct errmsg text;
	int ahead = 0;

	if (db_partition_ahead(m, clock_wall_ns() / NSEC_PER_SEC, &ahead, &err) < 0) {
		(void)errmsg_set(&text, 0, "cannot see partitions: %s", err.text);
		tell(ctx, SINK_WARN, SETTING_N, "grant what " GRANTS " grants", text.text);
	} else if (ahead < 1) {
		tell(ctx, SINK_WRONG, SETTING_N, "ceems db maintain, and enable ceems-db-maintain.timer",
		     "table job has no partition for the next month: all later jobs come into one partition");
	} else if (ahead + 2 <= DB_PARTITION_AHEAD) {
		tell(ctx, SINK_WARN, SETTING_N, "systemctl enable --now ceems-db-maintain.timer",
		     "`ceems db maintain` has not run for two months: nothing is archived");
	}
}

/*
 * Writes the command that gives USER, such as "'ceems'@'localhost'" (LEN bytes), the rights of the recorder.
 * A name that a shell would expand gets no command.
 */
static const char *grant_command(const char *database, const char *user, size_t len, struct errmsg *buf)
{
	if (!len || strcspn(user, "$`\"\\") < len)
		return "grant SELECT, INSERT and UPDATE, as " GRANTS " does";
	(void)errmsg_set(buf, 0,
			 "mariadb " ADMIN
			 " -e \"GRANT SELECT, INSERT, UPDATE ON %s.* TO %.*s\"  # the option file of an "
			 "administrator",
			 database, (int)len, user);
	return buf->text;
}

/* What SHOW GRANTS says of this database user. */
struct rights {
	bool inserts, updates; /* the rights that the recorder needs, besides SELECT */
	struct errmsg user;    /* "'ceems'@'localhost'"; "": not known */
	bool has_role;	       /* the user has a role, whose rights SHOW GRANTS may not list */
	const char *wide;      /* a right that the recorder does not need; NULL: none */
};

static void note_grant(const char *grant, struct rights *r)
{
	static const char *const wide[] = { "ALL PRIVILEGES", "DELETE", "DROP",	       "ALTER",
					    "SUPER",	      "FILE",	"CREATE USER", "GRANT OPTION" };
	bool is_all = strstr(grant, "ALL PRIVILEGES");
	const char *user = strstr(grant, " TO ");
	size_t i;

	/* the line goes on after the user: "GRANT USAGE ON *.* TO `a`@`b` IDENTIFIED BY ..." */
	if (user && strchr(user, '@'))
		(void)errmsg_set(&r->user, 0, "%.*s", (int)strcspn(user + 4, " "), user + 4);
	for (i = 0; r->user.text[i]; i++) /* SHOW GRANTS quotes by backticks, which a shell would run */
		if (r->user.text[i] == '`')
			r->user.text[i] = '\'';
	r->inserts |= is_all || strstr(grant, "INSERT");
	r->updates |= is_all || strstr(grant, "UPDATE");
	r->has_role |= !strstr(grant, " ON ");
	for (i = 0; i < ARRAY_SIZE(wide) && !r->wide; i++)
		if (strstr(grant, wide[i]))
			r->wide = wide[i];
}

/* Reports if the database user lacks INSERT or UPDATE, or has rights that the recorder does not need. */
static void check_rights(MYSQL *m, const char *database, sink_tell_fn *tell, void *ctx)
{
	struct rights r = { 0 };
	MYSQL_RES *res = NULL;
	struct errmsg text;
	struct errmsg hint;
	MYSQL_ROW row;

	if (mysql_query(m, "SHOW GRANTS") || !(res = mysql_store_result(m)))
		return;
	while ((row = mysql_fetch_row(res)))
		/* rights of PUBLIC, such as those on MariaDB's database test, are everybody's */
		if (row[0] && !strstr(row[0], " TO PUBLIC") && !strstr(row[0], " TO `PUBLIC`"))
			note_grant(row[0], &r);
	mysql_free_result(res);
	if (!r.has_role && (!r.inserts || !r.updates)) {
		(void)errmsg_set(&text, 0, "the database user may not %s: no record is written",
				 r.inserts ? "UPDATE" : "INSERT");
		tell(ctx, SINK_WRONG, SETTING_N,
		     grant_command(database, r.user.text, strlen(r.user.text), &hint), text.text);
	} else if (r.wide) {
		(void)errmsg_set(&text, 0, "the database user has %s; SELECT, INSERT and UPDATE are enough",
				 r.wide);
		tell(ctx, SINK_WARN, SETTING_N, "grant what " GRANTS " grants", text.text);
	}
}

/* Reports if the server takes no rows from us, or not all columns. */
static void check_writes(MYSQL *m, sink_tell_fn *tell, void *ctx)
{
	static const enum sqlrow_table tables[] = { SQLROW_JOB, SQLROW_STEP };
	uint64_t read_only = 0;
	struct sqlrow_set set;
	struct errmsg text;
	size_t i;

	if (mariadb_client_number(m, "SELECT @@GLOBAL.read_only", &read_only, NULL) == 0 && read_only)
		tell(ctx, SINK_WRONG, SETTING_mariadb_defaults_file,
		     "host=<the primary> in MariadbDefaultsFile, or SET GLOBAL read_only = 0 on this one",
		     "the server is read-only, as a replica is: no record is written");
	for (i = 0; i < ARRAY_SIZE(tables); i++) {
		_cleanup_free_ char *sql = NULL;
		MYSQL_STMT *stmt = mysql_stmt_init(m);

		sqlrow_set_all(tables[i], &set);
		sql = sqlrow_upsert(tables[i], SQLROW_MARIADB, &set);
		if (stmt && sql && mysql_stmt_prepare(stmt, sql, strlen(sql)) &&
		    mysql_stmt_errno(stmt) == ER_BAD_FIELD_ERROR) {
			(void)errmsg_set(&text, 0, "%s: no record is written", mysql_stmt_error(stmt));
			tell(ctx, SINK_WRONG, SETTING_N,
			     "add the column, as " CEEMS_SQL_DIR " has it, or restore the table", text.text);
		}
		if (stmt)
			(void)mysql_stmt_close(stmt);
	}
}

/* What a message of libmariadb or of the server says about the cause, and the cure. */
static const struct {
	const char *part; /* of the message */
	enum sink_health health;
	const char *hint;
} db_causes[] = {
	{ "(3159)", SINK_WRONG,
	  "ssl-ca=<certificate of the server's CA> in MariadbDefaultsFile: the server demands TLS" },
	{ "ertificate", SINK_WRONG,
	  "ssl-ca=<certificate of the server's CA> in MariadbDefaultsFile, and host= as it is "
	  "certified" },
	{ "(2026)", SINK_WRONG,
	  "ssl-ca=<certificate of the server's CA> in MariadbDefaultsFile; the server must offer TLS" },
	{ "(1040)", SINK_WARN,
	  "raise the server's max_connections; records wait in the store until one is free" },
};

static bool tell_cause(const struct errmsg *err, sink_tell_fn *tell, void *ctx)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(db_causes); i++)
		if (strstr(err->text, db_causes[i].part)) {
			tell(ctx, db_causes[i].health, SETTING_mariadb_defaults_file, db_causes[i].hint,
			     err->text);
			return true;
		}
	return false;
}

static void tell_trouble(const struct settings *s, const struct errmsg *err, sink_tell_fn *tell, void *ctx)
{
	const char *file = s->mariadb_defaults_file;
	const char *user = strstr(err->text, "for user ");
	struct errmsg hint;

	if (!strncmp(err->text, file, strlen(file))) /* our own reader refused the file */
		tell(ctx, SINK_WRONG, SETTING_mariadb_defaults_file, "correct MariadbDefaultsFile",
		     err->text);
	else if (user && strstr(user, " to database"))
		tell(ctx, SINK_WRONG, SETTING_N,
		     grant_command(s->mariadb_database, user + 9,
				   (size_t)(strstr(user, " to database") - user - 9), &hint),
		     err->text);
	else if (strstr(err->text, "Unknown database"))
		tell(ctx, SINK_WRONG, SETTING_N, MIGRATE, err->text);
	else if (strstr(err->text, "denied"))
		tell(ctx, SINK_WRONG, SETTING_mariadb_defaults_file,
		     "user and password in MariadbDefaultsFile, as " GRANTS
		     " made them; ssl-ca=<certificate of its CA> there if the server demands TLS",
		     err->text);
	else if (!tell_cause(err, tell, ctx))
		tell(ctx, SINK_WARN, SETTING_mariadb_defaults_file,
		     "start the server, or correct MariadbDefaultsFile; records wait in the store",
		     err->text);
}

void db_check(const struct settings *s, sink_tell_fn *tell, void *ctx)
{
	const char *database = s->mariadb_database;
	char server[MARIADB_CLIENT_SERVER_MAX];
	struct errmsg err = { 0 };
	struct errmsg text;
	uint64_t schema = 0;
	MYSQL *m = NULL;
	int rc;

	rc = mariadb_client_open(s->mariadb_defaults_file, database, CONNECT_TIMEOUT_NS, 0, 0, &m, &err);
	if (rc == 0 && mariadb_client_server(m, server, &err) < 0) {
		tell(ctx, SINK_WRONG, SETTING_N, "install a newer server", err.text);
		mariadb_client_close(m);
		return;
	}
	if (rc == 0)
		rc = mariadb_client_schema(m, &schema, &err);
	if (rc < 0) {
		tell_trouble(s, &err, tell, ctx);
	} else if (schema < MARIADB_SCHEMA) {
		(void)errmsg_set(&text, 0, "database %s has schema %" PRIu64 ", %u is needed", database,
				 schema, MARIADB_SCHEMA);
		tell(ctx, SINK_WRONG, SETTING_N, MIGRATE, text.text);
	} else {
		if (schema > MARIADB_SCHEMA) {
			(void)errmsg_set(&text, 0,
					 "database %s has schema %" PRIu64 ", this version "
					 "fills %u: what is new stays empty, and nothing is archived",
					 database, schema, MARIADB_SCHEMA);
			tell(ctx, SINK_WARN, SETTING_N, "install the version that made the schema",
			     text.text);
		}
		(void)errmsg_set(&text, 0, "database %s, schema %" PRIu64 ", %s", database, schema, server);
		tell(ctx, SINK_GOOD, SETTING_N, NULL, text.text);
		check_partitions(m, tell, ctx);
		check_rights(m, database, tell, ctx);
		check_writes(m, tell, ctx);
	}
	mariadb_client_close(m);
}

/* --- ceems db status ------------------------------------------------------------------------- */

/* Reports the line WHAT with the first value that SQL returns, or n/a. */
static int report_row(MYSQL *m, const char *what, const char *sql, db_report_fn report, void *ctx,
		      struct errmsg *err)
{
	MYSQL_RES *res;
	MYSQL_ROW row;

	if (mysql_query(m, sql) || !(res = mysql_store_result(m)))
		return errmsg_set(err, -EIO, "%s: %s", what, mysql_error(m));
	row = mysql_fetch_row(res);
	db_report(report, ctx, "%-32s %s", what, row && row[0] ? row[0] : "n/a");
	mysql_free_result(res);
	return 0;
}

int db_status(const struct settings *s, const char *defaults_file, db_report_fn report, void *ctx,
	      struct errmsg *err)
{
#define IN_HERE " FROM information_schema."
#define OF_JOB " WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'job'"
	static const struct db_status_row row[] = {
		DB_STATUS_JOBS,
		{ "partitions of job", "SELECT COUNT(PARTITION_NAME)" IN_HERE "PARTITIONS" OF_JOB },
		{ "lowest and highest month",
		  "SELECT CONCAT(MIN(PARTITION_NAME), ' ', MAX("
		  "PARTITION_NAME))" IN_HERE "PARTITIONS" OF_JOB " AND PARTITION_NAME <> 'pmax'" },
		DB_STATUS_ARCHIVED,
		{ "size, MiB", "SELECT ROUND(SUM(DATA_LENGTH + INDEX_LENGTH) / 1048576)" IN_HERE
			       "TABLES WHERE TABLE_SCHEMA = DATABASE()" },
	};
	char server[MARIADB_CLIENT_SERVER_MAX];
	MYSQL *m = NULL;
	uint64_t n;
	size_t i;
	int rc;

	if (!defaults_file)
		defaults_file = s->mariadb_defaults_file;
	rc = mariadb_client_check(defaults_file, err);
	if (rc == 0)
		rc = mariadb_client_open(defaults_file, s->mariadb_database, STATEMENT_TIMEOUT_NS, 0, 0, &m,
					 err);
	if (rc == 0)
		rc = mariadb_client_schema(m, &n, err);
	/* otherwise MySQL's sizes are up to a day old */
	if (rc == 0 && !mariadb_client_is_mariadb(m))
		rc = mariadb_client_query(m, "SET SESSION information_schema_stats_expiry = 0", err);
	if (rc == 0)
		rc = db_report_schema(report, ctx, s->mariadb_database, n, MARIADB_SCHEMA, err);
	if (rc == 0)
		rc = mariadb_client_server(m, server, err);
	if (rc == 0)
		db_report(report, ctx, "%-32s %s", "server", server);
	for (i = 0; rc == 0 && i < ARRAY_SIZE(row); i++)
		rc = report_row(m, row[i].what, row[i].sql, report, ctx, err);
	mariadb_client_close(m);
	return rc;
}
