/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_db.c - ceems db: the database of the sink mariadb.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "src/cmd/cmd.h"
#include "src/libsink/mariadb_client.h"
#include "src/libsink/migrate.h"
#include "src/libutil/clock.h"

#define CONNECT_TIMEOUT_NS (5 * NSEC_PER_SEC)

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

static int status(const struct settings *s, const char *defaults_file)
{
	static const struct {
		const char *what;
		const char *sql;
	} row[] = {
		{ "jobs", "SELECT COUNT(*) FROM job" },
		{ "steps", "SELECT COUNT(*) FROM step" },
		{ "jobs whose energy is not final", "SELECT COUNT(*) FROM job WHERE NOT energy_final" },
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
		rc = mariadb_client_open(defaults_file, s->mariadb_database, CONNECT_TIMEOUT_NS,
					 0, 0, &m, &err);
	if (rc == 0)
		rc = mariadb_client_schema(m, &n, &err);
	if (rc == 0) {
		printf("%-32s %s\n", "database", s->mariadb_database);
		printf("%-32s %llu%s\n", "schema", (unsigned long long)n,
		       n < MARIADB_SCHEMA ? " (too old: ceems db migrate)" : "");
		rc = n < MARIADB_SCHEMA ? errmsg_set(&err, -EPROTO, "the schema is too old") : 0;
	}
	for (i = 0; rc == 0 && i < ARRAY_SIZE(row); i++) {
		rc = mariadb_client_number(m, row[i].sql, &n, &err);
		if (rc == 0)
			printf("%-32s %llu\n", row[i].what, (unsigned long long)n);
	}
	mariadb_client_close(m);
	return rc < 0 ? cmd_error("%s", err.text) : CMD_OK;
}

static int run(const struct cmd_info *self, int argc, char **argv)
{
	static const struct option options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "conf", required_argument, NULL, 'c' },
		{ "defaults-file", required_argument, NULL, 'd' },
		{ "dry-run", no_argument, NULL, 'n' },
		{ "sql-dir", required_argument, NULL, 's' },
		{ 0 },
	};
	const char *defaults_file = NULL;
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
		else if (opt == 's')
			sql_dir = optarg;
		else
			return cmd_usage(self, opt == 'h' ? CMD_OK : CMD_USAGE);
	}
	if (optind + 1 != argc)
		return cmd_usage(self, CMD_USAGE);
	action = argv[optind];
	if (strcmp(action, "migrate") && strcmp(action, "status"))
		return cmd_usage(self, CMD_USAGE);
	if (cmd_load_settings(conf, &s) != CMD_OK)
		return CMD_FAILED;
	return *action == 'm' ? migrate(&s, defaults_file, sql_dir, dry_run)
			      : status(&s, defaults_file);
}

const struct cmd_info cmd_db = {
	"db",
	"migrate|status [--conf FILE] [--defaults-file FILE] [--dry-run] [--sql-dir DIR]",
	"Bring the database to the schema that the records need, or show how it is.",
	run,
};
