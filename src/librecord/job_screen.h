/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job_screen.h - the screen of `ceems job`: how a job ran and what it used, on 20 lines of 80
 * columns.
 */
#ifndef CEEMS_JOB_SCREEN_H
#define CEEMS_JOB_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "src/librecord/screen_text.h"
#include "src/librecord/record.h"

#define JOB_SCREEN_LINES 20
#define JOB_SCREEN_COLUMNS 80
#define JOB_SCREEN_ADVICE 4

/* An advice: what was observed ("used 1 of 8 CPUs"), what to type, and what it would have saved. */
struct job_screen_advice {
	const char *what, *type, *saved;
};

struct job_screen {
	const struct record *const *part; /* a job, or the parts of one array or het job, which are summed */
	size_t n;
	const char *step;	 /* "12.0": the one part is this step, not a job; NULL: it is a job */
	uint64_t now;		 /* seconds since the epoch; taken as the end of jobs that run or wait */
	uint64_t elapsed_ns;	 /* elapsed time of the one part by the node's clock; 0: use whole seconds from
				    start to end */
	const char *cluster;	 /* this cluster; jobs of another one show theirs; NULL: all do */
	const char *not_live;	 /* why values of running steps are unknown; NULL: they are known, or none runs */
	const struct job_screen_advice *advice; /* at most JOB_SCREEN_ADVICE are shown, if there is room */
	size_t nadvice;
	bool colour;		 /* OUT is a terminal */
};

/* The screen's first line. */
enum job_head_field {
	JOB_HEAD_ID, JOB_HEAD_NAME, JOB_HEAD_USER, JOB_HEAD_PARTITION, JOB_HEAD_NODES, JOB_HEAD_STATE, JOB_HEAD_N
};
struct job_head {
	char text[JOB_HEAD_N][256]; /* as users wrote them */
	size_t columns[JOB_HEAD_N]; /* the screen's: of which are shown */
	enum screen_colour colour;  /* of the state */
};
void job_head_fill(const struct job_screen *s, struct job_head *ret);

/* Texts of users are masked. -ENOMEM. */
int job_screen_print(FILE *out, const struct job_screen *s);

#endif
