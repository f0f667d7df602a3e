/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libutil/localfs.h"

#include <errno.h>
#include <mntent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>

#include "src/libutil/util.h"

/*
 * Magic numbers: statfs(2), linux/magic.h, and the file systems' own sources. TYPE is the name in
 * /proc/mounts; types that start with it and a dot count as well ("fuse.sshfs").
 */
static const struct network_fs {
	uint32_t magic;
	const char *type;
	const char *name;
} localfs_network[] = {
	{ 0x00006969, "nfs", "NFS" },	      { 0x00006969, "nfs4", "NFS" },
	{ 0x0000517b, "smbfs", "SMB" },	      { 0xff534d42, "cifs", "CIFS" },
	{ 0xfe534d42, "smb3", "SMB" },	      { 0x0bd00bd0, "lustre", "Lustre" },
	{ 0x47504653, "gpfs", "GPFS" },	      { 0x19830326, "beegfs", "BeeGFS" },
	{ 0x00c36400, "ceph", "CephFS" },     { 0xaad7aaea, "panfs", "PanFS" },
	{ 0x20030528, "pvfs2", "OrangeFS" },  { 0x5346414f, "afs", "AFS" },
	{ 0x6b414653, "kafs", "AFS" },	      { 0x01161970, "gfs2", "GFS2" },
	{ 0x7461636f, "ocfs2", "OCFS2" },     { 0x73757245, "coda", "Coda" },
	{ 0x01021997, "9p", "9p" },	      { 0x65735546, "fuse", "FUSE" },
};

static bool is_below(const char *path, const char *mount)
{
	size_t n = strlen(mount);

	return !strcmp(mount, "/") || (!strncmp(path, mount, n) && (path[n] == '/' || !path[n]));
}

static const struct network_fs *find_type(const char *type)
{
	size_t i, n;

	for (i = 0; i < ARRAY_SIZE(localfs_network); i++) {
		n = strlen(localfs_network[i].type);
		if (!strncmp(type, localfs_network[i].type, n) && (!type[n] || type[n] == '.'))
			return &localfs_network[i];
	}
	return NULL;
}

/*
 * Finds the file system of DIR by its text in /proc/mounts, since any other call on a file system
 * whose server is gone would hang. NULL: not a network file system, or the table cannot be read.
 */
static const struct network_fs *find_by_mount(const char *dir)
{
	const struct network_fs *found = NULL;
	FILE *f = setmntent("/proc/self/mounts", "re");
	char buf[8192];
	struct mntent m;
	size_t best = 0;

	while (f && getmntent_r(f, &m, buf, sizeof(buf))) {
		size_t n = strlen(m.mnt_dir);

		/* of mounts on the same folder, the last one is on top */
		if (is_below(dir, m.mnt_dir) && n >= best) {
			best = n;
			found = find_type(m.mnt_type);
		}
	}
	if (f)
		(void)endmntent(f);
	return found;
}

static const struct network_fs *find_by_magic(uint32_t magic)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(localfs_network); i++)
		if (magic == localfs_network[i].magic)
			return &localfs_network[i];
	return NULL;
}

int localfs_check(const char *dir, const char *key, struct errmsg *err)
{
	const struct network_fs *found = find_by_mount(dir);
	struct statfs fs;

	if (!found) {
		if (statfs(dir, &fs) < 0)
			return errmsg_errno(err, -errno, "%s", dir);
		found = find_by_magic((uint32_t)fs.f_type);
	}
	if (!found)
		return 0;
	return errmsg_set(err, -EREMOTE, "%s is on %s, not a disk of this host; set %s= in ceems.conf "
			  "to a folder that is", dir, found->name, key);
}
