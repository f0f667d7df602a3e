/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spank_conf.h - finds ceems.conf: conf=PATH in plugstack.conf; else beside slurm.conf, by
 * SLURM_CONF or libslurm; else in the folder configured at build time.
 */
#ifndef CEEMS_SPANK_CONF_H
#define CEEMS_SPANK_CONF_H

#include "src/libcore/settings.h"
#include "src/libutil/errmsg.h"

/* As settings_load(); no file at all is 0, with the defaults. */
int spank_conf_load(int argc, char **argv, struct settings *ret, struct errmsg *err);

#endif
