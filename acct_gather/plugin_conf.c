/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "acct_gather/slurm_compat.h"
#include "acct_gather/plugin_conf.h"

#include <errno.h>
#include <limits.h>

#include "src/libutil/logger.h"

int plugin_conf_load(const char *node, struct settings *ret, struct errmsg *err)
{
	char name[] = "ceems.conf"; /* not const: in some versions, the parameter is not const */
	char *beside = get_extra_conf_path(name);
	char path[PATH_MAX];
	int rc = settings_path(beside, path, sizeof(path));

	xfree(beside);
	if (rc < 0)
		return errmsg_errno(err, rc, "ceems.conf");
	rc = settings_load(path, ret, err);
	if (rc == -ENOENT && running_in_slurmd())
		logger_info("%s does not exist; every setting has its default", path);
	else if (rc < 0 && rc != -ENOENT)
		return rc;
	return settings_for_node(ret, node, err);
}
