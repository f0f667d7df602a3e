/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libutil/localfs.h"

#include <errno.h>
#include <stdint.h>
#include <sys/vfs.h>

/* statfs(2), linux/magic.h, and the file systems' own sources. */
static const struct {
	uint32_t magic;
	const char *name;
} localfs_network[] = {
	{ 0x00006969, "NFS" },	   { 0x0000517b, "SMB" },     { 0xff534d42, "CIFS" },
	{ 0xfe534d42, "SMB" },	   { 0x0bd00bd0, "Lustre" },  { 0x47504653, "GPFS" },
	{ 0x19830326, "BeeGFS" },  { 0x00c36400, "CephFS" },  { 0xaad7aaea, "PanFS" },
	{ 0x20030528, "OrangeFS" }, { 0x5346414f, "AFS" },    { 0x6b414653, "AFS" },
	{ 0x01161970, "GFS2" },	   { 0x7461636f, "OCFS2" },   { 0x73757245, "Coda" },
	{ 0x01021997, "9p" },
	{ 0x65735546, "FUSE" }, /* sshfs, GlusterFS, an object store: a program answers, which may hang as a server may */
};

int localfs_check(const char *dir, const char *key, struct errmsg *err)
{
	struct statfs fs;
	size_t i;

	if (statfs(dir, &fs) < 0)
		return errmsg_errno(err, -errno, "%s", dir);
	for (i = 0; i < ARRAY_SIZE(localfs_network); i++)
		if ((uint32_t)fs.f_type == localfs_network[i].magic)
			return errmsg_set(err, -EREMOTE, "%s is on %s, not a disk of this host; set "
					  "%s= in ceems.conf to a folder that is", dir,
					  localfs_network[i].name, key);
	return 0;
}
