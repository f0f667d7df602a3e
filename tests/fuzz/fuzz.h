/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz.h - what the fuzzers share: the input as a file, as several files, or as a text. A fuzzer
 * asserts what must hold for every input; the sanitizers find accesses out of bounds.
 */
#ifndef CEEMS_FUZZ_H
#define CEEMS_FUZZ_H

#undef NDEBUG
#include <assert.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/libutil/errmsg.h"
#include "src/libutil/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A file in memory (0600) with that content; one per process. -1: it cannot be made. */
static inline int fuzz_fd(const void *data, size_t size)
{
	static int fd = -1;

	if (fd < 0) {
		fd = memfd_create("fuzz", MFD_CLOEXEC);
		assert(fd >= 0 && fchmod(fd, 0600) == 0);
	}
	assert(ftruncate(fd, 0) == 0);
	assert(pwrite(fd, data, size, 0) == (ssize_t)size);
	return fd;
}

/* The same by its path. */
static inline const char *fuzz_file(const void *data, size_t size)
{
	static char path[32];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fuzz_fd(data, size));
	return path;
}

/* NUL-ended and as long as it is, so that a byte read behind its end is noticed. */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	assert(text);
	memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

/* An error has a text, and nothing in it can start a line of its own. */
static inline void fuzz_check_error(int rc, const struct errmsg *err)
{
	assert(rc >= 0 || err->text[0]);
	assert(!strpbrk(err->text, "\n\r\033"));
}

/* Whether LINE[len] is as text_mask() leaves it; most lines are ASCII, which is quick to see. */
static inline bool fuzz_is_masked(const char *line, size_t len)
{
	char *masked;
	bool is_same;
	size_t i;

	for (i = 0; i < len && line[i] >= ' ' && line[i] < 0x7f; i++)
		;
	if (i == len)
		return true;
	masked = fuzz_text((const uint8_t *)line, len);
	is_same = !strncmp(text_mask(masked, masked, len + 1), line, len);
	if (!is_same)
		(void)fprintf(stderr, "a control character is not masked: %s\n", masked);
	free(masked);
	return is_same;
}

/*
 * The lines of TEXT have no control characters and at most COLUMNS (0: any number). Returns how many lines.
 */
static inline size_t fuzz_check_lines(const char *text, size_t columns)
{
	size_t lines = 0;
	size_t len;

	for (; *text; text += len + (text[len] == '\n'), lines++) {
		len = strcspn(text, "\n");
		assert(fuzz_is_masked(text, len));
		if (columns) {
			char *line = fuzz_text((const uint8_t *)text, len);

			assert(text_columns(line) <= columns);
			free(line);
		}
	}
	return lines;
}

/* --- inputs of several parts, with an ASCII "record separator" between them ------------------ */

#define FUZZ_SEPARATOR 0x1e

struct fuzz_parts {
	const uint8_t *data;
	size_t size;
};

/* The next part, empty when there are no more. Borrowed from the input. */
static inline const uint8_t *fuzz_next(struct fuzz_parts *p, size_t *ret_size)
{
	const uint8_t *part = p->data;
	const uint8_t *end = p->size ? memchr(part, FUZZ_SEPARATOR, p->size) : NULL;

	*ret_size = end ? (size_t)(end - part) : p->size;
	p->data += *ret_size + (end != NULL);
	p->size -= *ret_size + (end != NULL);
	return part;
}

/* The next number: eight bytes, or what is left of them. */
static inline uint64_t fuzz_number(struct fuzz_parts *p)
{
	uint64_t v = 0;
	size_t n = p->size < sizeof(v) ? p->size : sizeof(v);

	memcpy(&v, p->data, n);
	p->data += n;
	p->size -= n;
	return v;
}

/* --- trees ----------------------------------------------------------------------------------- */

/* A folder of this process, made once; below $FUZZ_TMPDIR, which tests/fuzz/run removes. */
static inline const char *fuzz_dir(void)
{
	static char dir[256];
	const char *parent = getenv("FUZZ_TMPDIR");

	if (!dir[0]) {
		(void)snprintf(dir, sizeof(dir), "%s/fuzz.XXXXXX", parent ? parent : "/tmp");
		assert(mkdtemp(dir));
	}
	return dir;
}

/* Writes DIR/NAME; its folder has to be there. In place, as sysfs files keep their inode. */
static inline void fuzz_write(const char *dir, const char *name, const void *data, size_t size)
{
	char path[512];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	(void)close(fd);
}

#endif
