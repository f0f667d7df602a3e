/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check_access.c - may SlurmUser read a file? root, who runs `ceems check`, may read all; slurmctld does not
 * run as root.
 */
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "src/cmd/check.h"

#define GROUPS_MAX 256

/* Of NAME and its groups. */
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

/* By the mode alone: an ACL may say otherwise. BIT: 4 to read, 1 to enter. */
static bool may(const struct who *w, const struct stat *st, unsigned int bit)
{
	unsigned int shift = st->st_uid == w->uid ? 6 : is_in(w, st->st_gid) ? 3 : 0;

	return !w->uid || st->st_mode >> shift & bit;
}

/* The first part of PATH that is closed to W, in PATH itself, cut there; false: none is. */
static bool find_closed(const struct who *w, char *path)
{
	char *slash = path;
	struct stat st;

	while ((slash = strchr(slash + 1, '/'))) {
		*slash = '\0';
		if (stat(path, &st) == 0 && !may(w, &st, 1))
			return true;
		*slash = '/';
	}
	return stat(path, &st) == 0 && !may(w, &st, 4);
}

const char *check_slurm_user(const struct check *c)
{
	const char *user = c->slurm ? slurmconf_get(c->slurm, "SlurmUser") : NULL;

	return user ? user : "root"; /* Slurm's default */
}

bool check_slurm_user_reads(struct check *c, const char *what, const char *path)
{
	const char *user = check_slurm_user(c);
	const struct passwd *pw = getpwnam(user);
	struct who w = { .ngroups = GROUPS_MAX };
	char hint[2 * PATH_MAX];
	char closed[PATH_MAX];
	struct stat st;

	if (!c->slurm || !pw || !pw->pw_uid)
		return true;
	w.uid = pw->pw_uid;
	if (getgrouplist(user, pw->pw_gid, w.group, &w.ngroups) < 0)
		w.ngroups = 0;
	(void)snprintf(closed, sizeof(closed), "%s", path);
	if (!find_closed(&w, closed))
		return true;
	/* a folder above is opened to all who know a name in it; a secret changes hands */
	if (strcmp(closed, path))
		(void)snprintf(hint, sizeof(hint), "chmod a+x %s", closed);
	else if (stat(path, &st) == 0 && !(st.st_mode & (S_IRWXG | S_IRWXO)))
		(void)snprintf(hint, sizeof(hint), "chown %s %s", user, path);
	else
		(void)snprintf(hint, sizeof(hint), "chmod a+r %s", path);
	check_error(c, what, hint, "%s: SlurmUser (%s), as whom slurmctld runs, cannot %s %s", path, user,
		    strcmp(closed, path) ? "enter" : "read", closed);
	return false;
}
