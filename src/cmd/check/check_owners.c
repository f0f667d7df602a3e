/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check_owners.c - commands that change an owner or a mode. `ceems check` proposes them only for what is ours
 * alone: "chown slurm /var/log" would break a system. For all else it proposes a path of our own.
 */
#define _GNU_SOURCE /* strcasestr */
#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/cmd/check/check.h"
#include "src/cmd/cmd.h"

/* Trees in which nothing is ours, even if its name says so. */
static const char *const system_trees[] = { "/bin",   "/boot", "/dev",	"/etc",	 "/home", "/lib", "/lib32",
					    "/lib64", "/proc", "/root", "/sbin", "/sys",  "/usr" };
/* Where other programs have their folders: only those with our name are ours. */
static const char *const shared_trees[] = { "/media", "/mnt", "/opt", "/run", "/srv", "/var" };

/* Names of files that slurm-ceems writes. */
static const char *const our_files[] = { "lock",   "store.db*", "inbox-*", "*.ledger",
					 "*.prom", "ceems*",	".ceems*" };

/* Where a file or folder of a setting may be if its own place does not do. */
static const struct place_of {
	enum setting setting;
	const char *path;
	const char *mode;
	bool is_file, is_slurm_users; /* its owner is SlurmUser; false: root */
} places[] = {
	{ SETTING_inbox_dir, "/var/spool/ceems/inbox", "700", .is_slurm_users = true },
	{ SETTING_store_dir, "/var/spool/ceems/store", "700", .is_slurm_users = true },
	{ SETTING_record_file, "/var/log/ceems/jobs.jsonl", "700", .is_file = true, .is_slurm_users = true },
	{ SETTING_sqlite_file, "/var/log/ceems/jobs.db", "700", .is_file = true, .is_slurm_users = true },
	{ SETTING_textfile_dir, "/var/spool/ceems/prom", "755", .is_slurm_users = true },
	{ SETTING_trace_dir, "/var/spool/ceems/traces", "1777", .is_file = false },
	{ SETTING_profile_dir, "/var/spool/ceems/profiles", "1777", .is_file = false },
	{ SETTING_ledger_dir, "/run/ceems", "755", .is_file = false },
};

static bool is_in_tree(const char *const *trees, size_t n, const char *path)
{
	size_t i, len;

	for (i = 0; i < n; i++) {
		len = strlen(trees[i]);
		if (!strncmp(path, trees[i], len) && (!path[len] || path[len] == '/'))
			return true;
	}
	return false;
}

/* Returns true if DIR has nothing but files that slurm-ceems writes; *RET_N is how many. */
static bool has_only_ours(const char *dir, unsigned int *ret_n)
{
	DIR *d = opendir(dir);
	bool is_ours = d != NULL;
	struct dirent *e;
	struct stat st;
	size_t i;

	*ret_n = 0;
	while (is_ours && (e = readdir(d))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		++*ret_n;
		is_ours = fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
		for (i = 0; i < ARRAY_SIZE(our_files) && fnmatch(our_files[i], e->d_name, 0); i++)
			;
		is_ours &= i < ARRAY_SIZE(our_files);
	}
	if (d)
		(void)closedir(d);
	return is_ours;
}

/* Returns true if a folder above PATH, or PATH itself, has our name. */
static bool has_our_name(const char *path)
{
	return strcasestr(path, "ceems") != NULL;
}

static unsigned int depth_of(const char *path)
{
	unsigned int n = 0;

	for (; *path; path++)
		n += *path == '/' && path[1];
	return n;
}

bool check_is_system(const char *path)
{
	return is_in_tree(system_trees, ARRAY_SIZE(system_trees), path);
}

bool check_owns_folder(const char *dir)
{
	char real[PATH_MAX];
	unsigned int n;

	if (!realpath(dir, real) || check_is_system(real))
		return false;
	if (has_our_name(real))
		return true;
	return depth_of(real) > 2 && !is_in_tree(shared_trees, ARRAY_SIZE(shared_trees), real) &&
	       has_only_ours(real, &n);
}

