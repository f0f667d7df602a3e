/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check_slurm.c - Slurm's part of `ceems check`: lines of slurm.conf without which values are
 * missing or wrong, and the plugins in PluginDir.
 */
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "src/cmd/check/check.h"
#include "src/cmd/cmd.h"
#include "src/libcore/forbid.h"
#include "src/libcore/metric.h"
#include "src/libutil/fileio.h"
#include "src/libutil/items.h"
#include "src/libutil/slurm_releases.h"
#include "src/libutil/trust.h"

#define ENERGY_PLUGIN "acct_gather_energy/ceems"
#define TRES_PREFIX "ic/ceem" /* also a mistyped one */
#define TRES_NAMED 4	      /* at most so many missing TRES are named */

/* Returns the version of the installed Slurm daemons, which a plugin's version must match. 0: unknown. */
static uint32_t installed_slurm_version(void)
{
	static const char *const ask[] = {
		"slurmctld -V 2>/dev/null",
		"slurmd -V 2>/dev/null",
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
		n = fscanf(p, "%*s %u.%u.%u", &major, &minor, &micro); /* as "slurm-wlm 22.05.8" */
		(void)pclose(p);
		if (n == 3)
			return major << 16 | minor << 8 | micro;
	}
	return 0;
}

static const char *set_to(const char *value)
{
	return value ? value : "not set";
}

static void check_repeated_values(struct check *c)
{
	static const char *const keys[] = { "AccountingStorageType", "AcctGatherEnergyType",
					    "AcctGatherProfileType", "JobAcctGatherFrequency",
					    "JobAcctGatherType",     "JobCompType",
					    "PlugStackConfig" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(keys); i++)
		check_repeats(c, keys[i], /* sep= */ '\0', /* hint= */ NULL);
}

static void check_energy_type(struct check *c)
{
	const char *key = "AcctGatherEnergyType";
	const char *type = slurmconf_get(c->slurm, key);
	const char *hint = "AcctGatherEnergyType=" ENERGY_PLUGIN;

	if (!slurmconf_list_has(type, ENERGY_PLUGIN))
		check_error(c, "slurm.conf", check_hint_slurm(key, hint),
			    "%s%s is %s: jobs get no energy from slurm-ceems", check_at(c, key), key,
			    set_to(type));
	else if (strcasecmp(type, ENERGY_PLUGIN))
		check_error(c, "slurm.conf", check_hint_slurm(key, hint),
			    "%s%s is a list (%s): Slurm adds up the readings of all its plugins",
			    check_at(c, key), key, type);
	else
		check_ok(c, "slurm.conf", "%s", hint);
}

/*
 * Returns the largest set of our TRES that LISTED has completely; METRIC_SET_N: none. *RET_MISSING is how
 * many of our TRES LISTED lacks.
 */
static enum metric_set find_set(const char *listed, unsigned int *ret_missing)
{
	unsigned int missing[METRIC_SET_N] = { 0 };
	enum metric_set has = METRIC_SET_N;
	unsigned int m, set;

	*ret_missing = 0;
	/* TRES without '/' ("energy") are Slurm's own and always exist */
	metric_foreach(m)
		if (strchr(metric_table[m].tres, '/') && metric_table[m].side == SIDE_IN &&
		    !slurmconf_list_has(listed, metric_table[m].tres)) {
			missing[metric_set_of((enum metric)m)]++;
			++*ret_missing;
		}
	for (set = 0; set < METRIC_SET_N && !missing[set]; set++)
		has = (enum metric_set)set;
	return has;
}

/* Returns true if NAME is a TRES of Slurm by slurm.conf(5), AccountingStorageTRES. */
static bool is_tres_of_slurm(const char *name)
{
	static const char *const whole[] = { "cpu", "mem", "energy", "node", "billing", "vmem", "pages" };
	static const char *const type[] = { "gres/", "license/", "bb/", "fs/", "ic/" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(whole); i++)
		if (!strcasecmp(name, whole[i]))
			return true;
	for (i = 0; i < ARRAY_SIZE(type); i++)
		if (!strncasecmp(name, type[i], strlen(type[i])) && name[strlen(type[i])])
			return true;
	return false;
}

