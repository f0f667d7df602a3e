/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check_files.c - folders that must be writable, and files that only SlurmUser may read.
 */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "src/cmd/check/check.h"
#include "src/libutil/fileio.h"

static int check_folder_try(const char *dir, struct errmsg *err)
{
	char path[PATH_MAX];
	int rc;

	if ((size_t)snprintf(path, sizeof(path), "%s/.ceems-check", dir) >= sizeof(path))
		return errmsg_errno(err, -ENAMETOOLONG, "%s", dir);
	rc = fileio_write_atomic(path, "ceems", 5, 0600, err);
	return rc == 0 && unlink(path) < 0 ? errmsg_errno(err, -errno, "%s: cannot remove", path) : rc;
}

/* Reports that no file can be made in DIR, for ERR. */
static void folder_refuses(struct check *c, const char *what, const char *dir, const struct errmsg *err)
{
	const char *hint = "check space, quota and mount options of the file system";
	struct statvfs vfs;

	if (statvfs(dir, &vfs) == 0 && vfs.f_files && !vfs.f_ffree)
		check_error(
			c, what, check_hint_system("delete files, or make the file system with more inodes"),
			"%s: the file system has no free inode, so no file can be made, though it has space",
			dir);
	else
		check_error(c, what, check_hint_system(hint), "%s", err->text);
}

void check_folder(struct check *c, enum setting setting, const char *dir, bool may_come)
{
	const char *what = settings_keys[setting].name;
	char hint[CHECK_HINT_MAX];
	struct errmsg err = { 0 };
	struct stat st;

	(void)snprintf(hint, sizeof(hint), "mkdir -p %s", dir);
	if (stat(dir, &st) < 0) {
		if (errno == ENOENT && may_come)
			check_note(c, what, "%s does not exist yet", dir);
		else if (errno == EACCES && geteuid())
			check_denied(c, what, dir);
		else
			check_error(c, what, errno == ENOENT ? check_hint_system(hint) : check_no_hint,
				    "%s: %s", dir, strerror(errno));
		return;
	}
	if (!S_ISDIR(st.st_mode))
		check_error(c, what, check_hint_elsewhere(c, setting, hint), "%s is not a folder", dir);
	else if (access(dir, W_OK | X_OK) < 0 && errno == EACCES && geteuid())
		check_denied(c, what, dir);
	else if (access(dir, W_OK | X_OK) < 0)
		check_warn(c, what, check_hint_system("run ceems check as the user that writes there"),
			   "%s: %s", dir, strerror(errno));
	else if (check_folder_try(dir, &err) < 0)
		folder_refuses(c, what, dir, &err);
	else
		check_ok(c, what, "%s is writable", dir);
}

/* Returns what makes PATH, the value of SETTING, a file that only SlurmUser (NULL: its owner) can read. */
static struct check_hint hint_to_close(const struct check *c, enum setting setting, const char *path,
				       const char *user, char hint[CHECK_HINT_MAX])
{
	if (!check_owns_file(c, path))
		return check_hint_copy(c, setting, path, user ? user : check_slurm_user(c), hint);
	if (user)
		(void)snprintf(hint, CHECK_HINT_MAX, "chown %s %s; chmod 0600 %s", user, path, path);
	else
		(void)snprintf(hint, CHECK_HINT_MAX, "chmod 0600 %s", path);
	return check_hint_system(hint);
}

bool check_secret_file(struct check *c, enum setting setting, const char *path)
{
	const char *what = settings_keys[setting].name;
	const struct passwd *pw = getpwnam(check_slurm_user(c));
	char hint[CHECK_HINT_MAX];
	struct check_hint fix;
	struct stat st;

	if (stat(path, &st) < 0 || access(path, R_OK) < 0) {
		int rc = errno;

		(void)snprintf(hint, sizeof(hint), "make the file as doc/admin-guide.md shows, or correct %s",
			       what);
		fix = check_hint_setting(setting, hint);
		if (rc == EACCES && pw && pw->pw_uid == geteuid())
			fix = hint_to_close(c, setting, path, pw->pw_name, hint);
		if (rc == EACCES && pw && pw->pw_uid != geteuid())
			check_denied(c, what, path);
		else
			check_error(c, what, fix, "%s: %s", path, strerror(rc));
		return false;
	}
	/* with mode 0600, only its owner can read it, so SlurmUser must own it */
	fix = hint_to_close(c, setting, path,
			    pw && pw->pw_uid && pw->pw_uid != st.st_uid ? pw->pw_name : NULL, hint);
	if (st.st_mode & (S_IRWXG | S_IRWXO))
		check_warn(c, what, fix, "%s may hold secrets and others can open it (%04o)", path,
			   (unsigned int)(st.st_mode & 07777));
	else
		check_ok(c, what, "%s", path);
	(void)check_slurm_user_reads(c, what, setting, path,
				     /* is_secret= */ !(st.st_mode & (S_IRWXG | S_IRWXO)));
	return true;
}