bool check_owns_file(const struct check *c, const char *path)
{
	char real[PATH_MAX], conf[PATH_MAX], slurm_conf[PATH_MAX];
	const char *slash;
	struct stat st;

	if (!realpath(path, real) || stat(real, &st) < 0 || !S_ISREG(st.st_mode) || depth_of(real) < 3)
		return false;
	if (realpath(c->slurm_conf, slurm_conf) && !strcmp(real, slurm_conf))
		return false;
	/* beside ceems.conf, as /etc/slurm/kafka.conf is, or with our name */
	slash = strrchr(real, '/');
	if (realpath(c->conf_path, conf) && strrchr(conf, '/') - conf == slash - real &&
	    !strncmp(real, conf, (size_t)(slash - real)))
		return true;
	return has_our_name(real) && (!strncmp(real, "/etc/", 5) || !check_is_system(real));
}

const char *check_chown(const char *user, const char *dir, char hint[CHECK_HINT_MAX])
{
	unsigned int n;
	bool is_ours = has_only_ours(dir, &n) && n;

	(void)snprintf(hint, CHECK_HINT_MAX, "chown %s%s %s", is_ours ? "-R " : "", user, dir);
	return hint;
}

static const struct place_of *place_find(enum setting setting)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(places); i++)
		if (places[i].setting == setting)
			return &places[i];
	return NULL;
}

/* Returns true if our folder may be made in DIR: all may enter it, and nobody else can make it first. */
static bool may_have_ours(const char *dir)
{
	char at[PATH_MAX];
	struct stat st;
	char *slash;

	if (!realpath(dir, at) || !at[1] || check_is_system(at))
		return false;
	if (stat(at, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_mode & (S_IWGRP | S_IWOTH))
		return false;
	while (stat(at, &st) == 0 && st.st_mode & S_IXOTH && (slash = strrchr(at, '/')) && at[1])
		slash[slash == at] = '\0';
	return !at[1];
}

struct check_hint check_hint_elsewhere(const struct check *c, enum setting setting, char hint[CHECK_HINT_MAX])
{
	const char *value = (const char *)&c->settings + settings_keys[setting].offset;
	const struct place_of *p = place_find(setting);
	char path[PATH_MAX + 64], folder[PATH_MAX];
	const char *name = NULL;
	struct stat st;
	char *slash;

	if (!p)
		return check_no_hint;
	(void)snprintf(folder, sizeof(folder), "%s", value);
	slash = strrchr(folder, '/');
	/* RecordFile=/var/log is /var/log/ceems/jobs.jsonl, RecordFile=/var/log/x is /var/log/ceems/x */
	if (p->is_file && !(stat(value, &st) == 0 && S_ISDIR(st.st_mode)) && slash) {
		name = stat(value, &st) < 0 || S_ISREG(st.st_mode) ? value + (slash - folder) + 1 : NULL;
		slash[slash == folder] = '\0';
	}
	if (p->is_file && (!name || !*name))
		name = strrchr(p->path, '/') + 1;
	if (!p->is_slurm_users || !may_have_ours(folder)) {
		(void)snprintf(folder, sizeof(folder), "%s", p->path);
		if (p->is_file)
			*strrchr(folder, '/') = '\0';
	} else {
		(void)snprintf(folder + strlen(folder), sizeof(folder) - strlen(folder), "/ceems");
	}
	(void)snprintf(path, sizeof(path), "%s%s%s", folder, name ? "/" : "", name ? name : "");
	(void)snprintf(hint, CHECK_HINT_MAX, "%s=%s  # made by: install -d -o %s -m %s %s",
		       settings_keys[setting].name, path, p->is_slurm_users ? check_slurm_user(c) : "root",
		       p->mode, folder);
	return check_hint_setting(setting, hint);
}

struct check_hint check_hint_copy(const struct check *c, enum setting setting, const char *path,
				  const char *user, char hint[CHECK_HINT_MAX])
{
	char copy[PATH_MAX];
	const char *slash = strrchr(path, '/');

	if (setting >= SETTING_N) { /* ceems.conf itself */
		if (settings_path(NULL, copy, sizeof(copy)) < 0)
			return check_no_hint;
		(void)snprintf(hint, CHECK_HINT_MAX, "install -m 644 %s %s", path, copy);
		return check_hint_system(hint);
	}
	(void)cmd_conf_beside(c->conf_path, slash ? slash + 1 : path, copy);
	(void)snprintf(hint, CHECK_HINT_MAX, "%s=%s  # made by: install -o %s -m 600 %s %s",
		       settings_keys[setting].name, copy, user, path, copy);
	return check_hint_setting(setting, hint);
}
