/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* setresuid, setgroups */
#include "src/libutil/as_user.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <string.h>

#include "src/libutil/parse.h"
#include "src/libutil/util.h"

#define FILES_MAX 99

/* "100,4,27" */
static int parse_ids(char *text, gid_t **ret, size_t *ret_n)
{
	gid_t *ids = calloc(strlen(text) / 2 + 1, sizeof(*ids));
	char *word;
	size_t n = 0;
	uint64_t id;

	if (!ids)
		return -ENOMEM;
	while ((word = strsep(&text, ","))) {
		if (parse_u64(word, &id) < 0 || id > UINT32_MAX) {
			free(ids);
			return -EINVAL;
		}
		ids[n++] = (gid_t)id;
	}
	*ret = ids;
	*ret_n = n;
	return 0;
}

/* Becomes user UID with the groups GID[n], of which GID[0] is the primary one. */
static int become_user(uid_t uid, const gid_t *gid, size_t n)
{
	if (geteuid() != 0)
		return geteuid() == uid ? 0 : -EPERM;
	if (setgroups(n, gid) < 0 || setresgid(gid[0], gid[0], gid[0]) < 0 || setresuid(uid, uid, uid) < 0)
		return -errno;
	return uid != 0 && setuid(0) == 0 ? -EPERM : 0;
}

int as_user_become(const char *uid, char *groups)
{
	_cleanup_free_ gid_t *gid = NULL;
	uint64_t id;
	size_t n;
	int rc = parse_u64(uid, &id);

	if (rc == 0)
		rc = parse_ids(groups, &gid, &n);
	return rc == 0 ? become_user((uid_t)id, gid, n) : rc;
}

/*
 * An existing file is never used: it may be a link that another user left, or the file of the job's last run.
 */
int as_user_create(const char *dir, const char *name, const char *suffix, char *path, size_t size,
		   struct errmsg *err)
{
	unsigned int i;
	int fd, n;

	for (i = 1; i <= FILES_MAX; i++) {
		n = i == 1 ? snprintf(path, size, "%s/%s.%s", dir, name, suffix) :
			     snprintf(path, size, "%s/%s-%u.%s", dir, name, i, suffix);
		if ((size_t)n >= size)
			return errmsg_errno(err, -ENAMETOOLONG, "%s", dir);
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC, 0600);
		if (fd >= 0)
			return fd;
		if (errno != EEXIST)
			break;
	}
	return errmsg_errno(err, -errno, "%s", path);
}
