/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spank_conf.h - finds ceems.conf. conf=PATH in plugstack.conf names it. Otherwise it is beside slurm.conf,
 * which SLURM_CONF or libslurm names, or in the folder configured at build time.
 */
#ifndef CEEMS_SPANK_CONF_H
#define CEEMS_SPANK_CONF_H

#include "src/libcore/settings.h"
#include "src/libutil/errmsg.h"

/*
 * Loads ceems.conf as settings_load() does. ARGV: plugstack.conf's arguments. No file is no
 * error: gives the defaults.
 */
int spank_conf_load(int argc, char **argv, struct settings *ret, struct errmsg *err) _must_check_;

#endif
