/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * progress.h - one line on a terminal that shows how far a walk through a period is.
 */
#ifndef CEEMS_CMD_PROGRESS_H
#define CEEMS_CMD_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

struct progress {
	uint64_t done, all; /* of the period, in seconds */
	uint64_t empty;	    /* of done: seconds before the first job */
	uint64_t jobs;
	uint64_t ns; /* since the first job */
};

/*
 * Writes percent, a bar, jobs, their rate and the time left, in at most WIDTH columns. The number of all jobs
 * and the time left are estimates: as many jobs in each hour as in those since the first job. Before it they
 * are left out.
 */
void progress_text(const struct progress *p, size_t width, char *buf, size_t size);

#endif
