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

const char *check_slurm_user(const struct check *c)
{
	const char *user = c->slurm ? slurmconf_get(c->slurm, "SlurmUser") : NULL;

	return user ? user : "root"; /* Slurm's default */
}

const char *check_slurmd_user(const struct check *c)
{
	const char *user = c->slurm ? slurmconf_get(c->slurm, "SlurmdUser") : NULL;

	return user ? user : "root"; /* Slurm's default */
}

bool check_slurm_user_reads(struct check *c, const char *what, const char *path, bool is_secret)
{
	const char *user = check_slurm_user(c);
	char hint[2 * PATH_MAX];
	char closed[PATH_MAX];
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
	if (strcmp(closed, path))
		(void)snprintf(hint, sizeof(hint), "chmod a+x %s", closed);
	else if (is_secret)
		(void)snprintf(hint, sizeof(hint), "chown %s %s", user, path);
	else
		(void)snprintf(hint, sizeof(hint), "chmod a+r %s", path);
	check_error(c, what, check_hint_system(hint),
		    "%s: SlurmUser (%s), as whom slurmctld runs, cannot %s %s", path, user,
		    strcmp(closed, path) ? "enter" : "read", closed);
	return false;
}

bool check_slurm_user_writes(struct check *c, const char *what, const char *dir, bool makes)
{
	const char *user = check_slurm_user(c);
	bool is_there = access(dir, F_OK) == 0;
	char hint[2 * PATH_MAX];
	char closed[PATH_MAX];
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
	if (!is_there)
		(void)snprintf(hint, sizeof(hint), "install -d -o %s -m 700 %s", user, dir);
	else if (strcmp(closed, dir))
		(void)snprintf(hint, sizeof(hint), "chmod a+x %s", closed);
	else
		(void)snprintf(hint, sizeof(hint), "chown %s%s %s", makes ? "-R " : "", user, dir);
	if (!is_there)
		check_error(c, what, check_hint_system(hint), "%s does not exist%s", dir,
			    makes ? ", and SlurmUser, as whom slurmctld runs, cannot create it" : "");
	else
		check_error(c, what, check_hint_system(hint),
			    "%s: SlurmUser (%s), as whom slurmctld runs, cannot %s %s", dir, user,
			    strcmp(closed, dir) ? "enter" : "write in", closed);
	return false;
}
