/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* dladdr() */
#include "src/libutil/trust.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * True for root, for USER, as whom the process runs, and for the owner of this plugin: their code runs in the
 * process anyway.
 */
static bool is_trusted_owner(uid_t uid, uid_t user)
{
	static const char here;
	struct stat st;
	Dl_info info;

	return uid == 0 || uid == user ||
	       (dladdr(&here, &info) && stat(info.dli_fname, &st) == 0 && st.st_uid == uid);
}

static int check_owner(uid_t user, const char *path, const struct stat *st, struct errmsg *err)
{
	if (is_trusted_owner(st->st_uid, user))
		return 0;
	return errmsg_set(err, -EPERM, "%s: belongs to user %u, not to root; chown root", path,
			  (unsigned int)st->st_uid);
}

static int trust_is_owners(const char *path, const struct stat *st, struct errmsg *err)
{
	bool is_sticky = S_ISDIR(st->st_mode) && st->st_mode & S_ISVTX;

	if (is_sticky || !(st->st_mode & (S_IWGRP | S_IWOTH)))
		return 0;
	return errmsg_set(err, -EPERM, "%s: others than its owner may write it; chmod go-w", path);
}

/* Writes the folder that PATH is in to RET, which has PATH_MAX bytes. */
static int folder_of(const char *path, char *ret, struct errmsg *err)
{
	char *slash;

	if (snprintf(ret, PATH_MAX, "%s", path) >= PATH_MAX)
		return errmsg_errno(err, -ENAMETOOLONG, "%s", path);
	slash = strrchr(ret, '/');
	if (!slash)
		return errmsg_set(err, -EINVAL, "%s: is not a path", path);
	slash[slash == ret] = '\0';
	return 0;
}

static int check_one(const char *path, struct errmsg *err)
{
	struct stat st;
	int rc;

	if (stat(path, &st) < 0)
		return errmsg_errno(err, -errno, "%s", path);
	rc = check_owner(geteuid(), path, &st, err);
	return rc < 0 ? rc : trust_is_owners(path, &st, err);
}

int trust_check(const char *path, struct errmsg *err)
{
	char folder[PATH_MAX];
	int rc = folder_of(path, folder, err);

	if (rc == 0)
		rc = check_one(folder, err);
	return rc < 0 ? rc : check_one(path, err);
}

int trust_is_ours_for(uid_t user, const char *path, const struct stat *st, struct errmsg *err)
{
	char folder[PATH_MAX];
	struct stat in;

	if (folder_of(path, folder, NULL) < 0)
		memcpy(folder, ".", sizeof("."));
	if (stat(folder, &in) < 0 || in.st_uid != st->st_uid) {
		int rc = check_owner(user, path, st, err);

		if (rc < 0)
			return rc;
	}
	return trust_is_owners(path, st, err);
}

int trust_is_ours(const char *path, const struct stat *st, struct errmsg *err)
{
	return trust_is_ours_for(geteuid(), path, st, err);
}

int trust_is_secret(const char *path, const struct stat *st, struct errmsg *err)
{
	if (st->st_mode & (S_IRWXG | S_IRWXO))
		return errmsg_set(err, -EACCES, "%s: others may use it; chmod 0600", path);
	return 0;
}

int trust_is_own(const char *path, const struct stat *st, struct errmsg *err)
{
	if (!geteuid() && st->st_uid)
		return errmsg_set(err, -EPERM, "%s: belongs to user %u, so root does not read it", path,
				  (unsigned int)st->st_uid);
	return trust_is_ours(path, st, err);
}

int trust_is_own_secret(const char *path, const struct stat *st, struct errmsg *err)
{
	int rc = trust_is_own(path, st, err);

	return rc < 0 ? rc : trust_is_secret(path, st, err);
}

int trust_is_private(const char *path, const struct stat *st, struct errmsg *err)
{
	if (st->st_uid && st->st_uid != geteuid())
		return errmsg_set(err, -EACCES, "%s: belongs to another user; chown root", path);
	return trust_is_secret(path, st, err);
}

int trust_check_private(const char *path, struct errmsg *err)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return errmsg_errno(err, -errno, "%s", path);
	return trust_is_private(path, &st, err);
}
