/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plugin_conf.h - reads ceems.conf, beside slurm.conf or in the folder configured at build time.
 */
#ifndef CEEMS_PLUGIN_CONF_H
#define CEEMS_PLUGIN_CONF_H

#include "src/libcore/settings.h"
#include "src/libutil/errmsg.h"

/*
 * Gives the settings of NODE. If there is no file, all have their defaults. -errno:
 * ERR has file, line and key.
 */
int plugin_conf_load(const char *node, struct settings *ret, struct errmsg *err) _must_check_;

#endif
