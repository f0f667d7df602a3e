/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_db.c - ceems db: the database of the sink mariadb.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "src/cmd/cmd.h"
#include "src/libsink/db_maintain.h"
#include "src/libsink/mariadb_client.h"
#include "src/libsink/migrate.h"
#include "src/libutil/clock.h"
#include "src/libutil/parse.h"

/* To count 100 million jobs takes minutes. */
#define STATEMENT_TIMEOUT_NS (3600 * NSEC_PER_SEC)

static void print_line(void *ctx, const char *line)
{
	(void)ctx;
	puts(line);
}

static int migrate(const struct settings *s, const char *defaults_file, const char *sql_dir,
		   bool dry_run)
{
	struct migrate_options options = {
		.sql_dir = sql_dir,
		.defaults_file = defaults_file,
		.dry_run = dry_run,
		.report = print_line,
	};
	struct errmsg err = { 0 };

	if (migrate_run(s, &options, &err) < 0)
		return cmd_error("%s", err.text);
	return CMD_OK;
}

static int maintain(const struct settings *s, const char *defaults_file, uint64_t retention_ns,
		    bool dry_run)
{
	struct db_maintain_options options = {
		.defaults_file = defaults_file,
		.retention_ns = retention_ns,
		.dry_run = dry_run,
		.report = print_line,
	};
	struct errmsg err = { 0 };

	if (db_maintain_run(s, &options, &err) < 0)
		return cmd_error("%s", err.text);
	return CMD_OK;
}

/* A line with what SQL gives: one text; n/a for NULL. */
static int print_row(MYSQL *m, const char *what, const char *sql, struct errmsg *err)
{
	MYSQL_RES *res;
	MYSQL_ROW row;

	if (mysql_query(m, sql) || !(res = mysql_store_result(m)))
		return errmsg_set(err, -EIO, "%s: %s", what, mysql_error(m));
	row = mysql_fetch_row(res);
	printf("%-32s %s\n", what, row && row[0] ? row[0] : "n/a");
	mysql_free_result(res);
	return 0;
}

static int status(const struct settings *s, const char *defaults_file)
{
#define IN_HERE " FROM information_schema."
#define OF_JOB " WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'job'"
	static const struct {
		const char *what;
		const char *sql;
	} row[] = {
		{ "jobs", "SELECT COUNT(*) FROM job" },
		{ "steps", "SELECT COUNT(*) FROM step" },
		{ "jobs whose energy is not final", "SELECT COUNT(*) FROM job WHERE NOT energy_final" },
		{ "oldest submission", "SELECT MIN(submit_time) FROM job" },
		{ "partitions of job", "SELECT COUNT(PARTITION_NAME)" IN_HERE "PARTITIONS" OF_JOB },
		{ "lowest and highest month", "SELECT CONCAT(MIN(PARTITION_NAME), ' ', MAX("
		  "PARTITION_NAME))" IN_HERE "PARTITIONS" OF_JOB " AND PARTITION_NAME <> 'pmax'" },
		{ "archived until", "SELECT MAX(partition_of) FROM archived WHERE state = 'gone'" },
		{ "jobs archived", "SELECT COALESCE(SUM(jobs), 0) FROM archived" },
		{ "last archived at (UTC)", "SELECT MAX(archived_at) FROM archived" },
		{ "size, MiB", "SELECT ROUND(SUM(DATA_LENGTH + INDEX_LENGTH) / 1048576)" IN_HERE
		  "TABLES WHERE TABLE_SCHEMA = DATABASE()" },
	};
	struct errmsg err = { 0 };
	MYSQL *m = NULL;
	uint64_t n;
	size_t i;
	int rc;

	if (!defaults_file)
		defaults_file = s->mariadb_defaults_file;
	rc = mariadb_client_check(defaults_file, &err);
	if (rc == 0)
		rc = mariadb_client_open(defaults_file, s->mariadb_database, STATEMENT_TIMEOUT_NS,
					 0, 0, &m, &err);
	if (rc == 0)
		rc = mariadb_client_schema(m, &n, &err);
	if (rc == 0) {
		printf("%-32s %s\n", "database", s->mariadb_database);
		printf("%-32s %llu%s\n", "schema", (unsigned long long)n,
		       n < MARIADB_SCHEMA ? " (too old: ceems db migrate)" :
		       n > MARIADB_SCHEMA ? " (of a later version: what it added stays empty)" : "");
		rc = n < MARIADB_SCHEMA ? errmsg_set(&err, -EPROTO, "the schema is too old") : 0;
	}
	for (i = 0; rc == 0 && i < ARRAY_SIZE(row); i++)
		rc = print_row(m, row[i].what, row[i].sql, &err);
	mariadb_client_close(m);
	return rc < 0 ? cmd_error("%s", err.text) : CMD_OK;
}

/* As MariadbRetention. */
static int parse_retention(const char *text, uint64_t *ret_ns)
{
	uint64_t ns;

	if (parse_duration_ns(text, &ns) < 0 || (ns && ns < 31 * 86400 * NSEC_PER_SEC))
		return -EINVAL;
	*ret_ns = ns;
	return 0;
}

static int run(const struct cmd_info *self, int argc, char **argv)
{
	static const struct option options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "conf", required_argument, NULL, 'c' },
		{ "defaults-file", required_argument, NULL, 'd' },
		{ "dry-run", no_argument, NULL, 'n' },
		{ "retention", required_argument, NULL, 'r' },
		{ "sql-dir", required_argument, NULL, 's' },
		{ 0 },
	};
	const char *defaults_file = NULL;
	const char *retention = NULL;
	const char *sql_dir = NULL;
	const char *conf = NULL;
	bool dry_run = false;
	struct settings s;
	const char *action;
	int opt;

	while ((opt = getopt_long(argc, argv, "hc:", options, NULL)) >= 0) {
		if (opt == 'c')
			conf = optarg;
		else if (opt == 'd')
			defaults_file = optarg;
		else if (opt == 'n')
			dry_run = true;
		else if (opt == 'r')
			retention = optarg;
		else if (opt == 's')
			sql_dir = optarg;
		else
			return cmd_usage(self, opt == 'h' ? CMD_OK : CMD_USAGE);
	}
	if (optind + 1 != argc)
		return cmd_usage(self, CMD_USAGE);
	action = argv[optind];
	if (strcmp(action, "migrate") && strcmp(action, "maintain") && strcmp(action, "status"))
		return cmd_usage(self, CMD_USAGE);
	if (cmd_load_settings(conf, &s) != CMD_OK)
		return CMD_FAILED;
	if (retention && parse_retention(retention, &s.mariadb_retention_ns) < 0)
		return cmd_error("--retention: '%s' is neither 0 nor a time of 31d or more",
				 retention);
	/* OpenSSL writes to a server that is gone */
	(void)signal(SIGPIPE, SIG_IGN);
	if (!strcmp(action, "migrate"))
		return migrate(&s, defaults_file, sql_dir, dry_run);
	if (!strcmp(action, "maintain"))
		return maintain(&s, defaults_file, s.mariadb_retention_ns, dry_run);
	return status(&s, defaults_file);
}

const struct cmd_info cmd_db = {
	"db",
	"migrate|maintain|status [--conf FILE] [--defaults-file FILE] [--dry-run] "
	"[--retention TIME] [--sql-dir DIR]",
	"Bring the database to the schema that the records need, archive what is old, or show how it is.",
	run,
};
