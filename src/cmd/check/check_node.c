/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check_node.c - the node's part of `ceems check`: ledger, folders, clock, file systems, cgroups.
 * Sensors are in check_sources.c, emission factors in check_factors.c.
 */
#define _GNU_SOURCE /* ST_NOEXEC */
#include <errno.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "ceems_config.h"
#include "src/cmd/check/check.h"
#include "src/libcore/fsroles.h"
#include "src/libledger/ledger_book.h"
#include "src/libmeter/activity/cgcounters.h"
#include "src/libmeter/activity/cgmount.h"
#include "src/libmeter/activity/mounts.h"
#include "src/profiler/stacks.h"
#include "src/libprofile/unwind.h"
#include "src/libutil/clock.h"
#include "src/libutil/fileio.h"

/*
 * The ledger is written every second, useless after a reboot, and mapped by daemons. So a disk or a
 * file server is the wrong place for it.
 */
static void check_ledger_dir(struct check *c)
{
	const char *dir = c->settings.ledger_dir;
	char hint[CHECK_HINT_MAX] = "";
	struct check_hint fix = check_hint_system(hint);
	struct errmsg err = { 0 };
	struct statfs fs;
	struct stat st;

	if (check_localfs(c, dir, "LedgerDir", &err) == -EREMOTE) {
		check_error(c, "LedgerDir", check_hint_setting(SETTING_ledger_dir, "LedgerDir=/run/ceems"),
			    "%s", err.text);
		return;
	}
	if (check_is_hung(c, dir))
		return;
	check_folder(c, SETTING_ledger_dir, dir, /* may_come= */ true);
	(void)snprintf(hint, sizeof(hint), "chown root: %s && chmod 0755 %s", dir, dir);
	if (!check_owns_folder(dir))
		fix = check_hint_elsewhere(c, SETTING_ledger_dir, hint);
	if (stat(dir, &st) == 0 && ((st.st_uid && st.st_uid != geteuid()) ||
				    ((st.st_mode & (S_IWGRP | S_IWOTH)) && !(st.st_mode & S_ISVTX))))
		check_error(c, "LedgerDir", fix,
			    "others than slurmd's user can write to %s, and so remove the ledger", dir);
	if (statfs(dir, &fs) == 0 && (unsigned long)fs.f_type != TMPFS_MAGIC &&
	    (unsigned long)fs.f_type != RAMFS_MAGIC)
		check_warn(
			c, "LedgerDir", check_hint_setting(SETTING_ledger_dir, "LedgerDir=/run/ceems"),
			"%s is not in memory: slurmd writes there every second, and would wait for a disk or "
			"server that hangs",
			dir);
}

/*
 * The clock must be right, since munge compares the times of nodes, records have times, and
 * emission factors are found by time.
 */
static void check_clock(struct check *c)
{
	struct timex tx = { .modes = 0 };

	if (adjtimex(&tx) == TIME_ERROR || tx.status & STA_UNSYNC)
		check_warn(
			c, "clock", check_hint_system("timedatectl set-ntp true  # or chrony, on all nodes"),
			"this machine's clock is not synchronised: steps and records would have wrong times, "
			"and munge refuses a difference of 5 minutes");
	else
		check_ok(c, "clock", "is synchronised");
}

static void check_ledger(struct check *c)
{
	_cleanup_free_ struct ledger_page *page = malloc(sizeof(*page));
	struct ledger *l = NULL;
	struct errmsg err = { 0 };
	uint64_t age_ms;
	int rc;

	if (!page || check_is_hung(c, c->settings.ledger_dir))
		return;
	rc = ledger_open(c->settings.ledger_dir, c->node, /* writable= */ false, &l, &err);
	if (rc == -ENOENT) {
		check_note(c, "ledger", "%s/%s.ledger: no slurmd with the plugin ran since boot",
			   c->settings.ledger_dir, c->node);
		return;
	}
	if (rc == -EACCES || rc == -EPERM) {
		check_note(c, "ledger", "%s: only root can read it", err.text);
		return;
	}
	if (rc == 0)
		rc = ledger_snapshot(l, page);
	ledger_close(l);
	if (rc < 0) {
		check_error(c, "ledger", check_hint_system("restart slurmd"), "%s",
			    *err.text ? err.text : strerror(-rc));
		return;
	}
	age_ms = (clock_mono_ns() - page->t_mono_ns) / NSEC_PER_MSEC;
	if (page->conservation_error_uj || ledger_page_error_uj(page))
		check_error(c, "ledger", check_hint_system("report this as a bug of slurm-ceems"),
			    "%llu uJ were booked wrongly since it began, %llu uJ are missing",
			    (unsigned long long)page->conservation_error_uj,
			    (unsigned long long)ledger_page_error_uj(page));
	if (!page->t_mono_ns)
		check_warn(c, "ledger", check_hint_system("see slurmd's log"), "no tick yet");
	else if (age_ms > 10 * c->settings.sample_interval_ns / NSEC_PER_MSEC)
		check_warn(c, "ledger", check_hint_system("systemctl status slurmd, and see its log"),
			   "the last tick is %llu s old", (unsigned long long)age_ms / 1000);
	else
		check_ok(c, "ledger", "last tick %llu ms ago, %llu ticks", (unsigned long long)age_ms,
			 (unsigned long long)page->ticks);
}

