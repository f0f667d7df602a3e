/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CHECK_STORE_H
#define CEEMS_CHECK_STORE_H

#include "src/cmd/check/check.h"

/* InboxDir, the recorder, StoreDir and what waits in it. */
void check_store(struct check *c);

#endif
