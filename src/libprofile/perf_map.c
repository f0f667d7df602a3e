/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libprofile/perf_map.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "src/libprofile/symbols_internal.h"
#include "src/libutil/fileio.h"
#include "src/libutil/util.h"

/* Reads a hexadecimal number and one blank. Returns the text after the blank, or NULL. */
static const char *take_hex(const char *at, uint64_t *ret)
{
	char *end;

	if (!isxdigit((unsigned char)*at))
		return NULL;
	errno = 0;
	*ret = strtoull(at, &end, 16);
	return errno || *end != ' ' ? NULL : end + 1;
}

/*
 * Adds the function in LINE; a malformed line is ignored. A compiler may replace the code at an
 * address, so NUMBER makes the later line win.
 */
static int take_line(struct perf_map *m, const char *line, uint32_t number)
{
	struct symbol s = { .rank = number };
	const char *at = take_hex(line, &s.start);

	if (at)
		at = take_hex(at, &s.size);
	if (!at || !*at || !s.size)
		return 0;
	s.name = at;
	return symbol_table_add(&m->table, &s);
}

int perf_map_parse(char *text, size_t len, struct perf_map *ret)
{
	struct perf_map m = { .text = text };
	char *line = text, *end;
	uint32_t number = 0;
	int rc = 0;

	/* a last line without a newline is ignored, because it is still being written */
	while (rc == 0 && (end = memchr(line, '\n', len - (size_t)(line - text)))) {
		*end = '\0';
		rc = take_line(&m, line, number++);
		line = end + 1;
	}
	if (rc < 0) {
		perf_map_fini(&m);
		return rc;
	}
	symbol_table_sort(&m.table);
	*ret = m;
	return 0;
}

int perf_map_read(const char *root, const char *path, size_t least, size_t max, struct perf_map *ret,
		  size_t *ret_size)
{
	_cleanup_close_ int fd = elf_open_below(root, path);
	char *text = NULL, name[32];
	struct stat st;
	size_t len;
	int rc;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_uid != geteuid())
		return -EPERM;
	if ((size_t)st.st_size <= least)
		return -EALREADY;
	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	rc = fileio_read_alloc(name, max < PERF_MAP_MAX ? max : PERF_MAP_MAX, &text, &len, NULL);
	if (rc == 0)
		rc = perf_map_parse(text, len, ret);
	if (rc == 0)
		*ret_size = len;
	return rc;
}

const struct symbol *perf_map_find(const struct perf_map *m, uint64_t address)
{
	return symbol_table_find(&m->table, address);
}

void perf_map_fini(struct perf_map *m)
{
	symbol_table_fini(&m->table);
	free(m->text);
	*m = (struct perf_map){ 0 };
}
