/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose a file is, and what runs as the owner: what it may do, says and leaves. */
#include "src/libutil/as_owner.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "scratch.h"
#include "src/libutil/util.h"
#include "tap.h"

#define STRANGER 12345
#define OTHER 23456

static char dir[] = SCRATCH_TEMPLATE;

static void test_owner(void)
{
	static const struct {
		const char *what;
		uid_t folder, file, link;
		uid_t want; /* 0: nobody else */
	} rows[] = {
		{ "root's", 0, 0, 0, 0 },
		{ "another account's", 0, STRANGER, 0, STRANGER },
		{ "root's in a folder of another account", STRANGER, 0, 0, STRANGER },
		{ "root's behind a link of another account", 0, 0, STRANGER, STRANGER },
		{ "another account's behind a link of root", 0, STRANGER, 0, STRANGER },
	};
	char file[PATH_MAX], symbolic[PATH_MAX];
	uid_t uid;
	size_t i;

	(void)snprintf(file, sizeof(file), "%s", scratch_path(dir, "file"));
	(void)snprintf(symbolic, sizeof(symbolic), "%s", scratch_path(dir, "link"));
	(void)scratch_write(file, "", 0);
	if (symlink("file", symbolic) < 0)
		exit(99);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		uid = 0;
		if (chown(dir, rows[i].folder, 0) < 0 || chown(file, rows[i].file, 0) < 0 ||
		    lchown(symbolic, rows[i].link, 0) < 0)
			exit(99);
		is_int(as_owner_is_other(symbolic, &uid), rows[i].want != 0, rows[i].what);
		is_u64(uid, rows[i].want, "  who it is");
	}
	if (chown(dir, STRANGER, 0) < 0)
		exit(99);
	ok(as_owner_is_other(scratch_path(dir, "new"), &uid) && uid == STRANGER,
	   "a file that does not exist yet is the folder owner's");
	if (chown(dir, 0, 0) < 0)
		exit(99);
	ok(!as_owner_is_other(scratch_path(dir, "new"), &uid), "  root's in a folder of root");
	ok(!as_owner_is_other("/nonexistent/file", &uid), "one without a folder is nobody's");
}

enum { TELL, FAIL, DIE, FLOOD };

static int run(void *ctx, FILE *to, struct errmsg *err)
{
	const int *what = ctx;
	gid_t groups[64];

	if (*what == FAIL)
		return errmsg_set(err, -ENOENT, "no such thing");
	if (*what == DIE)
		(void)raise(SIGKILL);
	while (*what == FLOOD && fputs("more", to) != EOF)
		;
	(void)fprintf(to, "%d %d %d %d %d %d", (int)getuid(), (int)geteuid(), (int)getgid(),
		      getgroups(ARRAY_SIZE(groups), groups), open("/dev/tty", O_RDWR | O_CLOEXEC),
		      open("/proc/1/environ", O_RDONLY | O_CLOEXEC));
	return 0;
}

static char got[64];

static int take(void *ctx, FILE *from, struct errmsg *err)
{
	const int *what = ctx;

	got[fread(got, 1, sizeof(got) - 1, from)] = '\0';
	return *what == FLOOD ? errmsg_set(err, -EPROTO, "too much") : 0;
}

static void test_run(void)
{
	int what = TELL;
	const struct as_owner_task task = { .run = run, .take = take, .ctx = &what };
	struct errmsg err = { 0 };

	is_int(as_owner_run(STRANGER, &task, &err), 0, "runs as an account without a name");
	is_str(got, "12345 12345 65534 0 -1 -1",
	       "  user, group, no other groups, no terminal, and nothing that is root's");
	is_u64(getuid(), 0, "  we are still root");
	what = FAIL;
	is_int(as_owner_run(OTHER, &task, &err), -ENOENT, "an error comes back");
	is_str(err.text, "no such thing", "  with its reason");
	what = DIE;
	is_int(as_owner_run(OTHER, &task, &err), -EIO, "so does the end by a signal");
	is_str(err.text, "the process that runs as the owner was killed by signal 9", "  which is named");
	what = FLOOD;
	is_int(as_owner_run(OTHER, &task, &err), -EPROTO, "a reader that gives up ends it");
	is_str(err.text, "too much", "  with the reader's reason");
}

int main(void)
{
	if (getuid())
		return skip_all("needs root");
	alarm(60);
	if (!mkdtemp(dir) || chmod(dir, 0755) < 0)
		return 99;
	test_owner();
	test_run();
	scratch_clear(dir);
	(void)rmdir(dir);
	return done_testing();
}
