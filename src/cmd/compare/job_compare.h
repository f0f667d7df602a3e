/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job_compare.h - prints two jobs or steps side by side: their size and state, their use, and the
 * ratio of each value.
 */
#ifndef CEEMS_CMD_JOB_COMPARE_H
#define CEEMS_CMD_JOB_COMPARE_H

#include <stdio.h>

#include "src/cmd/cells.h"
#include "src/librecord/record.h"

struct job_compare {
	const char *id[2]; /* the ids as the user typed them */
	const struct record *r[2];
	uint64_t now;
};

/* Prints a line per value; with CELLS_TABLE, a line has at most 80 characters. -ENOMEM. */
int job_compare_print(const struct job_compare *c, enum cells_format format, bool header, FILE *out);

#endif
