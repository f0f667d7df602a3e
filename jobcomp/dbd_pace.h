/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dbd_pace.h - how much slurmdbd is asked at once, and how often. It has its own work to do, and
 * what it answers is held in slurmctld's memory: so at most every other moment is spent with our
 * questions, and a question asks for more jobs only while the answers are quick and short.
 */
#ifndef CEEMS_DBD_PACE_H
#define CEEMS_DBD_PACE_H

#include "jobcomp/steps.h"

/* Jobs per question: of 200 or more slurmdbd scans its whole job table, of 150 it uses the index. */
#define DBD_PACE_MAX 100

struct dbd_pace {
	struct steps *steps;   /* borrowed; NULL: there is no slurmdbd */
	size_t limit;	       /* jobs per question now */
	bool is_down;	       /* it did not answer the last one */
	uint64_t next_mono_ns; /* not before */
};

void dbd_pace_init(struct dbd_pace *p, struct steps *steps);

/*
 * As steps_fetch(), N at most p->limit. After a question without an answer the next one asks for half as many, down
 * to a single job, so that one job that takes slurmdbd too long holds up nobody but itself; says once that slurmdbd
 * is not there, and that it is again.
 */
int dbd_pace_ask(struct dbd_pace *p, struct steps_query *q, size_t n);

#endif
