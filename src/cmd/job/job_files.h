/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job_files.h - finds the files that a job's nodes write for its user: "PREFIXJOB.STEP-NODESUFFIX".
 */
#ifndef CEEMS_CMD_JOB_FILES_H
#define CEEMS_CMD_JOB_FILES_H

#include "src/cmd/job/job_ids.h"
#include "src/libutil/must_check.h"

struct job_file_kind {
	const char *name, *prefix, *suffix; /* such as "trace", "ceems-trace-", ".csv" */
};

/* The job and step in the name of a file, such as "5_3" and "batch". */
struct job_file_name {
	char job[24], step[16];
};

/*
 * Lets job_files_look() and job_files_arguments() make root the user who owns a file, for good. For commands
 * that need root for nothing else.
 */
void job_files_become_user(void);

/*
 * Calls TAKE for each file of the jobs IDS in the folders DIR[ndirs], in each folder in the order of their
 * names, with n2 before n10. WHAT names IDS in messages. Only files that the caller owns are taken. Root must
 * not parse what a user wrote: after job_files_become_user() it becomes the owner of the first file, else it
 * leaves out the files of users and says so; files of two users are an error. The search stops when TAKE
 * returns another value than CMD_OK, and returns that value. To find no file is CMD_OK.
 */
int job_files_look(const struct job_file_kind *kind, const struct job_ids *ids, const char *what,
		   const char *const *dir, size_t ndirs, int (*take)(void *owner, const char *path),
		   void *owner);
/* Says that there was none. Returns CMD_FAILED. */
int job_files_none(const struct job_file_kind *kind, const char *what, const char *const *dir, size_t ndirs);

/*
 * Of arguments: adds what are ids to IDS and calls TAKE for what are names of files, which must not be mixed.
 * Writes the ids to WHAT[SIZE], separated by commas; empty: files.
 */
int job_files_arguments(int argc, char **argv, struct job_ids *ids,
			int (*take)(void *owner, const char *path), void *owner, char *what,
			size_t size) _must_check_;

/* Whose a file is by its name; false: it has another name, and *RET is empty. */
bool job_files_name(const struct job_file_kind *kind, const char *path, struct job_file_name *ret);

#endif
