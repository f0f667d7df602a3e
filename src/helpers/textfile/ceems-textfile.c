/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ceems-textfile - writes PATH for slurmd, in one rename: the folder may be on a network file system,
 * for which no thread of slurmd's waits. Takes "file N LENGTH" and the bytes (helper.h). The file gets
 * MODE and, if GROUP is given, that group. While the group is not known, nothing is written. "try N" writes
 * PATH.check and removes it.
 */
#include <linux/capability.h>
#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "src/libutil/confine.h"
#include "src/libutil/fileio.h"
#include "src/libutil/helper.h"
#include "src/libutil/parse.h"

#define LENGTH_MAX (64 * 1024 * 1024)

/* A server that is away; slurmd waits about as long before it starts another. */
#define WRITE_MAX_S 60

struct textfile {
	const char *path;
	mode_t mode;
	const char *group; /* NULL: the process's own */
};

static int write_file(const struct textfile *f, const char *path, const char *text, size_t len,
		      struct errmsg *err)
{
	const struct group *g;

	if (!f->group)
		return fileio_write_atomic(path, text, len, f->mode, err);
	g = getgrnam(f->group); /* each time: the group may come later */
	if (!g)
		return errmsg_set(err, -ENOENT, "TextfileGroup: no group '%s' is known", f->group);
	return fileio_write_for_group(path, text, len, f->mode, g->gr_gid, err);
}

static void textfile_answer(const char *number, int rc, const struct errmsg *err)
{
	if (rc < 0)
		helper_say("error - %s", err->text);
	else
		helper_say("written %s", number);
	helper_say("done %s", number);
}

/* Under a name that no textfile collector reads; what slurmd wrote stays. */
static void textfile_try(const struct textfile *f, const char *number)
{
	char path[PATH_MAX];
	struct errmsg err = { 0 };
	uint64_t begin_ns;
	int rc;

	if ((size_t)snprintf(path, sizeof(path), "%s.check", f->path) >= sizeof(path)) {
		textfile_answer(number, errmsg_errno(&err, -ENAMETOOLONG, "%s", f->path), &err);
		return;
	}
	begin_ns = helper_begin(WRITE_MAX_S);
	rc = write_file(f, path, "", 0, &err);
	if (rc == 0 && unlink(path) < 0)
		rc = errmsg_errno(&err, -errno, "%s: cannot remove", path);
	(void)helper_end(begin_ns);
	textfile_answer(number, rc, &err);
}

static int textfile_take(const struct textfile *f, const char *number, size_t len)
{
	_cleanup_free_ char *text = malloc(len + 1);
	struct errmsg err = { 0 };
	uint64_t begin_ns;
	int rc;

	if (!text)
		return -ENOMEM;
	rc = helper_take(text, len);
	if (rc < 0)
		return rc;
	begin_ns = helper_begin(WRITE_MAX_S);
	rc = write_file(f, f->path, text, len, &err);
	(void)helper_end(begin_ns);
	textfile_answer(number, rc, &err);
	return 0;
}

int main(int argc, char **argv)
{
	struct textfile f = { 0 };
	char line[128];
	char *space;
	uint64_t len;

	if (argc < 3 || argc > 4) {
		(void)fputs("usage: ceems-textfile PATH MODE [GROUP]\n", stderr);
		return 2;
	}
	f.path = argv[1];
	f.mode = (mode_t)strtoul(argv[2], NULL, 8);
	f.group = argv[3];
	helper_serve(/* is_nice= */ true);
	/* the folder may be another user's, and the file gets a group */
	(void)confine_caps(CONFINE_CAP(CAP_DAC_OVERRIDE) | CONFINE_CAP(CAP_DAC_READ_SEARCH) |
			   CONFINE_CAP(CAP_CHOWN) | CONFINE_CAP(CAP_FOWNER) | CONFINE_CAP(CAP_FSETID));
	while (helper_listen(-1, line, sizeof(line)) == 1) {
		if (!strncmp(line, "try ", 4)) {
			textfile_try(&f, line + 4);
			continue;
		}
		space = !strncmp(line, "file ", 5) ? strchr(line + 5, ' ') : NULL;
		if (!space || parse_u64(space + 1, &len) < 0 || len > LENGTH_MAX)
			return 1;
		*space = '\0';
		if (textfile_take(&f, line + 5, (size_t)len) < 0)
			return 1;
	}
	return 0;
}
