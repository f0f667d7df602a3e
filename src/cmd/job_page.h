/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job_page.h - the page of a job, or of the parts of an array or het job. It has the job's screen, energy by part of the
 * machine, power over time, where the time went, the steps, and the advice with its reasons.
 */
#ifndef CEEMS_CMD_JOB_PAGE_H
#define CEEMS_CMD_JOB_PAGE_H

#include "src/librecord/job_screen.h"
#include "src/librecord/advice.h"
#include "src/libtrace/trace_grid.h"

struct job_page {
	struct job_screen screen; /* the advice in it is not used */
	const struct advice *advice; /* the advice, if the page is of one job */
	size_t nadvice;
	const struct trace_grid *trace; /* NULL: there is none */
	void (*flame)(const void *owner, FILE *out); /* draws its profile; NULL: there is none */
	const void *flame_owner;
};

/* Writes one HTML file, which loads nothing. -ENOMEM. */
int job_page_print(const struct job_page *p, FILE *out);

/* Writes CSV, a row per job and per step. -ENOMEM. */
int job_page_csv(const struct record *const *part, size_t n, uint64_t now, FILE *out);

#endif
