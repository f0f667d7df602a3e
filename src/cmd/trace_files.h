/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trace_files.h - finds and reads the traces of a job (--ceems-trace), for `ceems trace`.
 */
#ifndef CEEMS_CMD_TRACE_FILES_H
#define CEEMS_CMD_TRACE_FILES_H

#include "src/cmd/job_ids.h"
#include "src/libtrace/trace_table.h"

struct trace_files {
	struct trace_table *table;
	size_t n;
};

/*
 * Those of IDS, which are WHAT in messages, in each of DIR[ndirs]: the caller's; of root, of anybody, but of one user.
 * Of a job that ran twice those of the last run. 0, or CMD_FAILED when that was told.
 */
int trace_files_find(struct trace_files *f, const struct job_ids *ids, const char *what, const char *const *dir,
		     size_t ndirs);
/* The same, and that there is none is no error. */
int trace_files_look(struct trace_files *f, const struct job_ids *ids, const char *what, const char *const *dir,
		     size_t ndirs);
/* One file. */
int trace_files_add(struct trace_files *f, const char *path);
void trace_files_fini(struct trace_files *f);

/* The metrics of a drawing, by comma: what most people want to see first, as far as the traces have it and it is not 0. */
void trace_files_choose(const struct trace_files *files, char *buf, size_t size);
/* Which interval, in ns, gives a drawing of at most so many BINS. */
uint64_t trace_files_interval(const struct trace_files *files, uint64_t bins);

#endif
