/* SPDX-License-Identifier: GPL-2.0-or-later */
/* summary_set.h - one summary for each account or user that jobs name. */
#ifndef CEEMS_CMD_SUMMARY_SET_H
#define CEEMS_CMD_SUMMARY_SET_H

#include "src/cmd/summary.h"

/* Zeroed: empty. */
struct summary_set {
	struct summary **summary; /* owned, as they are; sorted by name */
	char **name;		  /* owned: of each */
	size_t n;
};
void summary_set_fini(struct summary_set *set);

/* The summary of NAME, which may be empty. Makes it as LIKE is, with groups by BY. NULL: out of memory. */
struct summary *summary_set_get(struct summary_set *set, const char *name, const struct summary *like, enum jobs_group_by by);

#endif
