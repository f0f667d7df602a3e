/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * localfs.h - whether a folder is on a disk of this host. On a network file system, a hung server
 * stops the process in a state that no signal ends. Locks between hosts do not hold there either.
 * FUSE counts as a network file system: a program serves it, mostly from another host.
 */
#ifndef CEEMS_LOCALFS_H
#define CEEMS_LOCALFS_H

#include <limits.h>
#include <stdbool.h>

#include "src/libutil/errmsg.h"

/* A mounted network file system. */
struct localfs_mount {
	char dir[PATH_MAX];
	char source[256]; /* as "10.0.0.1:/export" */
	const char *kind; /* "NFS" */
};

/*
 * Finds the network file system that DIR is on, by the text of /proc/mounts, since any other call on one
 * whose server is gone would hang. False: DIR is on none, or leads there by a symbolic link, or the table
 * cannot be read.
 */
bool localfs_find_mount(const char *dir, struct localfs_mount *ret) _must_check_;

/*
 * Returns 0 if DIR is on a local file system, -EREMOTE if it is on a network file system.
 * ERR then names KEY ("StoreDir"), the setting to change. A file system that hangs is recognised by
 * /proc/mounts and not looked into, unless DIR leads there by a symbolic link. -errno: DIR cannot be
 * looked at.
 */
int localfs_check(const char *dir, const char *key, struct errmsg *err);

#endif
