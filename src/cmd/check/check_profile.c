/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check_profile.c - whether srun --profile=energy works here: Slurm's profile plugin, and the lines
 * that it needs in acct_gather.conf. Without these lines, slurmctld, slurmd and slurmstepd end.
 */
#define _GNU_SOURCE /* strcasestr */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "src/cmd/check/check.h"

#define TYPE "AcctGatherProfileType"

static const struct profile_plugin {
	const char *type, *file, *package;
	const char *must[4]; /* keys that acct_gather.conf must have */
} plugins[] = {
	{ "acct_gather_profile/hdf5",
	  "acct_gather_profile_hdf5.so",
	  "slurm-wlm-hdf5-plugin",
	  { "ProfileHDF5Dir" } },
	{ "acct_gather_profile/influxdb",
	  "acct_gather_profile_influxdb.so",
	  "slurm-wlm-influxdb-plugin",
	  { "ProfileInfluxDBHost", "ProfileInfluxDBDatabase", "ProfileInfluxDBRTPolicy" } },
};

static const struct profile_plugin *profile_find(const char *type)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(plugins); i++)
		if (!strcasecmp(type, plugins[i].type) || !strcasecmp(type, strchr(plugins[i].type, '/') + 1))
			return &plugins[i];
	return NULL;
}

static bool profile_has_keys(struct check *c, const struct profile_plugin *p, const struct slurmconf *conf,
			     const char *path)
{
	char hint[PATH_MAX + 128];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(p->must) && p->must[i]; i++) {
		if (conf && slurmconf_get(conf, p->must[i]))
			continue;
		(void)snprintf(hint, sizeof(hint), "%s=... in %s", p->must[i], path);
		check_error(c, "profile", check_hint_file(CHECK_ACCT_GATHER_CONF, hint),
			    "%s is %s, and %s has no %s: Slurm's daemons do not start", TYPE, p->type, path,
			    p->must[i]);
		return false;
	}
	return true;
}

/*
 * Checks that DIR exists, or that its parent does: then the profile plugin makes DIR. If it cannot,
 * slurmstepd ends, and with it the step.
 */
static bool profile_can_make(struct check *c, const char *dir)
{
	char parent[PATH_MAX];
	char hint[PATH_MAX + 32];
	char *slash;

	(void)snprintf(parent, sizeof(parent), "%s", dir);
	while ((slash = strrchr(parent, '/')) && !slash[1] && slash != parent)
		*slash = '\0';
	if (slash)
		*slash = '\0';
	if (*dir == '/' && access(*parent ? parent : "/", F_OK) == 0)
		return true;
	(void)snprintf(hint, sizeof(hint), "mkdir -p %s", parent);
	check_warn(c, "profile",
		   *dir == '/' ?
			   check_hint_system(hint) :
			   check_hint_file(CHECK_ACCT_GATHER_CONF, "a ProfileHDF5Dir that begins with /"),
		   "ProfileHDF5Dir (%s) cannot be made on this machine: a step with --profile that runs here "
		   "would fail",
		   dir);
	return false;
}

/* Returns true if JobAcctGatherFrequency has energy=N; otherwise users must ask for a frequency. */
static bool has_frequency(const struct check *c)
{
	const char *value = slurmconf_get(c->slurm, "JobAcctGatherFrequency");
	const char *n = value ? strcasestr(value, "energy=") : NULL;

	return n && n[strlen("energy=")] > '0' && n[strlen("energy=")] <= '9';
}

void check_profile(struct check *c, const struct slurmconf *conf, const char *path)
{
	const char *type = slurmconf_get(c->slurm, TYPE);
	const struct profile_plugin *p;
	const char *dirs = slurmconf_get(c->slurm, "PluginDir");
	char file[PATH_MAX];
	char hint[256];

	if (!type || !strcasecmp(type, "acct_gather_profile/none") || !strcasecmp(type, "none")) {
		check_note(c, "profile", "no " TYPE ": srun --profile=energy makes no series");
		return;
	}
	p = profile_find(type);
	if (!p) {
		check_note(c, "profile", "%s is not a plugin that ceems check knows", type);
		return;
	}
	if (!check_find_plugin(dirs, p->file, file, sizeof(file))) {
		(void)snprintf(hint, sizeof(hint), "apt install %s, on every machine", p->package);
		check_error(c, "profile", check_hint_system(hint),
			    "%s is not in PluginDir: Slurm's daemons do not start", p->file);
		return;
	}
	if (!profile_has_keys(c, p, conf, path) ||
	    (!strcmp(p->must[0], "ProfileHDF5Dir") && !profile_can_make(c, slurmconf_get(conf, p->must[0]))))
		return;
	check_ok(c, "profile", "srun --profile=energy%s writes to %s",
		 has_frequency(c) ? "" : " --acctg-freq=energy=1", slurmconf_get(conf, p->must[0]));
}
