/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job_show.h - prints the screen of jobs from slurmdbd, with their advice.
 */
#ifndef CEEMS_CMD_JOB_SHOW_H
#define CEEMS_CMD_JOB_SHOW_H

#include <stdio.h>

#include "src/cmd/job/job_ask.h"
#include "src/librecord/job_screen.h"

/* Returns the screen of the jobs PART[n] of A, without advice. Borrows from A and PART. */
struct job_screen job_show_make(const struct job_answer *a, const struct record *const *part, size_t n,
				uint64_t now);

/* Prints the screen of the jobs PART[n] of A, with advice if N is 1. -ENOMEM. */
int job_show(const struct job_answer *a, const struct record *const *part, size_t n, uint64_t now,
	     bool colour, FILE *out);

#endif