/* Returns true if NAME is a TRES of ours, or not meant to be one. */
static bool is_tres_of_ours(const char *name)
{
	unsigned int m;

	if (strncasecmp(name, TRES_PREFIX, strlen(TRES_PREFIX)))
		return true;
	metric_foreach(m)
		if (!strcasecmp(metric_table[m].tres, name))
			return true;
	return false;
}

/* Returns true if M is in the set basic, and a TRES that Slurm does not have of itself. */
static bool is_basic_tres(enum metric m)
{
	return strchr(metric_table[m].tres, '/') && metric_table[m].side == SIDE_IN &&
	       metric_set_of(m) == METRIC_SET_BASIC;
}

/* Adds NAME to the list at the end of BUF. False: there is no room. */
static bool append_tres(char buf[LINE_MAX], const char *name)
{
	size_t used = strlen(buf);
	int n = snprintf(buf + used, LINE_MAX - used, "%s%s", buf[used - 1] == '=' ? "" : ",", name);

	return n > 0 && (size_t)n < LINE_MAX - used;
}

/*
 * Writes a line that sets KEY to the names of LISTED that Slurm knows and to the TRES of the set basic.
 * Returns another hint if the line is too long.
 */
static const char *tres_line(const char *key, const char *listed, char buf[LINE_MAX])
{
	const char *rest = listed;
	bool is_whole = true;
	char name[256];
	unsigned int m;

	(void)snprintf(buf, LINE_MAX, "%s=", key);
	while (rest && items_next(&rest, name, sizeof(name)))
		if (is_tres_of_slurm(name) && is_tres_of_ours(name))
			is_whole &= append_tres(buf, name);
	metric_foreach(m)
		if (is_basic_tres((enum metric)m) && !slurmconf_list_has(listed, metric_table[m].tres))
			is_whole &= append_tres(buf, metric_table[m].tres);
	return is_whole ? buf :
			  "add what ceems tres prints to AccountingStorageTRES, and leave what is there";
}

/*
 * Reports names that Slurm does not know, such as the "..." of an example, and mistyped ones of ours, which
 * Slurm takes for network interconnects of the site.
 */
static void check_tres_names(struct check *c, const char *key, const char *listed, const char *hint)
{
	char name[256];

	while (listed && items_next(&listed, name, sizeof(name))) {
		if (!is_tres_of_slurm(name))
			check_error(c, "slurm.conf", check_hint_slurm(key, hint),
				    "%s%s has '%s', which Slurm does not know: slurmctld does not start",
				    check_at(c, key), key, name);
		else if (!is_tres_of_ours(name))
			check_error(
				c, "slurm.conf", check_hint_slurm(key, hint),
				"%s%s has '%s', which slurm-ceems does not have (see ceems tres): it stays "
				"empty, and slurmdbd keeps the name for good",
				check_at(c, key), key, name);
	}
}

/* Writes the names of the set basic that LISTED lacks, the first few of them. */
static const char *name_missing(const char *listed, char buf[LINE_MAX])
{
	unsigned int m, n = 0;
	size_t used = 0;

	buf[0] = '\0';
	metric_foreach(m) {
		if (!is_basic_tres((enum metric)m) || slurmconf_list_has(listed, metric_table[m].tres))
			continue;
		if (++n <= TRES_NAMED)
			used += (size_t)snprintf(buf + used, LINE_MAX - used, "%s%s", used ? ", " : "",
						 metric_table[m].tres);
	}
	if (n > TRES_NAMED)
		(void)snprintf(buf + used, LINE_MAX - used, " and %u more", n - TRES_NAMED);
	return buf;
}

