/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/store/store_access.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/cmd/cmd.h"
#include "src/libutil/as_owner.h"

int store_cmd_error(int rc, const struct errmsg *err)
{
	(void)cmd_error("%s", err->text[0] ? err->text : strerror(-rc));
	if (rc == -EACCES || rc == -EPERM)
		(void)cmd_error("the store is SlurmUser's: run this as SlurmUser or root");
	return CMD_FAILED;
}

int store_become_owner(const char *dir, struct errmsg *err)
{
	struct stat st;

	if (geteuid())
		return 0;
	if (stat(dir, &st) < 0)
		return errmsg_errno(err, -errno, "%s", dir);
	return st.st_uid ? as_owner_become(st.st_uid, err) : 0;
}
