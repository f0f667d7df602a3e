/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * flame_files.h - finds and reads the profiles of a job (--ceems-profile), for `ceems flame`.
 */
#ifndef CEEMS_CMD_FLAME_FILES_H
#define CEEMS_CMD_FLAME_FILES_H

#include "src/cmd/job/job_ids.h"
#include "src/libprofile/flame.h"
#include "src/libutil/must_check.h"

struct flame_file {
	struct profile *profile;
	char job[24], step[16], node[256]; /* empty: not known */
	size_t type;			   /* index of the value of a sample that is shown */
	double total;			   /* sum of that value over all samples */
	double scale;			   /* factor for that value: 1, or joules per unit of it */
};

struct flame_files {
	struct flame_file *file;
	size_t n;
	char what[64];	 /* the ids of the jobs; empty: files were named */
	char title[384]; /* memory of flame_files_title() */
};

/*
 * Reads the profiles that ARGV names: files, or ids of jobs and steps, whose files are looked for
 * in each DIR[ndirs]. Prints errors. Returns enum cmd_exit.
 */
int flame_files_load(struct flame_files *f, int argc, char **argv, const char *const *dir, size_t ndirs);
/*
 * Reads the profiles of IDS, which messages call WHAT. It is no error if there are none. Returns
 * enum cmd_exit.
 */
int flame_files_look(struct flame_files *f, const struct job_ids *ids, const char *what,
		     const char *const *dir, size_t ndirs);
void flame_files_fini(struct flame_files *f);

/*
 * Chooses the value TYPE/nanoseconds of all profiles. Prints an error if one lacks it. Returns enum cmd_exit.
 */
int flame_files_choose(struct flame_files *f, const char *type);

/* Returns a title such as "job 7 on 2 nodes", which lives as long as F. */
const char *flame_files_title(struct flame_files *f);
/*
 * Returns the type of the values to show, such as cpu/nanoseconds. Ignores files without samples. NULL: the
 * files have different types, whose values cannot be added; ERR names two of them.
 */
const struct profile_type *flame_files_type(const struct flame_files *f, struct errmsg *err);

/* Joins all profiles into *RET, which the caller destroys. F must not be empty. Returns 0 or -errno. */
int flame_files_merge(const struct flame_files *f, struct profile **ret) _must_check_;
/*
 * Adds the samples of all profiles to FLAME, on side SIDE. Returns 0, -ENOMEM or -EFBIG
 * (flame_add()).
 */
int flame_files_add_to(const struct flame_files *f, struct flame *flame, enum flame_side side);
/*
 * Returns lines that say which samples were lost or left out, ended by NULL;
 * flame_files_free_gaps(). NULL: out of memory.
 */
char **flame_files_gaps(const struct flame_files *f);
void flame_files_free_gaps(char **gap);

/*
 * Sets the scale of each file so that its samples share the energy of the step on that node, which
 * a trace in DIR[ndirs] has. Without a trace, the files of a step share the step's energy in
 * slurmdbd. NOTE[SIZE] says which of both was used. Prints errors. Returns enum cmd_exit.
 */
int flame_files_by_energy(struct flame_files *f, const char *const *dir, size_t ndirs, char *note,
			  size_t size) _must_check_;

#endif
