/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check_daemons.c - munged, slurmctld and slurmdbd in `ceems check`: whether they answer, and
 * whether the daemons of this machine loaded the installed version of the plugins. It runs Slurm's
 * own commands, which find the daemons as the plugins do.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "src/cmd/check/check.h"

#define NOT_FOUND 127 /* exit status of a shell that does not find the command */

/* Runs CMD and stores its first line in LINE. Returns its exit status; -1: unknown. */
static int check_daemons_ask(const char *cmd, char *line, int size)
{
	char rest[256];
	FILE *p = popen(cmd, "re");
	int status;

	line[0] = '\0';
	if (!p)
		return -1;
	if (fgets(line, size, p))
		line[strcspn(line, "\n")] = '\0';
	while (fgets(rest, sizeof(rest), p))
		; /* read all lines: otherwise CMD would be killed by SIGPIPE */
	status = pclose(p);
	return status < 0 ? -1 : status >> 8;
}

static bool check_answer(struct check *c, const char *what, const char *hint, const char *cmd)
{
	char line[256];
	int status = check_daemons_ask(cmd, line, sizeof(line));

	if (status == 0)
		check_ok(c, what, "answers");
	else if (status == NOT_FOUND)
		check_note(c, what, "not checked: its command is not installed here");
	else
		check_error(c, what, check_hint_system(hint), "does not answer: %s",
			    *line ? line : "not within 10 s");
	return status == 0;
}

/* Returns false if munge does not answer. Then Slurm's daemons cannot answer, either. */
static bool check_munge(struct check *c)
{
	const char *type = slurmconf_get(c->slurm, "AuthType");

	return (type && strcasecmp(type, "auth/munge")) ||
	       check_answer(c, "munge", "systemctl enable --now munge; then run ceems check again",
			    "timeout 10 munge -n 2>&1 >/dev/null");
}

static void check_slurmdbd(struct check *c)
{
	const char *type = slurmconf_get(c->slurm, "AccountingStorageType");

	if (type && !strcasecmp(type, "accounting_storage/slurmdbd"))
		(void)check_answer(c, "slurmdbd",
				   "systemctl start slurmdbd  # or AccountingStorageHost=<where it runs>",
				   "timeout 10 sacctmgr -n show cluster 2>&1");
}

/*
 * Reports nodes with another version of Slurm than this machine. Slurm allows older nodes, but
 * their plugins must be built for that version.
 */
static void check_node_versions(struct check *c)
{
	static const char *const cmd = "timeout 10 sinfo -h -o '%v %N' 2>/dev/null";
	_cleanup_free_ char *line = NULL;
	char seen[64] = "";
	char version[64];
	char hint[256];
	size_t size = 0;
	const char *nodes;
	FILE *p = popen(cmd, "re");

	if (!p)
		return;
	while (getline(&line, &size, p) > 0) {
		if (sscanf(line, "%63s", version) != 1 || !strcmp(version, "(null)"))
			continue;
		if (!*seen)
			(void)snprintf(seen, sizeof(seen), "%s", version);
		if (!strcmp(version, seen))
			continue;
		nodes = line + strspn(line, " ") + strlen(version);
		nodes += strspn(nodes, " ");
		line[strcspn(line, "\n")] = '\0';
		(void)snprintf(hint, sizeof(hint),
			       "install slurm-ceems built for Slurm %s on them, and run ceems "
			       "check there",
			       version);
		/* if there are very many nodes, only the first ones are named */
		check_warn(c, "slurmd", check_hint_system(hint),
			   "nodes run Slurm %s, and %.200s%s have %s: they need another build", seen, nodes,
			   strlen(nodes) > 200 ? "..." : "", version);
	}
	(void)pclose(p);
}

/*
 * Finds another node whose slurmd runs on the same host as that of NODE (Slurm's --enable-multiple-slurmd).
 * False: there is none.
 */
static bool find_neighbour(const char *node, char ret[256])
{
	/* sorted by host, so that the nodes of a host are lines that follow each other */
	FILE *p = popen("timeout 10 sinfo -h -N -o '%N %n' 2>/dev/null | sort -u -k2,2 -k1,1", "re");
	char line_host[256], line_node[256], host[256] = "";
	bool is_here = false;

	*ret = '\0';
	if (!p)
		return false;
	while (fscanf(p, "%255s %255s%*[^\n]", line_node, line_host) == 2) {
		if (strcmp(line_host, host)) {
			if (is_here)
				break;
			(void)snprintf(host, sizeof(host), "%s", line_host);
			*ret = '\0';
		}
		if (!strcmp(line_node, node))
			is_here = true;
		else if (!*ret)
			(void)snprintf(ret, 256, "%s", line_node);
	}
	(void)pclose(p);
	return is_here && *ret;
}

/* Reports another node of the same host, if both write ceems.prom to the same folder. */
static void check_shared_textfile(struct check *c)
{
	char hint[SETTINGS_PATH_MAX + 32];
	char other[256];

	if (!*c->settings.textfile_dir || c->textfile_is_judged || !find_neighbour(c->node, other))
		return;
	(void)snprintf(hint, sizeof(hint), "TextfileDir=%s/%%n", c->settings.textfile_dir);
	check_warn(c, "TextfileDir", check_hint_setting(SETTING_textfile_dir, hint),
		   "the slurmd of %s is on this host, too, and overwrites the same ceems.prom", other);
}

static void check_loaded(struct check *c, const char *daemon, enum check_restart restart, const char *key,
			 const char *plugin, const char *file)
{
	if (!slurmconf_list_has(slurmconf_get(c->slurm, key), plugin))
		return;
	switch (check_process_loaded(daemon, file)) {
	case CHECK_NOT_LOADED:
		check_error(c, daemon, check_hint_restart(restart),
			    "runs without %s: it was started before slurm.conf named the plugin, "
			    "or could not load it (see its log)",
			    file);
		break;
	case CHECK_OLD_FILE:
		check_warn(c, daemon, check_hint_restart(restart),
			   "runs an older file of %s than is installed", file);
		break;
	case CHECK_IS_LOADED:
		check_ok(c, daemon, "runs %s", file);
		break;
	case CHECK_NO_DAEMON:
		break;
	}
}

void check_daemons(struct check *c)
{
	if (!c->slurm)
		return;
	if (c->is_slurm_mute) {
		check_note(c, "slurmctld", "not asked, and slurmdbd neither: correct PluginDir first");
	} else if (check_munge(c)) {
		check_slurmdbd(c);
		if (check_answer(c, "slurmctld",
				 "systemctl start slurmctld  # if it does not start, its log says why",
				 "timeout 10 sinfo -h 2>&1")) {
			check_node_versions(c);
			check_shared_textfile(c);
		}
	}
	check_loaded(c, "slurmctld", RESTART_SLURMCTLD, "JobCompType", "jobcomp/ceems", "jobcomp_ceems.so");
	check_loaded(c, "slurmd", RESTART_SLURMD, "AcctGatherEnergyType", "acct_gather_energy/ceems",
		     "acct_gather_energy_ceems.so");
}
