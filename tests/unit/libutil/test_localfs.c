/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * InboxDir and StoreDir on a network file system are refused. This machine may be able to mount none, so
 * statfs() answers here with the type that a test sets; without one, the kernel answers.
 */
#define _GNU_SOURCE /* syscall, unshare */
#include "src/libutil/localfs.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include "scratch.h"
#include "src/libstore/inbox.h"
#include "src/libstore/store.h"
#include "tap.h"

static char dir[] = SCRATCH_TEMPLATE;
static uint32_t played_type; /* 0: the kernel's */

int statfs(const char *path, struct statfs *ret)
{
	long rc = syscall(SYS_statfs, path, ret);

	if (rc == 0 && played_type)
		ret->f_type = (__typeof__(ret->f_type))played_type;
	return (int)rc;
}

/*
 * f_type is a long, and CIFS has the top bit of 32 set: as a long or as an int, the
 * kernel's number is the same.
 */
static void test_check(void)
{
	static const struct {
		uint32_t type;
		const char *name; /* NULL: local */
	} t[] = {
		{ 0x6969, "NFS" },
		{ 0xff534d42, "CIFS" },
		{ 0xfe534d42, "SMB" },
		{ 0x0bd00bd0, "Lustre" },
		{ 0x47504653, "GPFS" },
		{ 0x19830326, "BeeGFS" },
		{ 0x00c36400, "CephFS" },
		{ 0x01021997, "9p" },
		{ 0x65735546, "FUSE" },
		{ 0xef53, NULL /* ext4 */ },
		{ 0x58465342, NULL /* xfs */ },
		{ 0x9123683e, NULL /* btrfs */ },
		{ 0x01021994, NULL /* tmpfs */ },
	};
	struct errmsg err = { 0 };
	size_t i;
	int rc;

	is_int(localfs_check("/nonexistent/folder", "StoreDir", &err), -ENOENT, "a folder that is not there");
	ok(strstr(err.text, "/nonexistent/folder") != NULL, "is named: %s", err.text);
	is_int(localfs_check("/proc", "StoreDir", &err), 0,
	       "the kernel's own answer: no network file system");
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		played_type = t[i].type;
		rc = localfs_check(dir, "StoreDir", &err);
		ok(rc == (t[i].name ? -EREMOTE : 0), "type 0x%x: %d", t[i].type, rc);
		if (t[i].name)
			ok(strstr(err.text, t[i].name) && strstr(err.text, dir) &&
				   strstr(err.text, "StoreDir="),
			   "what, where, and which key: %s", err.text);
	}
	played_type = 0;
}

static void test_refused(void)
{
	static const struct inbox_pos begin;
	struct store_options o = { .dir = scratch_path(dir, "store") };
	const char *path = scratch_path(dir, "inbox");
	struct cluster_facts site = { .cluster = "c" };
	struct inbox_writer *w = NULL;
	struct inbox_reader *r = NULL;
	struct store *s = NULL;
	struct errmsg err = { 0 };

	played_type = 0x6969;
	is_int(inbox_writer_open(path, &site, &w, &err), -EREMOTE, "the plugin writes no inbox there");
	ok(strstr(err.text, "InboxDir=") != NULL, "and says which key to set: %s", err.text);
	is_int(access(path, F_OK), -1, "it has made nothing");
	played_type = 0;
	is_int(inbox_writer_open(path, &site, &w, &err), 0, "on a local disk it does");
	inbox_writer_close(w);
	played_type = 0x6969;
	is_int(inbox_reader_open(path, &begin, &r, &err), -EREMOTE, "the recorder reads none there");
	is_int(store_open(&o, &s, &err), -EREMOTE, "and has no store there");
	ok(strstr(err.text, "StoreDir=") != NULL, "and says which key to set: %s", err.text);
	is_int(access(scratch_path(o.dir, STORE_FILE), F_OK), -1, "no file of it");
	played_type = 0;
	is_int(store_open(&o, &s, &err), 0, "on a local disk it has");
	store_close(s);
}

/*
 * Mounts a FUSE file system whose server never answers, in a mount namespace of our own. Whoever
 * looks into it waits. Returns the fd that keeps it mounted, or -errno.
 */
static int mount_hung(const char *at)
{
	char options[96];
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	if (fd < 0 || unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -errno;
	(void)snprintf(options, sizeof(options), "fd=%d,rootmode=40755,user_id=0,group_id=0", fd);
	return mount("hung", at, "fuse", 0, options) < 0 ? -errno : fd;
}

static void test_hung(void)
{
	static const struct inbox_pos begin;
	const char *at = scratch_path(dir, "hung");
	const char *path = scratch_path(dir, "hung/inbox");
	struct store_options o = { .dir = scratch_path(dir, "hung/store") };
	struct cluster_facts site = { .cluster = "c" };
	struct inbox_writer *w = NULL;
	struct inbox_reader *r = NULL;
	struct store *s = NULL;
	struct localfs_mount mount = { .kind = NULL };
	struct errmsg err = { 0 };
	int fd;

	if (mkdir(at, 0755) < 0)
		ok(false, "%s: %s", at, strerror(errno));
	fd = mount_hung(at);
	if (fd < 0) {
		skip(9, "FUSE cannot be mounted here");
		return;
	}
	(void)alarm(60); /* the kernel ends the wait of a killed process */
	is_int(localfs_check(at, "StoreDir", &err), -EREMOTE, "a FUSE server that hangs");
	ok(localfs_find_mount(path, &mount), "its mount is found");
	is_str(mount.dir, at, "  where it is");
	is_str(mount.source, "hung", "  from where");
	is_str(mount.kind, "FUSE", "  and its kind");
	ok(!localfs_find_mount(dir, &mount), "a folder beside it is on no network file system");
	is_int(inbox_writer_open(path, &site, &w, &err), -EREMOTE, "does not hold slurmctld");
	is_int(inbox_reader_open(path, &begin, &r, &err), -EREMOTE, "nor the recorder's reader");
	is_int(store_open(&o, &s, &err), -EREMOTE, "nor its store");
	(void)alarm(0);
	(void)umount2(at, MNT_DETACH);
	(void)close(fd);
}

int main(void)
{
	if (!mkdtemp(dir))
		return 99;
	test_check();
	test_refused();
	test_hung();
	scratch_clear(dir);
	is_int(rmdir(dir), 0, "nothing left behind");
	return done_testing();
}
