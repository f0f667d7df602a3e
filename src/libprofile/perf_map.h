/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_map.h - functions that a run-time compiler made (Python, Java, Node, Julia): /tmp/perf-PID.map, a line
 * "START SIZE NAME" for each, in hexadecimal.
 */
#ifndef CEEMS_PERF_MAP_H
#define CEEMS_PERF_MAP_H

#include "src/libprofile/symbol_table.h"

#define PERF_MAP_MAX ((size_t)64 << 20)

struct perf_map {
	char *text;
	struct symbol_table table;
};

/* Takes TEXT, LEN bytes and a NUL, which is malloc'ed. A line that is none is left out. -ENOMEM, -EFBIG: TEXT is freed. */
int perf_map_parse(char *text, size_t len, struct perf_map *ret);
/*
 * "<root><path>", as symbols_open() opens it, of which the user may still write. *RET_SIZE is what it had. -EALREADY: it is no
 * larger than LEAST; -EFBIG: larger than MAX or PERF_MAP_MAX; -EPERM: it is another user's.
 */
int perf_map_read(const char *root, const char *path, size_t least, size_t max, struct perf_map *ret, size_t *ret_size);
/* The last function that was at ADDRESS, or NULL. */
const struct symbol *perf_map_find(const struct perf_map *m, uint64_t address);
void perf_map_fini(struct perf_map *m);

#endif