static void check_counters(struct check *c)
{
	struct cgcounters *counters = NULL;
	struct errmsg err = { 0 };

	if (!c->settings.step_counters)
		check_note(c, "counters", "StepCounters=no: CPU energy is split by CPU time");
	else if (cgcounters_create(&pmu_hardware, /* cpu= */ 0, cgcounters_max_fds(), &counters, &err) < 0)
		check_note(c, "counters", "%s; CPU energy is split by CPU time", err.text);
	else
		check_ok(c, "counters",
			 "CPU energy is split by hardware counters of the steps, "
			 "which takes cgroup v2");
	cgcounters_destroy(counters);
}

/*
 * Reports settings of Filesystems for which nothing is mounted here. That is right on some nodes,
 * and a typing error on others.
 */
static void check_filesystems(struct check *c)
{
	bool is_there[FSROLE_N + 1] = { false }, is_set[FSROLE_N] = { false };
	const char *rest = c->settings.filesystems;
	char path[FSROLE_PATH_MAX];
	struct mounts *mounts = NULL;
	enum fsrole role;
	unsigned int r;
	size_t i;

	if (mounts_create(&mounts) < 0)
		return;
	(void)mounts_learn(mounts, getpid());
	for (i = 0; i < mounts_count(mounts); i++)
		is_there[fsroles_find(c->settings.filesystems, mounts_at(mounts, i)->path)] = true;
	mounts_destroy(mounts);
	while (fsroles_next(&rest, &role, path, NULL) > 0)
		is_set[role] = true;
	for (r = 0; r < FSROLE_N; r++)
		if (is_set[r] && !is_there[r])
			check_note(c, "Filesystems", "%s: nothing is mounted there, so its I/O is n/a",
				   fsrole_name((enum fsrole)r));
}

static bool find_cgroups(const char *controller, char *ret, size_t size)
{
	if (cgmount_find(controller, "/", ret, size) < 0)
		return false;
	ret[strlen(ret) - 1] = '\0'; /* remove the "/" of the path, which follows the mount point */
	return true;
}

/* Reports in which hierarchy the steps' cgroups are, and what needs v2. */
static void check_cgroups(struct check *c)
{
	char v1[PATH_MAX], v2[PATH_MAX];
	bool has_v1 = find_cgroups("freezer", v1, sizeof(v1));
	bool has_v2 = find_cgroups(NULL, v2, sizeof(v2));

	const char *gather = c->slurm ? slurmconf_get(c->slurm, "JobAcctGatherType") : NULL;

	if (!has_v1 && !has_v2 && gather && !strcasecmp(gather, "jobacct_gather/cgroup"))
		check_error(c, "cgroups",
			    check_hint_system(
				    "mount -t cgroup2 cgroup2 /sys/fs/cgroup  # systemd does this at boot"),
			    "none are mounted, and JobAcctGatherType is %s: slurmd does not start", gather);
	else if (!has_v1 && !has_v2)
		check_note(c, "cgroups", "none are mounted: steps are known by their processes");
	else if (!has_v1)
		check_ok(c, "cgroups", "v2 at %s", v2);
	else if (!c->settings.step_cgroup)
		check_note(c, "cgroups", "v1 at %s, StepCgroup=no: TCP and packets are n/a if Slurm uses v1",
			   v1);
	else
		check_ok(c, "cgroups", "v1 at %s, v2 %s%s: steps get a v2 cgroup of their own, too", v1,
			 has_v2 ? "at " : "is not mounted", has_v2 ? v2 : "");
}

/* Copies to BUF the mount point of DIR: the highest folder with the same device and mount flags. */
static const char *mount_point_of(const char *dir, char buf[PATH_MAX])
{
	char up[PATH_MAX];
	struct stat st, st_up;
	struct statvfs vfs;
	char *slash;

	(void)snprintf(up, sizeof(up), "%s", dir);
	do {
		(void)snprintf(buf, PATH_MAX, "%s", up);
		slash = strrchr(up, '/');
		if (!slash || !up[1])
			break;
		slash[slash == up] = '\0';
	} while (stat(buf, &st) == 0 && stat(up, &st_up) == 0 && st.st_dev == st_up.st_dev &&
		 statvfs(up, &vfs) == 0 && vfs.f_flag & ST_NOEXEC);
	return buf;
}

/* No program starts from a file system that is mounted noexec. */
static void check_helpers(struct check *c)
{
	bool is_set = *c->settings.helper_dir;
	const char *dir = is_set ? c->settings.helper_dir : CEEMS_LIBEXECDIR;
	char hint[PATH_MAX + 64], mount[PATH_MAX];
	struct statvfs vfs;

	if (statvfs(dir, &vfs) < 0 || !(vfs.f_flag & ST_NOEXEC))
		return;
	if (is_set && statvfs(CEEMS_LIBEXECDIR, &vfs) == 0 && !(vfs.f_flag & ST_NOEXEC))
		(void)snprintf(hint, sizeof(hint), "HelperDir=" CEEMS_LIBEXECDIR);
	else
		(void)snprintf(hint, sizeof(hint), "mount -o remount,exec %s", mount_point_of(dir, mount));
	check_error(c, "HelperDir",
		    *hint == 'H' ? check_hint_setting(SETTING_helper_dir, hint) : check_hint_system(hint),
		    "%s is on a file system that is mounted noexec: no helper program starts", dir);
}

