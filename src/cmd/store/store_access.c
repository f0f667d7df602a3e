/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* setresuid */
#include "src/cmd/store/store_access.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/cmd/cmd.h"

int store_cmd_error(int rc, const struct errmsg *err)
{
	(void)cmd_error("%s", err->text[0] ? err->text : strerror(-rc));
	if (rc == -EACCES || rc == -EPERM)
		(void)cmd_error("the store is SlurmUser's: run this as SlurmUser or root");
	return CMD_FAILED;
}

int store_become_owner(const char *dir, struct errmsg *err)
{
	struct passwd *pw;
	struct stat st;

	if (geteuid())
		return 0;
	if (stat(dir, &st) < 0)
		return errmsg_errno(err, -errno, "%s", dir);
	if (!st.st_uid)
		return 0;
	pw = getpwuid(st.st_uid);
	if ((pw ? initgroups(pw->pw_name, pw->pw_gid) : setgroups(0, NULL)) < 0 ||
	    setresgid(pw ? pw->pw_gid : st.st_gid, pw ? pw->pw_gid : st.st_gid, pw ? pw->pw_gid : st.st_gid) <
		    0 ||
	    setresuid(st.st_uid, st.st_uid, st.st_uid) < 0)
		return errmsg_errno(err, -errno, "cannot become the owner of %s", dir);
	return 0;
}
