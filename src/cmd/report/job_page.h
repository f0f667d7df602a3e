/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job_page.h - writes the HTML page of a job, an array or a heterogeneous job. It has the screen of `ceems
 * job`, the energy by part of the machine, the power over time, a flame graph, the steps, and the advice with
 * its reasons.
 */
#ifndef CEEMS_CMD_JOB_PAGE_H
#define CEEMS_CMD_JOB_PAGE_H

#include "src/librecord/job_screen.h"
#include "src/librecord/advice.h"
#include "src/libtrace/trace_grid.h"

struct job_page {
	struct job_screen screen;    /* the advice in it is not used */
	const struct advice *advice; /* only if the page is about a single job */
	size_t nadvice;
	const struct trace_grid *trace;		     /* power over time; NULL: there is no trace */
	void (*flame)(const void *owner, FILE *out); /* draws the flame graph; NULL: there is no profile */
	const void *flame_owner;
};

/* Writes one HTML file, which loads nothing. -ENOMEM. */
int job_page_print(const struct job_page *p, FILE *out);

/* Writes CSV, a row per job and per step. -ENOMEM. */
int job_page_csv(const struct record *const *part, size_t n, uint64_t now, FILE *out);

#endif
