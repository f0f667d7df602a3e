/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * scratch.h - a folder of the test's own, and what is done with the files in it.
 */
#ifndef CEEMS_SCRATCH_H
#define CEEMS_SCRATCH_H

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/libutil/fileio.h"

#define SCRATCH_TEMPLATE "/tmp/ceems-test.XXXXXX"

/* Empties DIR, one level deep; the folder stays. */
static inline void scratch_clear(const char *dir)
{
	char path[PATH_MAX];
	struct dirent *e;
	DIR *d = opendir(dir);

	while (d && (e = readdir(d))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, e->d_name) >= sizeof(path))
			continue;
		if (unlink(path) < 0 && rmdir(path) < 0) {
			scratch_clear(path);
			(void)rmdir(path);
		}
	}
	if (d)
		(void)closedir(d);
}

/* "DIR/NAME" in a static buffer of which there are four, in turn. */
static inline const char *scratch_path(const char *dir, const char *name)
{
	static char buf[4][PATH_MAX];
	static unsigned int turn;

	turn = (turn + 1) % 4;
	if ((size_t)snprintf(buf[turn], PATH_MAX, "%s/%s", dir, name) >= PATH_MAX)
		buf[turn][0] = '\0';
	return buf[turn];
}

static inline bool scratch_write(const char *path, const void *data, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int rc = fd < 0 ? -1 : fileio_write_full(fd, data, len);

	if (fd >= 0)
		(void)close(fd);
	return rc == 0;
}

/* Whole file, to be freed; NULL: cannot be read. */
static inline char *scratch_read(const char *path, size_t *ret_len)
{
	char *text = NULL;

	return fileio_read_alloc(path, 256 << 20, &text, ret_len, NULL) == 0 ? text : NULL;
}

static inline bool scratch_has(const char *dir, const char *name)
{
	return access(scratch_path(dir, name), F_OK) == 0;
}

/* 64-bit xorshift, seeded by the caller so that a failure can be repeated. */
static inline uint64_t scratch_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

#endif
