/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_db.c - ceems db: migrates, maintains and shows the databases of the sinks mariadb and sqlite.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "src/cmd/cmd.h"
#include "src/libsink/db_options.h"
#include "src/libsink/sink.h"
#include "src/libutil/as_owner.h"
#include "src/libutil/clock.h"
#include "src/libutil/items.h"
#include "src/libutil/parse.h"

static void print_line(void *ctx, const char *line)
{
	(void)ctx;
	cmd_print("%s", line);
}

/* Parses a retention as the key MariadbRetention in ceems.conf: 0, or 31 days and more. */
static int parse_retention(const char *text, uint64_t *ret_ns)
{
	uint64_t ns;

	if (parse_duration_ns(text, &ns) < 0 || (ns && ns < 31 * 86400 * NSEC_PER_SEC))
		return -EINVAL;
	*ret_ns = ns;
	return 0;
}

enum { OPT_DEFAULTS_FILE = 256, OPT_DRY_RUN, OPT_RETENTION, OPT_SQL_DIR };

static const struct cmd_option db_options[] = {
	{ NULL, 0, NULL, "Which database" },
	{ "conf", 'c', "FILE", "read this ceems.conf" },
	{ "defaults-file", OPT_DEFAULTS_FILE, "FILE", "option file with the credentials" },
	{ NULL, 0, NULL, "migrate and maintain" },
	{ "dry-run", OPT_DRY_RUN, NULL, "say what would be done" },
	{ "retention", OPT_RETENTION, "TIME", "maintain: how long jobs are kept, as 365d" },
	{ "sql-dir", OPT_SQL_DIR, "DIR", "migrate: folder of the schema" },
	{ 0 },
};

struct db_action {
	const struct sink_ops *sink;
	const struct settings *s;
	const char *action;
	const struct db_options *o;
};

/* A member of struct as_owner_task; TO is not used, as all is printed. */
static int db_run(void *ctx, FILE *to, struct errmsg *err)
{
	const struct db_action *a = ctx;
	const struct sink_db *db = a->sink->db;

	(void)to;
	if (!strcmp(a->action, "migrate"))
		return db->migrate(a->s, a->o, err);
	if (!strcmp(a->action, "maintain"))
		return db->maintain(a->s, a->o, err);
	return db->status(a->s, a->o->defaults_file, print_line, NULL, err);
}

static int db_act(const struct sink_ops *sink, const struct settings *s, const char *action,
		  const struct db_options *o)
{
	struct db_action a = { .sink = sink, .s = s, .action = action, .o = o };
	const struct as_owner_task task = { .run = db_run, .ctx = &a };
	struct errmsg err = { 0 };
	uid_t owner;
	int rc;

	if (sink_is_others(sink, s, o->defaults_file, &owner))
		rc = as_owner_run(owner, &task, &err);
	else
		rc = db_run(&a, NULL, &err);
	return rc < 0 ? cmd_error("%s", err.text) : CMD_OK;
}

/*
 * Runs the action on the database of each sink in Sinks. If no sink has a database, runs it for MariaDB: a
 * site sets up the database before it adds mariadb to Sinks.
 */
static int db_act_all(const struct settings *s, const char *action, const struct db_options *o)
{
	const char *list = s->sinks;
	const struct sink_ops *sink;
	bool any = false;
	char name[64];
	int rc = CMD_OK;

	while (items_next(&list, name, sizeof(name))) {
		sink = sink_find(name);
		if (!sink || !sink->db)
			continue;
		any = true;
		if (db_act(sink, s, action, o) != CMD_OK)
			rc = CMD_FAILED;
	}
	if (any)
		return rc;
	sink = sink_find("mariadb");
	return sink ? db_act(sink, s, action, o) : cmd_error("this build has no sink mariadb");
}

static int cmd_db_run(const struct cmd_info *self, int argc, char **argv)
{
	struct db_options o = { .report = print_line };
	const char *retention = NULL;
	const char *conf = NULL;
	struct settings s;
	const char *action;
	int opt;

	while ((opt = cmd_getopt(argc, argv, db_options, 0)) >= 0) {
		if (opt == 'c')
			conf = optarg;
		else if (opt == OPT_DEFAULTS_FILE)
			o.defaults_file = optarg;
		else if (opt == OPT_DRY_RUN)
			o.dry_run = true;
		else if (opt == OPT_RETENTION)
			retention = optarg;
		else if (opt == OPT_SQL_DIR)
			o.sql_dir = optarg;
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
		return cmd_error("--retention: '%s' is neither 0 nor a time of 31d or more", retention);
	o.retention_ns = s.mariadb_retention_ns;
	/* otherwise OpenSSL ends us when it writes to a closed connection */
	(void)signal(SIGPIPE, SIG_IGN);
	return db_act_all(&s, action, &o);
}

const struct cmd_info cmd_db = {
	"db", "migrate|maintain|status [OPTION...]", cmd_db_run, db_options, "ceems db migrate --dry-run",
};
