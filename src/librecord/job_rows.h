/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job_rows.h - prints the rows of a job's screen below its head: time, CPU, memory, GPU, energy,
 * CO2e, I/O, nodes, notes; and the advice.
 */
#ifndef CEEMS_JOB_ROWS_H
#define CEEMS_JOB_ROWS_H

#include "src/librecord/job_sums.h"
#include "src/librecord/screen_text.h"

void job_rows_print(const struct screen *out, const struct job_screen *s, const struct job_sums *sum);
/* As above, without the time, which is in the head of a step's report. */
void job_usage_print(const struct screen *out, const struct job_screen *s, const struct job_sums *sum);

/* Prints as much advice as fits in LINES. */
void job_advice_print(const struct screen *out, const struct job_screen *s, size_t lines);

#endif
