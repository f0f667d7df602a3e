/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check_files.c - folders that must be writable, and files that only SlurmUser may read.
 */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
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

void check_folder(struct check *c, const char *what, const char *dir, bool may_come)
{
	struct errmsg err = { 0 };
	char hint[PATH_MAX + 64];
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
		check_error(c, what, check_no_hint, "%s is not a folder", dir);
	else if (access(dir, W_OK | X_OK) < 0 && errno == EACCES && geteuid())
		check_denied(c, what, dir);
	else if (access(dir, W_OK | X_OK) < 0)
		check_warn(c, what, check_hint_system("run ceems check as the user that writes there"),
			   "%s: %s", dir, strerror(errno));
	else if (check_folder_try(dir, &err) < 0)
		check_error(c, what,
			    check_hint_system("check space, quota and mount options of the file system"),
			    "%s", err.text);
	else
		check_ok(c, what, "%s is writable", dir);
}

bool check_secret_file(struct check *c, enum setting setting, const char *path)
{
	const char *what = settings_keys[setting].name;
	struct check_hint fix;
	const struct passwd *pw = getpwnam(check_slurm_user(c));
	char hint[2 * PATH_MAX + 64];
	struct stat st;

	if (stat(path, &st) < 0 || access(path, R_OK) < 0) {
		int rc = errno;
		bool is_closed = rc == EACCES && pw && pw->pw_uid == geteuid();

		if (is_closed)
			(void)snprintf(hint, sizeof(hint), "chown %s %s; chmod 0600 %s", pw->pw_name, path,
				       path);
		else
			(void)snprintf(hint, sizeof(hint),
				       "make the file as doc/admin-guide.md shows, or correct %s", what);
		fix = is_closed ? check_hint_system(hint) : check_hint_setting(setting, hint);
		if (rc == EACCES && pw && pw->pw_uid != geteuid())
			check_denied(c, what, path);
		else
			check_error(c, what, fix, "%s: %s", path, strerror(rc));
		return false;
	}
	/* with mode 0600, only its owner can read it, so SlurmUser must own it */
	if (pw && pw->pw_uid && pw->pw_uid != st.st_uid)
		(void)snprintf(hint, sizeof(hint), "chown %s %s; chmod 0600 %s", pw->pw_name, path, path);
	else
		(void)snprintf(hint, sizeof(hint), "chmod 0600 %s", path);
	if (st.st_mode & (S_IRWXG | S_IRWXO))
		check_warn(c, what, check_hint_system(hint),
			   "%s may hold secrets and others can open it (%04o)", path,
			   (unsigned int)(st.st_mode & 07777));
	else
		check_ok(c, what, "%s", path);
	(void)check_slurm_user_reads(c, what, path, /* is_secret= */ !(st.st_mode & (S_IRWXG | S_IRWXO)));
	return true;
}
