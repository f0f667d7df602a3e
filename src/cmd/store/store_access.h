/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store_access.h - what the commands share that open a store: `ceems store` and `ceems export`.
 */
#ifndef CEEMS_STORE_ACCESS_H
#define CEEMS_STORE_ACCESS_H

#include "src/libutil/errmsg.h"

/* The kinds of records that SINK takes; all, if this build has no such sink. */
unsigned int store_sink_kinds(const char *sink);

/* Prints ERR to stderr, and which users may run the command. Returns CMD_FAILED. */
int store_cmd_error(int rc, const struct errmsg *err);

/* If root runs the command, it becomes the owner of DIR, so that no file there belongs to root. */
int store_become_owner(const char *dir, struct errmsg *err);

#endif
