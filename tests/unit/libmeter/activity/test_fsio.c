/* SPDX-License-Identifier: GPL-2.0-or-later */
/* File systems by name: mountinfo, and what a site uses them for. test_fsio_ops has the kernel's side. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "src/libcore/fsroles.h"
#include "src/libmeter/activity/mounts.h"
#include "tap.h"

#define DEVICE(major, minor) ((major) << 20 | (minor))

/* --- mountinfo ------------------------------------------------------------------------------ */

static const struct {
	const char *name;
	const char *line;
} bad[] = {
	{ "empty", "" },
	{ "blanks", "   \n" },
	{ "no device", "36 35 - / /mnt rw - ext4 /dev/a rw\n" },
	{ "half a device", "36 35 8: / /mnt rw - ext4 /dev/a rw\n" },
	{ "no minor's end", "36 35 8:1x / /mnt rw - ext4 /dev/a rw\n" },
	{ "negative", "36 35 8:-1 / /mnt rw - ext4 /dev/a rw\n" },
	{ "major too large", "36 35 4096:1 / /mnt rw - ext4 /dev/a rw\n" },
	{ "minor too large", "36 35 8:1048576 / /mnt rw - ext4 /dev/a rw\n" },
	{ "number that wraps", "36 35 4294967304:1 / /mnt rw - ext4 /dev/a rw\n" },
	{ "device 0:0", "36 35 0:0 / /mnt rw - ext4 /dev/a rw\n" },
	{ "no separator", "36 35 8:1 / /mnt rw ext4 /dev/a rw\n" },
	{ "relative", "36 35 8:1 / mnt rw - ext4 /dev/a rw\n" },
	{ "no type", "36 35 8:1 / /mnt rw -\n" },
	{ "cut", "36 35 8:1 / /mn" },
};

static void test_bad_lines(void)
{
	struct mounts *m;
	size_t i;

	is_int(mounts_create(&m), 0, "create");
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		is_int(mounts_learn_line(m, bad[i].line), 0, bad[i].name);
		is_u64(mounts_count(m), 0, "left out");
	}
	ok(mounts_find(m, DEVICE(8, 1)) == NULL && mounts_at(m, 0) == NULL, "nothing is known");
	ok(mounts_learn(m, 0x7fffffff) < 0, "no such process");
	mounts_destroy(m);
	mounts_destroy(NULL);
}

/* What machines show: in their order, with mounts of one file system in several places. */
static const char *const machine[] = {
	"22 1 0:21 / /proc rw,nosuid - proc proc rw\n",
	"25 1 259:1 / / rw,relatime shared:1 - ext4 /dev/root rw\n",
	/* a folder of it before all of it, as in containers */
	"30 25 8:17 /job/data /data rw master:3 propagate_from:2 - xfs /dev/sdb1 rw\n",
	"31 25 8:17 / /srv/very/long/way rw - xfs /dev/sdb1 rw\n",
	"32 25 8:17 / /scratch rw - xfs /dev/sdb1 rw\n",
	/* subvolumes: none shows the root */
	"40 25 0:44 /@snapshots /.snapshots rw - btrfs /dev/sdc rw,subvol=/@snapshots\n",
	"41 25 0:44 /@home /home rw - btrfs /dev/sdc rw,subvol=/@home\n",
	"50 25 0:60 / /mnt/with\\040blank\\011tab\\134back\\012line rw - nfs4 server:/a\\040b rw\n",
	"51 25 0:61 / /mnt/\\400\\9\\04 rw - fuse.sshfs user@host: rw\n",
	"60 25 0:70 / / rw - overlay overlay rw,lowerdir=/a:/b\n",
	"61 25 0:71 /../outside /mnt/unreachable rw - tmpfs t rw", /* no newline */
};

static const struct {
	uint32_t device;
	const char *path, *type;
} want[] = {
	{ DEVICE(259u, 1u), "/", "ext4" },
	{ DEVICE(8u, 17u), "/scratch", "xfs" },
	{ DEVICE(0u, 44u), "/home", "btrfs" },
	{ DEVICE(0u, 60u), "/mnt/with blank\ttab\\back\nline", "nfs4" },
	{ DEVICE(0u, 61u), "/mnt/\\400\\9\\04", "fuse.sshfs" },
	{ DEVICE(0u, 70u), "/", "overlay" },
	{ DEVICE(0u, 71u), "/mnt/unreachable", "tmpfs" },
};

