/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check_slurm.c - Slurm's half of `ceems check`: the lines of slurm.conf without which figures are
 * missing or wrong, and the plugins in PluginDir.
 */
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "src/cmd/check.h"
#include "src/cmd/elfsym.h"
#include "src/libjob/metric.h"
#include "src/libutil/fileio.h"

#define ENERGY_PLUGIN "acct_gather_energy/ceems"

/* Of the daemon that is installed; 0: unknown. Slurm compares it with the plugin's own number. */
static uint32_t installed_slurm_version(void)
{
	static const char *const ask[] = {
		"PATH=$PATH:/usr/sbin:/usr/local/sbin slurmctld -V 2>/dev/null",
		"PATH=$PATH:/usr/sbin:/usr/local/sbin slurmd -V 2>/dev/null",
		"sinfo -V 2>/dev/null",
	};
	unsigned int major;
	unsigned int minor;
	unsigned int micro;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ask); i++) {
		FILE *p = popen(ask[i], "re");
		int n;

		if (!p)
			continue;
		n = fscanf(p, "%*s %u.%u.%u", &major, &minor, &micro); /* "slurm-wlm 22.05.8" */
		(void)pclose(p);
		if (n == 3)
			return major << 16 | minor << 8 | micro;
	}
	return 0;
}

/* The first PluginDir entry that has the file, as Slurm searches. */
static bool find_plugin(const char *dirs, const char *file, char *path, size_t size)
{
	while (dirs && *dirs) {
		size_t len = strcspn(dirs, ":");
		int n = snprintf(path, size, "%.*s/%s", (int)len, dirs, file);

		if (n > 0 && (size_t)n < size && access(path, F_OK) == 0)
			return true;
		dirs += len + (dirs[len] == ':');
	}
	return false;
}

static void check_plugin(struct check *c, const char *what, const char *file,
			 uint32_t slurm_version, uint32_t mask)
{
	const char *dirs = slurmconf_get(c->slurm, "PluginDir");
	struct errmsg err = { 0 };
	char path[PATH_MAX];
	uint32_t version;

	/* not in slurm.conf: Slurm's own folder, which is the packager's choice */
	if (!dirs)
		dirs = SLURM_PLUGINDIR ":/usr/lib/x86_64-linux-gnu/slurm-wlm:"
				       "/usr/lib/aarch64-linux-gnu/slurm-wlm:/usr/lib64/slurm:"
				       "/usr/lib/slurm:/usr/local/lib/slurm";
	if (!find_plugin(dirs, file, path, sizeof(path))) {
		check_error(c, what, "PluginDir=<Slurm's own folder>:" SLURM_PLUGINDIR,
			    "%s is not in PluginDir (%s)", file, dirs);
		return;
	}
	if (elfsym_read_u32(path, "plugin_version", &version, &err) < 0) {
		check_error(c, what, "build and install it again", "%s", err.text);
		return;
	}
	/* 0: it finds its number itself when it is loaded */
	if (!slurm_version || !version) {
		check_ok(c, what, "%s", path);
	} else if ((version & mask) != (slurm_version & mask)) {
		check_error(c, what, "build it with the source of the installed Slurm",
			    "%s is for Slurm %u.%02u.%u, installed is %u.%02u.%u: it is refused",
			    path, version >> 16, version >> 8 & 255, version & 255,
			    slurm_version >> 16, slurm_version >> 8 & 255, slurm_version & 255);
	} else {
		check_ok(c, what, "%s, for Slurm %u.%02u.%u", path, version >> 16,
			 version >> 8 & 255, version & 255);
	}
}

static const char *set_to(const char *value)
{
	return value ? value : "not set";
}

static void check_energy_type(struct check *c)
{
	const char *type = slurmconf_get(c->slurm, "AcctGatherEnergyType");
	const char *hint = "AcctGatherEnergyType=" ENERGY_PLUGIN;

	if (!slurmconf_list_has(type, ENERGY_PLUGIN))
		check_error(c, "slurm.conf", hint,
			    "AcctGatherEnergyType is %s: jobs get no energy of ours", set_to(type));
	else if (strcasecmp(type, ENERGY_PLUGIN))
		check_error(c, "slurm.conf", hint,
			    "AcctGatherEnergyType is a list (%s): Slurm then adds up readings",
			    type);
	else
		check_ok(c, "slurm.conf", "%s", hint);
}

static void check_tres(struct check *c)
{
	const char *listed = slurmconf_get(c->slurm, "AccountingStorageTRES");
	unsigned int missing = 0;
	char line[1024];
	unsigned int m;

	/* energy is one of Slurm's own, always there */
	metric_foreach(m)
		if (metric_table[m].tres && strchr(metric_table[m].tres, '/') &&
		    metric_table[m].side == SIDE_IN &&
		    !slurmconf_list_has(listed, metric_table[m].tres))
			missing++;
	(void)snprintf(line, sizeof(line), "AccountingStorageTRES=");
	(void)metric_tres_line(line + strlen(line), (unsigned int)(sizeof(line) - strlen(line)));
	if (missing)
		check_warn(c, "slurm.conf", line,
			   "%u of our TRES are not in AccountingStorageTRES and so not kept",
			   missing);
	else
		check_ok(c, "slurm.conf", "AccountingStorageTRES has all of ours");
}