static void check_tres(struct check *c)
{
	const char *key = "AccountingStorageTRES";
	const char *listed = slurmconf_get(c->slurm, key);
	_cleanup_free_ char *merged = slurmconf_merge(c->slurm, key, ',');
	unsigned int missing;
	enum metric_set set = find_set(listed, &missing);
	char buf[LINE_MAX], names[LINE_MAX];
	const char *hint = tres_line(key, merged, buf);

	check_tres_names(c, key, listed, hint);
	if (set == METRIC_SET_ALL)
		check_ok(c, "slurm.conf", "%s has all TRES of slurm-ceems", key);
	else if (set < METRIC_SET_N)
		check_ok(c, "slurm.conf",
			 "%s has the set %s of slurm-ceems; %u other TRES are not kept (see ceems "
			 "tres)",
			 key, metric_set_name[set], missing);
	else
		check_warn(c, "slurm.conf", check_hint_slurm(key, hint),
			   "%sTRES of slurm-ceems are not in %s, so slurmdbd does not keep them: %s",
			   check_at(c, key), key, name_missing(listed, names));
	check_repeats(c, key, ',', hint);
}

/*
 * Writes a line that sets KEY, a list, to VALUE with ITEM added, or to VALUE if ITEM is NULL. VALUE may be
 * NULL, an empty list.
 */
static const char *list_with(const char *key, const char *value, const char *item, char buf[LINE_MAX])
{
	bool is_empty = !value || !*value || !strcasecmp(value, "none");

	(void)snprintf(buf, LINE_MAX, "%s=%s%s%s", key, is_empty ? "" : value, is_empty || !item ? "" : ",",
		       item ? item : "");
	return buf;
}

static void check_accounting(struct check *c)
{
	const char *key = "AccountingStorageType";
	const char *value = slurmconf_get(c->slurm, key);
	_cleanup_free_ char *merged = NULL;
	bool needs_script;
	char hint[LINE_MAX];

	if (!value || strcasecmp(value, "accounting_storage/slurmdbd"))
		check_warn(c, "slurm.conf",
			   check_hint_slurm(key, "AccountingStorageType=accounting_storage/slurmdbd"),
			   "%s%s is %s: energy only, and not in sacct", check_at(c, key), key, set_to(value));
	else
		check_tres(c);
	key = "AccountingStoreFlags";
	value = slurmconf_get(c->slurm, key);
	merged = slurmconf_merge(c->slurm, key, ',');
	needs_script = c->settings.record_script && !slurmconf_list_has(merged, "job_script");
	(void)list_with(key, merged, needs_script ? "job_script" : NULL, hint);
	if (c->settings.record_script && !slurmconf_list_has(value, "job_script"))
		check_error(c, "slurm.conf", check_hint_slurm(key, hint),
			    "%sRecordScript is on, and %s is %s: slurmdbd has no scripts", check_at(c, key),
			    key, set_to(value));
	check_repeats(c, key, ',', hint);
}

static bool has_partition(const struct slurmconf *sc, const char *name)
{
	const char *names;
	unsigned int n;

	for (n = 0; (names = slurmconf_get_nth(sc, "PartitionName", n)); n++)
		if (slurmconf_list_has(names, name))
			return true;
	return false;
}

/* A misspelt partition would let its jobs do what should be forbidden. Accounts are only in slurmdbd. */
static void check_forbidden(struct check *c)
{
	const char *rules = c->settings.forbid_options;
	char name[LINE_MAX];

	while (forbid_next_partition(&rules, name, sizeof(name)))
		if (!has_partition(c->slurm, name))
			check_warn(c, "ceems.conf",
				   check_hint_setting(
					   SETTING_forbid_options,
					   "ForbidOptions=partition:NAME:OPTIONS  # NAME as in slurm.conf"),
				   "ForbidOptions names the partition %s, which slurm.conf does not have",
				   name);
}

/* By slurm.conf(5), X11 and RunInJob (24.05) imply Contain. */
static bool has_contain(const char *flags)
{
	return slurmconf_list_has(flags, "Contain") || slurmconf_list_has(flags, "X11") ||
	       slurmconf_list_has(flags, "RunInJob");
}

