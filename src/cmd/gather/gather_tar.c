/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/gather/gather_tar.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "src/libutil/util.h"

#define BLOCK 512

/* POSIX.1-1988, ustar. Numbers are octal digits. */
struct header {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, target[100];
	char magic[6], version[2], user[32], group[32], major[8], minor[8], prefix[155], pad[12];
};
_Static_assert(sizeof(struct header) == BLOCK, "a header of tar has 512 bytes");

struct gather_tar {
	gzFile out;
	char *path;
	bool has_failed;
};

int gather_tar_create(const char *path, struct gather_tar **ret, struct errmsg *err)
{
	struct gather_tar *t = calloc(1, sizeof(*t));
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0) {
		int rc = errmsg_errno(err, -errno, "%s", path);

		free(t);
		return rc;
	}
	if (t) {
		t->path = strdup(path);
		t->out = gzdopen(fd, "wb");
	}
	if (!t || !t->path || !t->out) {
		(void)close(fd);
		(void)unlink(path);
		if (t)
			free(t->path);
		free(t);
		return errmsg_errno(err, -ENOMEM, "%s", path);
	}
	*ret = t;
	return 0;
}

/* A long name is split at a slash: NAME holds what is behind it, PREFIX what is before it. */
static int set_name(struct header *h, const char *name)
{
	size_t len = strlen(name);
	const char *rest = name;

	if (len > sizeof(h->name)) {
		rest = strchr(name + len - sizeof(h->name) - 1, '/');
		if (!rest || (size_t)(rest - name) > sizeof(h->prefix))
			return -ENAMETOOLONG;
		memcpy(h->prefix, name, (size_t)(rest - name));
		rest++;
	}
	memcpy(h->name, rest, strlen(rest));
	return 0;
}

static void set_checksum(struct header *h)
{
	const unsigned char *byte = (const unsigned char *)h;
	unsigned int sum = 0;
	size_t i;

	memset(h->checksum, ' ', sizeof(h->checksum));
	for (i = 0; i < sizeof(*h); i++)
		sum += byte[i];
	(void)snprintf(h->checksum, sizeof(h->checksum), "%06o", sum);
}

static int put_bytes(struct gather_tar *t, const void *data, size_t len)
{
	if (len && gzwrite(t->out, data, (unsigned int)len) != (int)len)
		t->has_failed = true;
	return t->has_failed ? -EIO : 0;
}

static int put_header(struct gather_tar *t, const char *name, char type, const char *target, size_t size)
{
	struct header h = { .mode = "0000644",
			    .uid = "0000000",
			    .gid = "0000000",
			    .magic = "ustar",
			    .version = { '0', '0' },
			    .type = type };

	if (set_name(&h, name) < 0 || strlen(target) > sizeof(h.target))
		return -ENAMETOOLONG;
	memcpy(h.target, target, strlen(target));
	(void)snprintf(h.size, sizeof(h.size), "%011o", (unsigned int)size);
	memset(h.mtime, '0', sizeof(h.mtime) - 1); /* the same node gives the same archive */
	set_checksum(&h);
	return put_bytes(t, &h, sizeof(h));
}

int gather_tar_file(struct gather_tar *t, const char *name, const char *data, size_t len)
{
	static const char zeros[BLOCK];
	int rc = put_header(t, name, '0', "", len);

	if (rc == 0)
		rc = put_bytes(t, data, len);
	if (rc == 0)
		rc = put_bytes(t, zeros, (BLOCK - len % BLOCK) % BLOCK);
	return rc;
}

int gather_tar_link(struct gather_tar *t, const char *name, const char *target)
{
	return put_header(t, name, '2', target, 0);
}

/* Closes the file, and removes it if RC or a write failed. */
static int end_file(struct gather_tar *t, int rc, struct errmsg *err)
{
	errno = 0;
	if (gzclose(t->out) != Z_OK || t->has_failed)
		rc = errmsg_errno(err, errno ? -errno : -EIO, "%s", t->path);
	if (rc < 0)
		(void)unlink(t->path);
	free(t->path);
	free(t);
	return rc;
}

int gather_tar_close(struct gather_tar *t, struct errmsg *err)
{
	static const char zeros[2 * BLOCK];

	(void)put_bytes(t, zeros, sizeof(zeros));
	return end_file(t, 0, err);
}

void gather_tar_drop(struct gather_tar *t)
{
	struct errmsg ignored;

	(void)end_file(t, -ECANCELED, &ignored);
}