/*
 * Files that slurmd's helper programs read or write. A helper waits for a file server that is gone,
 * and slurmd does not, but the values are lost meanwhile.
 */
static void check_remote(struct check *c)
{
	const struct {
		enum setting setting;
		const char *path, *lost;
	} t[] = {
		{ SETTING_textfile_dir, c->settings.textfile_dir, "ceems.prom is not written" },
		{ SETTING_external_source, c->settings.external_source, "energy is not measured" },
	};
	struct errmsg err = { 0 };
	const char *key;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		key = settings_keys[t[i].setting].name;
		if (*t[i].path && check_localfs(c, t[i].path, key, &err) == -EREMOTE)
			check_warn(c, key, check_hint_setting(t[i].setting, "name a folder on a local disk"),
				   "%s is on a network file system: while its server hangs, %s", t[i].path,
				   t[i].lost);
	}
}

/* A folder in which all users write files of their own. OPTION asks for FILES there. */
static void check_users_dir(struct check *c, enum setting setting, const char *option, const char *files)
{
	const char *dir = (const char *)&c->settings + settings_keys[setting].offset;
	const char *key = settings_keys[setting].name;
	char hint[CHECK_HINT_MAX] = "";
	struct check_hint fix = check_hint_system(hint);
	struct stat st;

	if (!strcmp(dir, SETTINGS_NONE)) {
		check_ok(c, key, "%s is off", option);
		return;
	}
	if (!*dir) {
		check_ok(c, key, "%s go to the job's own folder", files);
		return;
	}
	if (check_is_hung(c, dir))
		return;
	if (stat(dir, &st) < 0) {
		int rc = errno;

		(void)snprintf(hint, sizeof(hint), "mkdir -p %s && chmod 1777 %s", dir, dir);
		check_error(c, key,
			    rc == ENOENT && !check_is_system(dir) ? fix :
								    check_hint_elsewhere(c, setting, hint),
			    "%s: %s", dir, strerror(rc));
		return;
	}
	(void)snprintf(hint, sizeof(hint), "chmod 1777 %s", dir);
	if (!check_owns_folder(dir))
		fix = check_hint_elsewhere(c, setting, hint);
	if (!S_ISDIR(st.st_mode))
		check_error(c, key, fix, "%s is not a folder", dir);
	else if ((st.st_mode & 01777) != 01777)
		check_warn(c, key, fix,
			   "%s has mode %04o: all users must be able to write there, but not to remove each "
			   "other's files",
			   dir, (unsigned int)(st.st_mode & 07777));
	else
		check_ok(c, key, "%s", dir);
}

/* Checks whether a step with --ceems-profile could be profiled on this node. */
static void check_profiles(struct check *c)
{
	const struct unwind_machine *machine = unwind_host();
	struct errmsg err = { 0 }, no_dump = { 0 };
	int rc;

	check_users_dir(c, SETTING_profile_dir, "--ceems-profile", "profiles");
	if (!strcmp(c->settings.profile_dir, SETTINGS_NONE))
		return;
#ifndef HAVE_PROFILES
	check_note(c, "profile", "built without protobuf-c: --ceems-profile makes no file");
	return;
#endif
	if (geteuid() != 0) {
		check_note(c, "profile", "run ceems check as root to see whether steps can be sampled");
		return;
	}
	rc = stacks_try(machine ? machine->sampled : 0, &no_dump, &err);
	if (rc < 0)
		check_note(c, "profile", "steps cannot be sampled: %s; --ceems-profile makes no file",
			   err.text);
	else
		check_ok(c, "profile",
			 "stacks by %s, 1 to %" PRIu64
			 " samples per second of CPU time, for steps with --ceems-profile",
			 *no_dump.text ? "frame pointers" : ".eh_frame and frame pointers",
			 c->settings.profile_max_hz);
	if (rc == 0 && *no_dump.text)
		check_note(c, "profile", "%s; programs without frame pointers lack callers", no_dump.text);
	if (rc == 0 && stacks_try_event(STACKS_CYCLES, &err) < 0)
		check_note(c, "profile", "%s; --ceems-profile=cycles samples the CPU's clock", err.text);
	else if (rc == 0)
		check_ok(c, "profile", "cycles can be sampled: --ceems-profile=cycles");
}

void check_node(struct check *c)
{
	check_cgroups(c);
	check_helpers(c);
	check_sources(c);
	check_counters(c);
	check_events(c);
	check_factors(c);
	check_ledger_dir(c);
	check_ledger(c);
	check_clock(c);
	check_remote(c);
	check_users_dir(c, SETTING_trace_dir, "--ceems-trace", "traces");
	check_profiles(c);
	check_push(c);
	check_filesystems(c);
	check_bpf(c);
}
