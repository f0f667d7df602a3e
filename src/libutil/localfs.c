/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libutil/localfs.h"

#include <errno.h>
#include <mntent.h>
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
	{ 0x00006969, "nfs", "NFS" },	     { 0x00006969, "nfs4", "NFS" },
	{ 0x0000517b, "smbfs", "SMB" },	     { 0xff534d42, "cifs", "CIFS" },
	{ 0xfe534d42, "smb3", "SMB" },	     { 0x0bd00bd0, "lustre", "Lustre" },
	{ 0x47504653, "gpfs", "GPFS" },	     { 0x19830326, "beegfs", "BeeGFS" },
	{ 0x00c36400, "ceph", "CephFS" },    { 0xaad7aaea, "panfs", "PanFS" },
	{ 0x20030528, "pvfs2", "OrangeFS" }, { 0x5346414f, "afs", "AFS" },
	{ 0x6b414653, "kafs", "AFS" },	     { 0x01161970, "gfs2", "GFS2" },
	{ 0x7461636f, "ocfs2", "OCFS2" },    { 0x73757245, "coda", "Coda" },
	{ 0x01021997, "9p", "9p" },	     { 0x65735546, "fuse", "FUSE" },
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

bool localfs_find_mount(const char *dir, struct localfs_mount *ret)
{
	FILE *f = setmntent("/proc/self/mounts", "re");
	struct localfs_mount best = { .kind = NULL };
	char buf[8192];
	struct mntent m;

	while (f && getmntent_r(f, &m, buf, sizeof(buf))) {
		const struct network_fs *type = find_type(m.mnt_type);

		/* of mounts on the same folder, the last one is on top */
		if (!is_below(dir, m.mnt_dir) || strlen(m.mnt_dir) < strlen(best.dir))
			continue;
		best.kind = type ? type->name : NULL;
		(void)snprintf(best.dir, sizeof(best.dir), "%s", m.mnt_dir);
		(void)snprintf(best.source, sizeof(best.source), "%s", m.mnt_fsname);
	}
	if (f)
		(void)endmntent(f);
	if (best.kind)
		*ret = best;
	return best.kind != NULL;
}

static const char *find_by_magic(uint32_t magic)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(localfs_network); i++)
		if (magic == localfs_network[i].magic)
			return localfs_network[i].name;
	return NULL;
}

int localfs_check(const char *dir, const char *key, struct errmsg *err)
{
	struct localfs_mount mount;
	struct statfs fs;
	const char *kind;

	if (localfs_find_mount(dir, &mount)) {
		kind = mount.kind;
	} else {
		if (statfs(dir, &fs) < 0)
			return errmsg_errno(err, -errno, "%s", dir);
		kind = find_by_magic((uint32_t)fs.f_type);
	}
	if (!kind)
		return 0;
	return errmsg_set(err, -EREMOTE,
			  "%s is on %s, not a disk of this host; set %s= in ceems.conf "
			  "to a folder that is",
			  dir, kind, key);
}
