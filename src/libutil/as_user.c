/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* setresuid, setgroups */
#include "src/libutil/as_user.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <string.h>
#include <sys/random.h>

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
static int create_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : fd;
}

/* Writes the I-th name to try. Returns its length. */
static int write_name(unsigned int i, const char *dir, const char *name, const char *suffix, char *path,
		      size_t size)
{
	uint64_t number = 0;

	if (i == 1)
		return snprintf(path, size, "%s/%s.%s", dir, name, suffix);
	if (i <= FILES_MAX)
		return snprintf(path, size, "%s/%s-%u.%s", dir, name, i, suffix);
	if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != (ssize_t)sizeof(number))
		return -errno;
	return snprintf(path, size, "%s/%s-%016" PRIx64 ".%s", dir, name, number, suffix);
}

int as_user_create(const char *dir, const char *name, const char *suffix, char *path, size_t size,
		   struct errmsg *err)
{
	int rc = -EEXIST, n;
	unsigned int i;

	for (i = 1; i <= FILES_MAX + 1 && rc == -EEXIST; i++) {
		n = write_name(i, dir, name, suffix, path, size);
		if (n < 0)
			return errmsg_errno(err, n, "a name in %s", dir);
		if ((size_t)n >= size)
			return errmsg_errno(err, -ENAMETOOLONG, "%s", dir);
		rc = create_file(path);
	}
	return rc < 0 ? errmsg_errno(err, rc, "%s", path) : rc;
}

int as_user_create_temporary(const char *path, char *temporary, size_t size, struct errmsg *err)
{
	uint64_t number = 0;
	int rc;

	if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != (ssize_t)sizeof(number))
		return errmsg_errno(err, -errno, "a name beside %s", path);
	if ((size_t)snprintf(temporary, size, "%s.%016" PRIx64 ".tmp", path, number) >= size)
		return errmsg_errno(err, -ENAMETOOLONG, "%s", path);
	rc = create_file(temporary);
	return rc < 0 ? errmsg_errno(err, rc, "%s", temporary) : rc;
}
