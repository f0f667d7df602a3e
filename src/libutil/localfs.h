/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * localfs.h - whether a folder is on a disk of this host. On a network file system, a hung server
 * stops the process in a state that no signal ends. Locks between hosts do not hold there either. FUSE counts as one: a
 * program serves it, mostly from another host.
 */
#ifndef CEEMS_LOCALFS_H
#define CEEMS_LOCALFS_H

#include "src/libutil/errmsg.h"

/*
 * Is DIR on a local file system? 0: yes; it is on none of the network file systems in localfs.c. -EREMOTE: no;
 * ERR says so and names KEY ("StoreDir"), the setting to change. -errno: DIR cannot be looked at.
 */
int localfs_check(const char *dir, const char *key, struct errmsg *err);

#endif
