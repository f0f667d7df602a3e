/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jobs_choice.h - which jobs `ceems jobs` and `ceems report` ask slurmdbd for: users, accounts, partitions, cluster.
 */
#ifndef CEEMS_CMD_JOBS_CHOICE_H
#define CEEMS_CMD_JOBS_CHOICE_H

#include "src/cmd/cmd.h"
#include "src/cmd/job_site.h"
#include "src/cmd/text_list.h"

struct jobs_choice {
	struct text_list users, accounts, partitions, names;
	bool all_users;
	const char *cluster; /* NULL: the site's; "all" */
};
void jobs_choice_fini(struct jobs_choice *j);

/* The option C with its optarg: -a, -A, -M, -r or -u. Another one is wrong. Returns enum cmd_exit, as the next two. */
int jobs_choice_set(const struct cmd_info *self, struct jobs_choice *j, int c);

/* text_list_add() that says what is wrong. */
int jobs_choice_texts(const struct cmd_info *self, struct text_list *list, const char *by_comma, text_list_map *map);

/* Chooses the caller's own jobs if J says nothing of users. */
int jobs_choice_self(const struct cmd_info *self, struct jobs_choice *j);

/* Borrows from J. */
struct slurmdb_filter jobs_choice_filter(const struct jobs_choice *j);

#endif
