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
#include "src/libsink/migrate.h"
#include "src/libsink/sink.h"
#include "src/libutil/clock.h"
#include "src/libutil/parse.h"

static void print_line(void *ctx, const char *line)
{
	(void)ctx;
	cmd_print("%s", line);
}

static int migrate(const struct sink_db *db, const struct settings *s, const char *defaults_file,
		   const char *sql_dir, bool dry_run, struct errmsg *err)
{
	struct migrate_options options = {
		.sql_dir = sql_dir,
		.defaults_file = defaults_file,
		.dry_run = dry_run,
		.report = print_line,
	};

	return db->migrate(s, &options, err);
}

static int cmd_db_maintain(const struct sink_db *db, const struct settings *s, const char *defaults_file,
			   bool dry_run, struct errmsg *err)
{
	struct db_maintain_options options = {
		.defaults_file = defaults_file,
		.retention_ns = s->mariadb_retention_ns,
		.dry_run = dry_run,
		.report = print_line,
	};

	return db->maintain(s, &options, err);
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

static int cmd_db_run(const struct cmd_info *self, int argc, char **argv)
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
	const struct sink_ops *sink;
	const char *sql_dir = NULL;
	const char *conf = NULL;
	struct errmsg err = { 0 };
	bool dry_run = false;
	struct settings s;
	const char *action;
	int opt;
	int rc;

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
	sink = sink_find("mariadb");
	if (!sink)
		return cmd_error("this build has no sink mariadb");
	/* OpenSSL writes to a server that is gone */
	(void)signal(SIGPIPE, SIG_IGN);
	if (!strcmp(action, "migrate"))
		rc = migrate(sink->db, &s, defaults_file, sql_dir, dry_run, &err);
	else if (!strcmp(action, "maintain"))
		rc = cmd_db_maintain(sink->db, &s, defaults_file, dry_run, &err);
	else
		rc = sink->db->status(&s, defaults_file, print_line, NULL, &err);
	return rc < 0 ? cmd_error("%s", err.text) : CMD_OK;
}

const struct cmd_info cmd_db = {
	"db",
	"migrate|maintain|status [--conf FILE] [--defaults-file FILE] [--dry-run] "
	"[--retention TIME] [--sql-dir DIR]",
	"Bring the database to the schema that the records need, archive what is old, or show how it is.",
	cmd_db_run,
};