static void test_machine(void)
{
	const struct mount_point *p;
	struct mounts *m;
	char path[64];
	size_t i;

	is_int(mounts_create(&m), 0, "create");
	for (i = 0; i < sizeof(machine) / sizeof(machine[0]); i++)
		is_int(mounts_learn_line(m, machine[i]), 0, "a line");
	is_u64(mounts_count(m), 8, "file systems");
	for (i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		p = mounts_find(m, want[i].device);
		ok(p && !strcmp(p->path, want[i].path) && !strcmp(p->type, want[i].type), "%s, %s",
		   i == 3 ? "escapes" : want[i].path, want[i].type);
	}
	/* a container: what has a name keeps it, what is new gets one */
	mounts_next_process(m);
	(void)mounts_learn_line(m, "70 1 8:17 / /x rw - xfs /dev/sdb1 rw\n");
	(void)mounts_learn_line(m, "71 1 8:33 / /y rw - ext4 /dev/sdc1 rw\n");
	ok(!strcmp(mounts_find(m, DEVICE(8, 17))->path, "/scratch"), "known names stay");
	ok(!strcmp(mounts_find(m, DEVICE(8, 33))->path, "/y"), "new ones come");
	for (i = 0; i < 5000; i++) {
		(void)snprintf(path, sizeof(path), "80 1 1:%zu / /m/%zu rw - ext4 a rw\n", i, i);
		if (mounts_learn_line(m, path) < 0)
			break;
	}
	is_u64(i, 5000, "5000 more mounts are taken");
	ok(mounts_count(m) < 5000, "but not all are remembered");
	mounts_destroy(m);
}

static void test_this_machine(void)
{
	const struct mount_point *p = NULL;
	struct mounts *m;
	size_t i;

	is_int(mounts_create(&m), 0, "create");
	is_int(mounts_learn(m, getpid()), 0, "our own mounts");
	for (i = 0; i < mounts_count(m) && !(p && !strcmp(p->path, "/")); i++)
		p = mounts_at(m, i);
	ok(p && !strcmp(p->path, "/"), "there is a root");
	i = mounts_count(m);
	is_int(mounts_learn(m, getpid()), 0, "our own mounts again");
	is_u64(mounts_count(m), i, "nothing new");
	mounts_destroy(m);
}

/* --- roles ---------------------------------------------------------------------------------- */

static const struct {
	const char *setting, *error;
} wrong[] = {
	{ "homes:/home", "'homes' is not home, project, scratch or local" },
	{ "/home", "is not home" },
	{ "home", "home: '' is not an absolute path" },
	{ "home:", "home: '' is not an absolute path" },
	{ "home:home", "home: 'home' is not an absolute path" },
	{ "home:/home/../x", "cannot be a mount point" },
	{ "home://x", "cannot be a mount point" },
	{ "home:/./x", "cannot be a mount point" },
	{ "scratch:/a,home:/a/", "'/a' has two roles" },
	{ "local:/,scratch:/", "'/' has two roles" },
	{ "home:/home,local", "local: ''" },
};

static const struct {
	const char *setting, *mount;
	enum fsrole role;
} right[] = {
	{ "", "/home", FSROLE_N },
	{ " , ", "/home", FSROLE_N },
	{ "home:/home", "/home", FSROLE_HOME },
	{ "home:/home/", "/home", FSROLE_HOME },
	{ "home:/home", "/home/user", FSROLE_HOME },
	{ "home:/home", "/homes", FSROLE_N },
	{ "home:/home", "/", FSROLE_N },
	{ "home:/home,scratch:/home/scratch", "/home/scratch/x", FSROLE_SCRATCH },
	{ "scratch:/home/scratch, home:/home", "/home/scratch/x", FSROLE_SCRATCH },
	{ "local:/,home:/home", "/", FSROLE_LOCAL },
	{ "local:/,home:/home", "/var", FSROLE_LOCAL },
	{ "local:/,home:/home", "/home", FSROLE_HOME },
	{ "project:/p1,project:/p2", "/p2", FSROLE_PROJECT },
};

static void test_roles(void)
{
	struct errmsg err;
	char path[1024] = "home:/";
	size_t i;

	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		memset(&err, 0, sizeof(err));
		is_int(fsroles_check(wrong[i].setting, &err), -EINVAL, wrong[i].setting);
		if (!ok(strstr(err.text, wrong[i].error) != NULL, "says why"))
			diag("%s", err.text);
	}
	memset(path + 6, 'a', FSROLE_PATH_MAX);
	is_int(fsroles_check(path, &err), -EINVAL, "a long path");
	for (i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
		is_int(fsroles_check(right[i].setting, &err), 0, right[i].setting);
		is_int((int)fsroles_find(right[i].setting, right[i].mount), (int)right[i].role,
		       right[i].mount);
	}
}

int main(void)
{
	test_bad_lines();
	test_machine();
	test_this_machine();
	test_roles();
	return done_testing();
}