static void check_settings(struct check *c)
{
	const char *key = "PrologFlags";
	const char *value = slurmconf_get(c->slurm, key);
	_cleanup_free_ char *merged = slurmconf_merge(c->slurm, key, ',');
	char hint[LINE_MAX];

	check_energy_type(c);
	(void)list_with(key, merged, has_contain(merged) ? NULL : "Contain", hint);
	if (has_contain(value))
		check_ok(c, "slurm.conf", "PrologFlags has Contain");
	else
		check_error(c, "slurm.conf", check_hint_slurm(key, hint),
			    "%s%s is %s: a job's energy would miss its batch script", check_at(c, key), key,
			    set_to(value));
	check_repeats(c, key, ',', hint);
	key = "JobAcctGatherType";
	value = slurmconf_get(c->slurm, key);
	if (!value || !strcasecmp(value, "jobacct_gather/none"))
		check_error(c, "slurm.conf",
			    check_hint_slurm(
				    key, "JobAcctGatherType=jobacct_gather/cgroup  # while no job step runs"),
			    "%s%s is %s: Slurm sends no usage of steps", check_at(c, key), key,
			    set_to(value));
	else
		check_ok(c, "slurm.conf", "%s=%s", key, value);
	check_accounting(c);
	key = "JobCompType";
	value = slurmconf_get(c->slurm, key);
	(void)snprintf(hint, sizeof(hint), "JobCompType=jobcomp/ceems");
	if (value && strcasecmp(value, "jobcomp/none"))
		(void)snprintf(hint, sizeof(hint), "JobCompType=jobcomp/ceems  # if nobody needs %s", value);
	if (!value || strcasecmp(value, "jobcomp/ceems"))
		check_warn(c, "slurm.conf", check_hint_slurm(key, hint),
			   "%s%s is %s: no job records for Kafka, MariaDB or a file", check_at(c, key), key,
			   set_to(value));
	else
		check_ok(c, "slurm.conf", "%s=%s", key, value);
	check_forbidden(c);
	check_repeated_values(c);
}

/*
 * Reports keys of other energy plugins in acct_gather.conf. Slurm's daemons do not start if no loaded plugin
 * knows a key there.
 */
static void check_other_plugins(struct check *c, const struct slurmconf *sc, const char *path)
{
	const char *key = slurmconf_key_like(sc, "Energy");
	char hint[PATH_MAX + 128];
	unsigned int line;

	if (!key)
		return;
	(void)slurmconf_where(sc, key, &line);
	(void)snprintf(hint, sizeof(hint), "take %s and its like out of %s", key, path);
	check_error(c, "slurm.conf", check_hint_file(CHECK_ACCT_GATHER_CONF, hint),
		    "%s:%u: %s is another energy plugin's: slurmctld and slurmd do not start with it", path,
		    line, key);
}

/* Checks acct_gather.conf for keys that keep Slurm from working. Our own plugin has no keys there. */
static void check_acct_gather_conf(struct check *c)
{
	struct slurmconf *sc = NULL;
	char path[PATH_MAX];

	(void)cmd_conf_beside(c->slurm_conf, "acct_gather.conf", path);
	if (slurmconf_read(path, &sc, NULL) == 0)
		check_other_plugins(c, sc, path);
	check_profile(c, sc, path);
	slurmconf_destroy(sc);
}

#define TELLS_STARTS UINT32_C(0x190500) /* from 25.05 on, slurmctld reports job starts to plugins */

static void check_starts(struct check *c, uint32_t version)
{
	if (*c->settings.kafka_start_topic && version && version < TELLS_STARTS)
		check_warn(c, "kafka",
			   check_hint_setting(SETTING_kafka_start_topic,
					      "install Slurm 25.05 or later, or remove KafkaStartTopic"),
			   "KafkaStartTopic has no effect: this Slurm does not report job starts to plugins");
}

/* On a configless node, slurmd stores the slurm.conf of slurmctld here, and Slurm's commands read it. */
#define CONFIGLESS_SLURM_CONF "/run/slurm/conf/slurm.conf"