static void check_settings(struct check *c)
{
	const char *value = slurmconf_get(c->slurm, "PrologFlags");

	check_energy_type(c);
	if (slurmconf_list_has(value, "Contain") || slurmconf_list_has(value, "X11"))
		check_ok(c, "slurm.conf", "PrologFlags has Contain");
	else
		check_error(c, "slurm.conf", "PrologFlags=Contain",
			    "PrologFlags is %s: a job's energy would miss its batch script",
			    set_to(value));
	value = slurmconf_get(c->slurm, "JobAcctGatherType");
	if (!value || !strcasecmp(value, "jobacct_gather/none"))
		check_error(c, "slurm.conf", "JobAcctGatherType=jobacct_gather/cgroup",
			    "JobAcctGatherType is %s: Slurm sends no usage of steps",
			    set_to(value));
	else
		check_ok(c, "slurm.conf", "JobAcctGatherType=%s", value);
	value = slurmconf_get(c->slurm, "AccountingStorageType");
	if (!value || strcasecmp(value, "accounting_storage/slurmdbd"))
		check_warn(c, "slurm.conf", "AccountingStorageType=accounting_storage/slurmdbd",
			   "AccountingStorageType is %s: energy only, and not in sacct",
			   set_to(value));
	else
		check_tres(c);
	value = slurmconf_get(c->slurm, "AccountingStoreFlags");
	if (c->settings.record_script && !slurmconf_list_has(value, "job_script"))
		check_error(c, "slurm.conf", "AccountingStoreFlags=job_script",
			    "RecordScript is on, and AccountingStoreFlags is %s: slurmdbd has no "
			    "scripts", set_to(value));
	value = slurmconf_get(c->slurm, "JobCompType");
	if (!value || strcasecmp(value, "jobcomp/ceems"))
		check_warn(c, "slurm.conf", "JobCompType=jobcomp/ceems",
			   "JobCompType is %s: no job records for Kafka, MariaDB or a file",
			   set_to(value));
	else
		check_ok(c, "slurm.conf", "JobCompType=%s", value);
}

/* In PATH or what it includes ("include /etc/slurm/plugstack.conf.d/ *", one level). */
static bool plugstack_names(const char *path, const char *plugin, bool follow)
{
	_cleanup_free_ char *text = NULL;
	char *save = NULL;
	char *line;
	size_t len;
	size_t i;

	if (fileio_read_alloc(path, 1u << 20, &text, &len, NULL) < 0)
		return false;
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		bool found = false;
		glob_t files;

		line[strcspn(line, "#")] = '\0';
		line += strspn(line, " \t");
		if (strncmp(line, "include", 7)) {
			if (strstr(line, plugin))
				return true;
			continue;
		}
		line += 7 + strspn(line + 7, " \t");
		line[strcspn(line, " \t\r")] = '\0';
		if (!follow || glob(line, 0, NULL, &files))
			continue;
		for (i = 0; i < files.gl_pathc && !found; i++)
			found = plugstack_names(files.gl_pathv[i], plugin, false);
		globfree(&files);
		if (found)
			return true;
	}
	return false;
}

static void check_plugstack(struct check *c, const char *slurm_conf)
{
	const char *named = slurmconf_get(c->slurm, "PlugStackConfig");
	const char *slash = strrchr(slurm_conf, '/');
	char path[PATH_MAX];

	if (named)
		(void)snprintf(path, sizeof(path), "%s", named);
	else
		(void)snprintf(path, sizeof(path), "%.*s/plugstack.conf",
			       slash ? (int)(slash - slurm_conf) : 1,
			       slash ? slurm_conf : ".");
	if (plugstack_names(path, "spank_ceems.so", /* follow= */ true))
		check_ok(c, "plugstack.conf", "%s loads spank_ceems.so", path);
	else
		check_warn(c, "plugstack.conf", "optional spank_ceems.so",
			   "%s does not name spank_ceems.so: no --ceems-perf, no --ceems-report",
			   path);
}

/* What a SPANK plugin is compared by: major and minor only. */
#define SPANK_VERSION_MASK UINT32_C(0xffff00)
#define PLUGIN_VERSION_MASK UINT32_C(0xffffff)
#define TELLS_STARTS UINT32_C(0x190500) /* 25.05 */

static void check_starts(struct check *c, uint32_t version)
{
	if (*c->settings.kafka_start_topic && version && version < TELLS_STARTS)
		check_warn(c, "kafka", "Slurm 25.05 or later, or no KafkaStartTopic",
			   "KafkaStartTopic is of no use: this Slurm does not tell of job starts");
}

void check_slurm(struct check *c)
{
	const char *env = getenv("SLURM_CONF");
	const char *slash = strrchr(c->conf_path, '/');
	struct errmsg err = { 0 };
	char path[PATH_MAX];
	uint32_t version;

	if (env)
		(void)snprintf(path, sizeof(path), "%s", env);
	else
		(void)snprintf(path, sizeof(path), "%.*s/slurm.conf",
			       slash ? (int)(slash - c->conf_path) : 1,
			       slash ? c->conf_path : ".");
	if (slurmconf_read(path, &c->slurm, &err) < 0) {
		check_note(c, "slurm.conf", "%s; set SLURM_CONF to have it checked", err.text);
		return;
	}
	version = installed_slurm_version();
	check_settings(c);
	check_plugin(c, "acct_gather", "acct_gather_energy_ceems.so", version,
		     PLUGIN_VERSION_MASK);
	check_plugin(c, "spank", "spank_ceems.so", version, SPANK_VERSION_MASK);
	if (slurmconf_list_has(slurmconf_get(c->slurm, "JobCompType"), "jobcomp/ceems"))
		check_plugin(c, "jobcomp", "jobcomp_ceems.so", version, PLUGIN_VERSION_MASK);
	check_starts(c, version);
	check_plugstack(c, path);
}
