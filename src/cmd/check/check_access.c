/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check_access.c - checks whether SlurmUser can read a file or write in a folder. root, who runs
 * `ceems check`, always can, but slurmctld does not run as root.
 */
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/cmd/check/check.h"

#define GROUPS_MAX 256

/* A user and the groups of that user. */
struct who {
	uid_t uid;
	gid_t group[GROUPS_MAX];
	int ngroups;
};

static bool is_in(const struct who *w, gid_t gid)
{
	int i;

	for (i = 0; i < w->ngroups; i++)
		if (w->group[i] == gid)
			return true;
	return false;
}

/*
 * Returns true if the mode bits of a file allow W to read (BIT 4), write (2) or enter
 * (1). Does not look at ACLs.
 */
static bool may(const struct who *w, const struct stat *st, unsigned int bit)
{
	unsigned int shift = st->st_uid == w->uid ? 6 : is_in(w, st->st_gid) ? 3 : 0;

	return !w->uid || st->st_mode >> shift & bit;
}

/* Finds SlurmUser. False: slurm.conf or the user is not known, or it is root, who may do everything. */
static bool slurm_user(const struct check *c, struct who *ret)
{
	const char *user = check_slurm_user(c);
	const struct passwd *pw = getpwnam(user);

	if (!c->slurm || !pw || !pw->pw_uid)
		return false;
	ret->uid = pw->pw_uid;
	ret->ngroups = GROUPS_MAX;
	if (getgrouplist(user, pw->pw_gid, ret->group, &ret->ngroups) < 0)
		ret->ngroups = 0;
	return true;
}

/*
 * Finds the first folder of PATH, or PATH itself, that W has no access to, and cuts PATH after it.
 * LAST is the bit that PATH itself needs. False: W has access to all.
 */
static bool find_closed(const struct who *w, char *path, unsigned int last)
{
	char *slash = path;
	struct stat st;

	while ((slash = strchr(slash + 1, '/'))) {
		*slash = '\0';
		if (stat(path, &st) == 0 && !may(w, &st, 1))
			return true;
		*slash = '/';
	}
	return stat(path, &st) == 0 && !may(w, &st, last);
}

/* Returns true if SlurmUser may be let into the folder DIR: it is ours, or has ceems.conf. */
static bool may_open_folder(const struct check *c, const char *dir)
{
	const size_t len = strlen(dir);

	return check_owns_folder(dir) || (!strncmp(dir, "/etc/", 5) && !strncmp(c->conf_path, dir, len) &&
					  c->conf_path[len] == '/' && !strchr(c->conf_path + len + 1, '/'));
}

bool check_slurm_user_reads(struct check *c, const char *what, enum setting setting, const char *path,
			    bool is_secret)
{
	const char *user = check_slurm_user(c);
	struct check_hint fix;
	char hint[CHECK_HINT_MAX] = "";
	char closed[PATH_MAX];
	bool is_folder;
	struct who w;

	if (!slurm_user(c, &w))
		return true;
	(void)snprintf(closed, sizeof(closed), "%s", path);
	if (!find_closed(&w, closed, 4))
		return true;
	/*
	 * a closed folder is opened to all users, a file to all readers; a secret file
	 * gets a new owner instead
	 */
	is_folder = strcmp(closed, path) != 0;
	fix = check_hint_system(hint);
	if (is_folder ? !may_open_folder(c, closed) : setting < SETTING_N && !check_owns_file(c, path))
		fix = check_hint_copy(c, setting, path, user, hint);
	else if (is_folder)
		(void)snprintf(hint, sizeof(hint), "chmod a+x %s", closed);
	else if (is_secret)
		(void)snprintf(hint, sizeof(hint), "chown %s %s", user, path);
	else
		(void)snprintf(hint, sizeof(hint), "chmod a+r %s", path);
	check_error(c, what, fix, "%s: SlurmUser (%s), as whom slurmctld runs, cannot %s %s", path, user,
		    is_folder ? "enter" : "read", closed);
	return false;
}

/* Returns what lets SlurmUser write in DIR. CLOSED is DIR, or the folder above it that is in the way. */
static struct check_hint hint_to_write(const struct check *c, enum setting setting, const char *dir,
				       const char *closed, bool is_there, char hint[CHECK_HINT_MAX])
{
	const char *user = check_slurm_user(c);
	struct who w;
	char parent[PATH_MAX];

	(void)snprintf(parent, sizeof(parent), "%s", closed);
	if (strcmp(closed, dir) && slurm_user(c, &w) && find_closed(&w, parent, 1)) {
		if (!may_open_folder(c, closed))
			return check_hint_elsewhere(c, setting, hint);
		(void)snprintf(hint, CHECK_HINT_MAX, "chmod a+x %s", closed);
	} else if (!is_there && !check_is_system(dir)) {
		(void)snprintf(hint, CHECK_HINT_MAX, "install -d -o %s -m 700 %s", user, dir);
	} else if (!check_owns_folder(dir)) {
		return check_hint_elsewhere(c, setting, hint);
	} else {
		(void)check_chown(user, dir, hint);
	}
	return check_hint_system(hint);
}

bool check_slurm_user_writes(struct check *c, enum setting setting, const char *dir, bool makes)
{
	const char *user = check_slurm_user(c), *what = settings_keys[setting].name;
	bool is_there = access(dir, F_OK) == 0;
	char hint[CHECK_HINT_MAX];
	char closed[PATH_MAX];
	struct check_hint fix;
	struct stat st = { 0 };
	struct who w;
	char *slash;

	if (!slurm_user(c, &w))
		return true;
	(void)snprintf(closed, sizeof(closed), "%s", dir);
	while (stat(closed, &st) < 0 && (slash = strrchr(closed, '/')) && slash != closed)
		*slash = '\0';
	if ((is_there || makes) && !find_closed(&w, closed, 1) && may(&w, &st, 2))
		return true;
	fix = hint_to_write(c, setting, dir, closed, is_there, hint);
	if (!is_there)
		check_error(c, what, fix, "%s does not exist%s", dir,
			    makes ? ", and SlurmUser, as whom slurmctld runs, cannot create it" : "");
	else
		check_error(c, what, fix, "%s: SlurmUser (%s), as whom slurmctld runs, cannot %s %s", dir,
			    user, strcmp(closed, dir) ? "enter" : "write in", closed);
	return false;
}
