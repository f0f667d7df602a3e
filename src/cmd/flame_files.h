/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * flame_files.h - finds and reads the profiles of a job (--ceems-profile), for `ceems flame`.
 */
#ifndef CEEMS_CMD_FLAME_FILES_H
#define CEEMS_CMD_FLAME_FILES_H

#include "src/cmd/job_ids.h"
#include "src/libprofile/flame.h"

struct flame_file {
	struct profile *profile;
	char job[24], step[16], node[256]; /* empty: not known */
	size_t type;			   /* which of its values is shown */
	double total;			   /* of that, of all samples */
	double scale;			   /* what to multiply with: 1, or joules by value */
};

struct flame_files {
	struct flame_file *file;
	size_t n;
	char what[64];	 /* the ids of its jobs; empty: files */
	char title[384]; /* flame_files_title() */
};

/*
 * Those that ARGV says, ids or names of files; ids in each of DIR[ndirs]. Prints errors; returns enum cmd_exit.
 */
int flame_files_load(struct flame_files *f, int argc, char **argv, const char *const *dir, size_t ndirs);
/* Those of IDS, which are WHAT in messages; that there is none is no error. */
int flame_files_look(struct flame_files *f, const struct job_ids *ids, const char *what, const char *const *dir, size_t ndirs);
void flame_files_fini(struct flame_files *f);

/* "job 7 on 2 nodes". Lives as long as F. */
const char *flame_files_title(struct flame_files *f);
/* The type of their values; "" if they differ. */
const char *flame_files_unit(const struct flame_files *f);

/* All in one, as pprof has it. *RET is the caller's. */
int flame_files_merge(const struct flame_files *f, struct profile **ret);
/* Adds all to a tree. */
int flame_files_add_to(const struct flame_files *f, struct flame *flame, enum flame_side side);
/* What was lost or left out, as lines: malloc'ed texts, NULL-ended. NULL: out of memory. */
char **flame_files_gaps(const struct flame_files *f);
void flame_files_free_gaps(char **gap);

/*
 * Sets the scale of each file to joules by value: its step's energy on its node, by the traces in DIR[ndirs], else what
 * slurmdbd has of the step, shared by samples. NOTE[SIZE] says which. Prints errors; returns enum cmd_exit.
 */
int flame_files_by_energy(struct flame_files *f, const char *const *dir, size_t ndirs, char *note, size_t size);

#endif
