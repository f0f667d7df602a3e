/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trace_files.h - finds and reads the traces of a job (--ceems-trace), for `ceems trace`.
 */
#ifndef CEEMS_CMD_TRACE_FILES_H
#define CEEMS_CMD_TRACE_FILES_H

#include "src/cmd/job/job_ids.h"
#include "src/libtrace/trace_table.h"

struct trace_files {
	struct trace_table *table;
	size_t n;
};

/*
 * Finds the traces of the jobs IDS in the folders DIR[ndirs]. Reads only files of the caller. For root, the
 * files may belong to any user, but all to the same one. If a job ran twice, its last run is taken. WHAT
 * names the jobs in messages. Returns 0, or CMD_FAILED after printing an error.
 */
int trace_files_find(struct trace_files *f, const struct job_ids *ids, const char *what,
		     const char *const *dir, size_t ndirs);
/* As trace_files_find(), but it is no error if there are no traces. */
int trace_files_look(struct trace_files *f, const struct job_ids *ids, const char *what,
		     const char *const *dir, size_t ndirs);
/* Adds the trace in file PATH. Returns enum cmd_exit. */
int trace_files_add(struct trace_files *f, const char *path);
void trace_files_fini(struct trace_files *f);

/*
 * Writes the names of the metrics that are drawn by default, separated by commas. A metric is left out if
 * the traces lack it or it is always 0.
 */
void trace_files_choose(const struct trace_files *files, char *buf, size_t size);
/* Returns the shortest interval, in ns, with which a drawing of all traces has at most BINS bins. */
uint64_t trace_files_interval(const struct trace_files *files, uint64_t bins);

#endif
