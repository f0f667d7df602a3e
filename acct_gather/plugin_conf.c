/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "acct_gather/slurm_compat.h"
#include "acct_gather/plugin_conf.h"

#include <errno.h>

int plugin_conf_load(const char *node, struct settings *ret, struct errmsg *err)
{
	char name[] = "ceems.conf"; /* some versions take it without const */
	char *path = get_extra_conf_path(name);
	int rc = settings_load(path, ret, err);

	xfree(path);
	if (rc < 0 && rc != -ENOENT)
		return rc;
	return settings_for_node(ret, node, err);
}
