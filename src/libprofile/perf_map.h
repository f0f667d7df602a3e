/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_map.h - reads /tmp/perf-PID.map, in which a run-time compiler (Python, Java, Node, Julia)
 * lists its functions. Each line is "START SIZE NAME", with both numbers in hexadecimal.
 */
#ifndef CEEMS_PERF_MAP_H
#define CEEMS_PERF_MAP_H

#include "src/libprofile/symbol_table.h"
#include "src/libutil/must_check.h"

#define PERF_MAP_MAX ((size_t)64 << 20) /* bytes of a file */

struct perf_map {
	char *text; /* owned; the names in TABLE point into it */
	struct symbol_table table;
};

/*
 * Parses TEXT: LEN bytes and a NUL, malloc'ed. RET owns TEXT afterwards; on error TEXT is freed.
 * Malformed lines are ignored. Returns 0; -ENOMEM; or -EFBIG: more than SYMBOLS_MAX lines.
 */
int perf_map_parse(char *text, size_t len, struct perf_map *ret) _must_check_;
/*
 * Reads the file "<root><path>", opened as by symbols_open(), to *RET. The process may still append
 * to the file; *RET_SIZE is the number of bytes read. Returns 0; -EALREADY: the file is not larger
 * than LEAST; -EFBIG: larger than MAX or PERF_MAP_MAX; -EPERM: not owned by our effective user; or
 * another -errno.
 */
int perf_map_read(const char *root, const char *path, size_t least, size_t max, struct perf_map *ret,
		  size_t *ret_size) _must_check_;
/* Returns the function at ADDRESS that the last line names, or NULL. */
const struct symbol *perf_map_find(const struct perf_map *m, uint64_t address);
/* Frees what M owns and empties M. */
void perf_map_fini(struct perf_map *m);

#endif
