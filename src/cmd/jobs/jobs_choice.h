/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jobs_choice.h - which jobs `ceems jobs` and `ceems report` ask slurmdbd for: users, accounts, partitions,
 * cluster.
 */
#ifndef CEEMS_CMD_JOBS_CHOICE_H
#define CEEMS_CMD_JOBS_CHOICE_H

#include "src/cmd/cmd.h"
#include "src/cmd/job/job_site.h"
#include "src/cmd/text_list.h"

struct jobs_choice {
	struct text_list users, accounts, partitions, names;
	bool all_users;
	const char *cluster; /* a cluster or "all"; NULL: the site's */
};
void jobs_choice_fini(struct jobs_choice *j);

/*
 * Handles option C (-a, -A, -M, -r or -u) with its optarg. Another option is a usage error. This
 * and the next two return enum cmd_exit.
 */
int jobs_choice_set(const struct cmd_info *self, struct jobs_choice *j, int c);

/* Calls text_list_add() and prints its error. */
int jobs_choice_texts(const struct cmd_info *self, struct text_list *list, const char *by_comma,
		      text_list_map *map);

/* Chooses the caller's own jobs if J has no users. */
int jobs_choice_self(const struct cmd_info *self, struct jobs_choice *j);

/*
 * Returns true if J chooses job R by user, account and partition, as slurmdbd does with jobs_choice_filter().
 * The job's name does not count, nor does its user if ALL_USERS.
 */
bool jobs_choice_has(const struct jobs_choice *j, const struct record *r, bool all_users);

/* Returns J as a filter for slurmdbd. Borrows from J. */
struct slurmdb_filter jobs_choice_filter(const struct jobs_choice *j);

#endif
