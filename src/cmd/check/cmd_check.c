/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_check.c - ceems check: what will work on this machine, what will not and what to type.
 */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "src/cmd/check/check.h"
#include "src/cmd/cmd.h"
#include "src/librecord/advice.h"
#include "src/libutil/fileio.h"
#include "src/libutil/trust.h"

struct check_lines {
	struct check *c;
	unsigned int wrong;
};

static void check_conf_line(void *arg, unsigned int line, const char *text)
{
	struct check_lines *lines = arg;
	char hint[64] = "see ceems.conf(5)";

	if (line)
		(void)snprintf(hint, sizeof(hint), "correct line %u: see ceems.conf(5); or remove it", line);
	lines->wrong++;
	check_error(lines->c, "ceems.conf", check_hint_file(CHECK_CEEMS_CONF, hint), "%s", text);
}

static void check_host_textfile(struct check *c)
{
	_cleanup_free_ struct settings *here = malloc(sizeof(*here));
	char host[256];

	cmd_node_name(host, sizeof(host));
	if (!here)
		return;
	*here = c->settings;
	if (settings_for_node(here, host, NULL) == 0)
		(void)snprintf(c->host_textfile_dir, sizeof(c->host_textfile_dir), "%s", here->textfile_dir);
}

/* Reports that ceems.conf cannot be used, for ERR. RC -EPERM: its owner or mode is wrong (trust.h). */
static void check_conf_refused(struct check *c, int rc, const struct errmsg *err)
{
	const char *mend = "chmod go-w";
	char hint[PATH_MAX + 16];
	struct stat st;

	if (rc != -EPERM || stat(c->conf_path, &st) < 0) {
		check_error(c, "ceems.conf", check_hint_file(CHECK_CEEMS_CONF, "see ceems.conf(5)"), "%s",
			    err->text);
		return;
	}
	/* refused even if only its owner could write it? */
	st.st_mode &= ~(mode_t)(S_IWGRP | S_IWOTH);
	if (trust_is_ours(c->conf_path, &st, NULL) < 0)
		mend = "chown root";
	(void)snprintf(hint, sizeof(hint), "%s %s", mend, c->conf_path);
	check_error(c, "ceems.conf", check_hint_system(hint), "%s; it is refused here, and by slurmd",
		    err->text);
}

/* Reads ceems.conf and reports its errors. False: it cannot be used, so nothing else can be checked. */
static bool check_conf(struct check *c, bool named)
{
	struct check_lines lines = { .c = c };
	struct errmsg err = { 0 };
	int rc = settings_load_all(c->conf_path, &c->settings, check_conf_line, &lines, &err);

	if (rc == -ENOENT && !named) {
		check_warn(
			c, "ceems.conf",
			check_hint_file(CHECK_CEEMS_CONF,
					"write ceems.conf, or copy it there: all machines use the same file"),
			"%s does not exist: every key has its default", c->conf_path);
	} else if (rc < 0) {
		check_conf_refused(c, rc, &err);
		return false;
	} else if (lines.wrong) {
		check_warn(c, "ceems.conf", check_no_hint,
			   "daemons and plugins refuse all of %s until it is right; the other lines are "
			   "checked here",
			   c->conf_path);
	} else {
		check_ok(c, "ceems.conf", "%s", c->conf_path);
	}
	c->textfile_is_judged = strstr(c->settings.textfile_dir, "%n");
	check_host_textfile(c);
	rc = settings_for_node(&c->settings, c->node, &err);
	if (rc < 0)
		check_error(c, "ceems.conf", check_no_hint, "%s", err.text);
	return rc == 0;
}

/* Checks ceems-advice.conf, in which a site may change the rules of advice. */
static void check_advice(struct check *c)
{
	struct advice_site site;
	struct errmsg err = { 0 };
	char path[PATH_MAX];

	cmd_conf_beside(c->conf_path, ADVICE_FILE, path);
	if (advice_site_read(path, &site, &err) < 0)
		check_error(c, "advice", check_hint_system("see ceems-advice.conf(5)"),
			    "%s; the rules' own limits are used", err.text);
	else if (access(path, F_OK) == 0)
		check_ok(c, "advice", "%s", path);
	advice_site_free(&site);
}

enum { OPT_JSON = 256 };

static const struct cmd_option check_options[] = {
	{ NULL, 0, NULL, "What is checked" },
	{ "conf", 'c', "FILE", "read this ceems.conf" },
	{ "node", 'n', "NAME", "node name; default: this host's name" },
	{ NULL, 0, NULL, "Output" },
	{ "json", OPT_JSON, NULL, "print one JSON object" },
	{ "quiet", 'q', NULL, "print errors and warnings only" },
	{ "verbose", 'v', NULL, "print notes, too" },
	{ 0 },
};

static int cmd_check_run(const struct cmd_info *self, int argc, char **argv)
{
	_cleanup_free_ struct check *c = calloc(1, sizeof(*c));
	const char *conf = NULL;
	bool is_node_named = false;
	char buf[PATH_MAX];
	int opt;
	int rc;

	if (!c)
		return cmd_error("out of memory");
	cmd_node_name(c->node, sizeof(c->node));
	while ((opt = cmd_getopt(argc, argv, check_options, 0)) >= 0) {
		if (opt == 'c')
			conf = optarg;
		else if (opt == 'n')
			is_node_named = snprintf(c->node, sizeof(c->node), "%s", optarg) > 0;
		else if (opt == OPT_JSON)
			c->is_json = true;
		else if (opt == 'q')
			c->is_quiet = true;
		else if (opt == 'v')
			c->is_verbose = true;
		else
			return cmd_usage(self, opt == 'h' ? CMD_OK : CMD_USAGE);
	}
	if (optind < argc)
		return cmd_usage(self, CMD_USAGE);
	(void)snprintf(c->conf_path, sizeof(c->conf_path), "%s", cmd_conf_path(conf, buf));
	check_find_slurm_conf(c);
	if (!is_node_named)
		check_find_node(c);
	if (check_answers(c, "ceems.conf", c->conf_path) && check_conf(c, conf != NULL) &&
	    check_hangs_find(c)) {
		check_machine(c);
		check_advice(c);
		check_node(c);
		check_slurm(c);
		check_textfile(c);
		check_daemons(c);
		check_sinks(c);
		check_mail(c);
		check_rights(c);
	}
	slurmconf_destroy(c->slurm);
	rc = check_findings_end(c);
	check_findings_free(c);
	free(c->hung);
	return rc;
}

const struct cmd_info cmd_check = {
	"check", "[OPTION...]", cmd_check_run, check_options, "ceems check --quiet",
};
