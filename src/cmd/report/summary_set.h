/* SPDX-License-Identifier: GPL-2.0-or-later */
/* summary_set.h - a set of summaries, one for each account or user. */
#ifndef CEEMS_CMD_SUMMARY_SET_H
#define CEEMS_CMD_SUMMARY_SET_H

#include "src/cmd/report/summary.h"

/* Zeroed memory is an empty set. */
struct summary_set {
	struct summary **summary; /* the array and its elements are owned; sorted by name */
	char **name;		  /* name[i] is the name of summary[i]; array and elements are owned */
	size_t n;
};
void summary_set_fini(struct summary_set *set);

/*
 * Returns the summary of NAME, which may be "". A new one has the period and site of LIKE, and groups by BY.
 * NULL: out of memory.
 */
struct summary *summary_set_get(struct summary_set *set, const char *name, const struct summary *like,
				enum jobs_group_by by);

#endif
