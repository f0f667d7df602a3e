/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * localfs.h - whether a folder is on a disk of this host. On a network file system, a hung server
 * stops the process in a state that no signal ends. Locks between hosts do not hold there either.
 * FUSE counts as a network file system: a program serves it, mostly from another host.
 */
#ifndef CEEMS_LOCALFS_H
#define CEEMS_LOCALFS_H

#include "src/libutil/errmsg.h"

/*
 * Returns 0 if DIR is on a local file system, -EREMOTE if it is on a network file system.
 * ERR then names KEY ("StoreDir"), the setting to change. A file system that hangs is recognised by
 * /proc/mounts and not looked into, unless DIR leads there by a symbolic link. -errno: DIR cannot be
 * looked at.
 */
int localfs_check(const char *dir, const char *key, struct errmsg *err);

#endif
