/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * InboxDir and StoreDir on a network file system are refused. This machine may be able to mount none, so statfs()
 * answers here with the type that a test sets; without one, the kernel answers.
 */
#define _GNU_SOURCE /* syscall */
#include "src/libutil/localfs.h"

#include <errno.h>
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

/* f_type is a long, and CIFS has the top bit of 32 set: as a long or as an int, the kernel's number is the same. */
static void test_check(void)
{
	static const struct {
		uint32_t type;
		const char *name; /* NULL: local */
	} t[] = {
		{ 0x6969, "NFS" },	{ 0xff534d42, "CIFS" }, { 0xfe534d42, "SMB" },	  { 0x0bd00bd0, "Lustre" },
		{ 0x47504653, "GPFS" }, { 0x19830326, "BeeGFS" }, { 0x00c36400, "CephFS" }, { 0x01021997, "9p" },
		{ 0x65735546, "FUSE" },
		{ 0xef53, NULL /* ext4 */ }, { 0x58465342, NULL /* xfs */ }, { 0x9123683e, NULL /* btrfs */ },
		{ 0x01021994, NULL /* tmpfs */ },
	};
	struct errmsg err = { 0 };
	size_t i;
	int rc;

	is_int(localfs_check("/nonexistent/folder", "StoreDir", &err), -ENOENT, "a folder that is not there");
	ok(strstr(err.text, "/nonexistent/folder") != NULL, "is named: %s", err.text);
	is_int(localfs_check("/proc", "StoreDir", &err), 0, "the kernel's own answer: no network file system");
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		played_type = t[i].type;
		rc = localfs_check(dir, "StoreDir", &err);
		ok(rc == (t[i].name ? -EREMOTE : 0), "type 0x%x: %d", t[i].type, rc);
		if (t[i].name)
			ok(strstr(err.text, t[i].name) && strstr(err.text, dir) && strstr(err.text, "StoreDir="),
			   "what, where, and which key: %s", err.text);
	}
	played_type = 0;
}

static void test_refused(void)
{
	static const struct inbox_pos begin;
	struct store_options o = { .dir = scratch_path(dir, "store") };
	const char *path = scratch_path(dir, "inbox");
	struct job_site site = { .cluster = "c" };
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

int main(void)
{
	if (!mkdtemp(dir))
		return 99;
	test_check();
	test_refused();
	scratch_clear(dir);
	is_int(rmdir(dir), 0, "nothing left behind");
	return done_testing();
}
