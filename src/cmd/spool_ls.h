/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spool_ls.h - between the parts of `ceems spool`.
 */
#ifndef CEEMS_SPOOL_LS_H
#define CEEMS_SPOOL_LS_H

#include <stdbool.h>

#include "src/libcore/settings.h"
#include "src/libutil/errmsg.h"

/* Prints ERR, and for -EACCES who may. Returns CMD_FAILED. */
int cmd_spool_error(int rc, const struct errmsg *err);

int spool_ls(const struct settings *s, bool json);

#endif