/* Where slurm.conf is if it is not beside ceems.conf: by packages, and by Slurm's own source. */
static const char *const usual_confs[] = { CONFIGLESS_SLURM_CONF, "/etc/slurm/slurm.conf",
					   "/opt/slurm/etc/slurm.conf", "/usr/local/etc/slurm.conf",
					   "/usr/local/etc/slurm/slurm.conf" };

void check_find_slurm_conf(struct check *c)
{
	const char *path = getenv("SLURM_CONF");
	char beside[PATH_MAX];
	size_t i;

	if (!path)
		path = cmd_conf_beside(c->conf_path, "slurm.conf", beside);
	if (!check_answers(c, "slurm.conf", path))
		return;
	for (i = 0; path == beside && i < ARRAY_SIZE(usual_confs) && access(path, F_OK) < 0; i++)
		if (access(usual_confs[i], F_OK) == 0)
			path = usual_confs[i];
	(void)snprintf(c->slurm_conf, sizeof(c->slurm_conf), "%s", path);
	if (slurmconf_read(path, &c->slurm, &c->slurm_conf_err) < 0)
		c->slurm = NULL; /* check_slurm() says why */
}

/*
 * Checks that slurmd takes ceems.conf. Reading the file has tried that for the user who runs the check only.
 */
static void check_slurmd_trusts(struct check *c)
{
	const char *user = check_slurmd_user(c);
	const struct passwd *pw = getpwnam(user);
	char hint[PATH_MAX + 16];
	struct errmsg err = { 0 };
	struct stat st;

	(void)snprintf(hint, sizeof(hint), "chown root %s", c->conf_path);
	if (pw && stat(c->conf_path, &st) == 0 && trust_is_ours_for(pw->pw_uid, c->conf_path, &st, &err) < 0)
		check_error(c, "ceems.conf", check_hint_system(hint),
			    "%s; slurmd, which runs as %s, refuses it", err.text, user);
}

/* Looks into PluginDir, and runs commands of Slurm, which load plugins from it. */
static void check_plugins(struct check *c)
{
	uint32_t version = installed_slurm_version();

	check_acct_gather_conf(c);
	check_plugin_dir(c);
	check_plugin(c, "acct_gather", "acct_gather_energy_ceems.so", version);
	check_plugstack(c, version);
	if (slurmconf_list_has(slurmconf_get(c->slurm, "JobCompType"), "jobcomp/ceems"))
		check_plugin(c, "jobcomp", "jobcomp_ceems.so", version);
	check_starts(c, version);
}

/* Lets Slurm's commands, which are run below, be found, and find slurm.conf. */
static void set_environment(const struct check *c)
{
	const char *path = getenv("PATH");
	char more[PATH_MAX];

	(void)snprintf(more, sizeof(more),
		       "%s:/usr/bin:/usr/sbin:/usr/local/bin:/usr/local/sbin:"
		       "/opt/slurm/bin:/opt/slurm/sbin",
		       path ? path : "");
	(void)setenv("PATH", more, 1);
	(void)setenv("SLURM_CONF", c->slurm_conf, 1);
}

void check_slurm(struct check *c)
{
	if (!*c->slurm_conf)
		return;
	if (!c->slurm) {
		check_warn(c, "slurm.conf",
			   check_hint_system("./configure --with-slurm-sysconfdir=<its folder>, or for once: "
					     "SLURM_CONF=<path of slurm.conf> ceems check"),
			   "%s; it is not in /etc/slurm, /opt/slurm/etc and /usr/local/etc either: Slurm's "
			   "keys, "
			   "plugins and daemons are not checked",
			   c->slurm_conf_err.text);
		return;
	}
	set_environment(c);
	check_settings(c);
	if (check_plugin_dir_answers(c))
		check_plugins(c);
	(void)check_slurm_user_reads(c, "ceems.conf", SETTING_N, c->conf_path, /* is_secret= */ false);
	check_slurmd_trusts(c);
}
