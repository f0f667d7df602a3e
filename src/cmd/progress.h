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
	uint64_t jobs;
	uint64_t ns; /* since the begin */
};

/*
 * Writes percent, a bar, jobs, their rate and the time left, in at most WIDTH columns. The number of all jobs and the
 * time left are estimates from the share of the period; they are left out while that is 0.
 */
void progress_text(const struct progress *p, size_t width, char *buf, size_t size);

#endif
