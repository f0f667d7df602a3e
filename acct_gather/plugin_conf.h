/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plugin_conf.h - ceems.conf beside slurm.conf or where it was configured, for this node.
 */
#ifndef CEEMS_PLUGIN_CONF_H
#define CEEMS_PLUGIN_CONF_H

#include "src/libcore/settings.h"
#include "src/libutil/errmsg.h"

/* No file: the defaults. Else 0 or -errno with file, line and key in ERR. */
int plugin_conf_load(const char *node, struct settings *ret, struct errmsg *err);

#endif
