/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job_rows.h - prints the rows below the head of a job's screen: time, CPU, memory, GPU, energy,
 * CO2e, I/O, nodes, notes, advice.
 */
#ifndef CEEMS_JOB_ROWS_H
#define CEEMS_JOB_ROWS_H

#include "src/librecord/job_sums.h"
#include "src/librecord/screen_text.h"

/* Prints all rows but the advice. */
void job_rows_print(const struct screen *out, const struct job_screen *s, const struct job_sums *sum);
/* job_rows_print() without the time, which a step's report has in its head. */
void job_usage_print(const struct screen *out, const struct job_screen *s, const struct job_sums *sum);

/* Prints the advice of S, as much as fits into LINES lines. */
void job_advice_print(const struct screen *out, const struct job_screen *s, size_t lines);

#endif
