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

/*
 * One piece of advice: what was observed ("used 1 of 8 CPUs"), what to type, and what that would
 * have saved.
 */
struct job_screen_advice {
	const char *what, *type, *saved;
};

struct job_screen {
	/* a job, or the parts of one array or het job; their values are added up */
	const struct record *const *part;
	/* number of parts */
	size_t n;
	const char *step; /* "12.0": part[0] is this step, not a job; NULL: it is a job */
	/* seconds since the epoch; taken as the end of a job that has not ended */
	uint64_t now;
	/* run time of part[0] by the node's clock, when n is 1; 0: use end - start in seconds */
	uint64_t elapsed_ns;
	/* this cluster; a job of another cluster shows its cluster; NULL: every job does */
	const char *cluster;
	/* why values of running steps are unknown; NULL: they are known, or no step runs */
	const char *not_live;
	/* at most JOB_SCREEN_ADVICE are shown, as far as they fit */
	const struct job_screen_advice *advice;
	size_t nadvice;
	bool colour; /* use colours: OUT is a terminal */
};

/* The screen's first line. */
enum job_head_field {
	JOB_HEAD_ID,
	JOB_HEAD_NAME,
	JOB_HEAD_USER,
	JOB_HEAD_PARTITION,
	JOB_HEAD_NODES,
	JOB_HEAD_STATE,
	JOB_HEAD_N
};
struct job_head {
	char text[JOB_HEAD_N][256]; /* not masked: may hold control characters that users wrote */
	size_t columns[JOB_HEAD_N]; /* width of each field on the screen; 0 after job_head_fill() */
	enum screen_colour colour;  /* colour of the state */
};
/* Fills in the texts and the colour of the first line. */
void job_head_fill(const struct job_screen *s, struct job_head *ret);

/* Prints the screen to OUT; users' texts are masked. Returns 0 or -ENOMEM. */
int job_screen_print(FILE *out, const struct job_screen *s);

#endif
