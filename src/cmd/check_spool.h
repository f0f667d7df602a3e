/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check_spool.h - the spool's part of `ceems check`, on the controller.
 */
#ifndef CEEMS_CHECK_SPOOL_H
#define CEEMS_CHECK_SPOOL_H

#include "src/cmd/check.h"

/* Is it there and writable, is there room, does a reader lag, was something refused? */
void check_spool(struct check *c);

#endif
