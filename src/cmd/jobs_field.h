/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jobs_field.h - the fields of `ceems jobs --format`: sacct's names, reportseff's efficiencies, and every row of the
 * metric table.
 */
#ifndef CEEMS_CMD_JOBS_FIELD_H
#define CEEMS_CMD_JOBS_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "src/cmd/cells.h"
#include "src/cmd/jobs_waste.h"
#include "src/librecord/record.h"
#include "src/libutil/errmsg.h"

/* A job and what is worked out of it once. */
struct jobs_job {
	const struct record *r;
	uint64_t now, elapsed_s;
	double cpu_ns, cpu_held_ns; /* 0: not known */
	double gpu_busy, time_share; /* negative: not known, as the next */
	double idle_share;	     /* of the energy */
	double waste_uj[WASTE_N];    /* NAN: not known */
};
void jobs_job_init(struct jobs_job *j, const struct record *r, uint64_t now);

/* A field of its own, or METRIC. */
struct jobs_field;

struct jobs_column {
	const struct jobs_field *field; /* NULL: METRIC */
	enum metric metric;
};

/* What --format asks for, or the default. */
struct jobs_columns {
	struct jobs_column *column;	/* owned, as the next */
	struct cells_column *cells;
	char (*key)[64];		/* owned; names of metrics with their units */
	size_t n;
};
void jobs_columns_free(struct jobs_columns *c);

#define JOBS_FORMAT "JobID,JobName,User,State,Elapsed,CPUEff,MemEff,GPUEff,Energy,CO2e,IdleShare"

/* "jobid%20,user,energy": %N: N columns, %-N: to the left. -EINVAL names the field; -ENOMEM. */
int jobs_columns_parse(const char *format, struct jobs_columns *ret, struct errmsg *err);

/* False: there is no such field. */
bool jobs_column_find(const char *name, struct jobs_column *ret);
bool jobs_is_usual(const struct jobs_column *column); /* in JOBS_FORMAT */

/* CELL may point into what J's record owns, and into BUF. */
#define JOBS_TEXT_MAX 128
void jobs_cell(const struct jobs_job *j, const struct jobs_column *column, struct cell *cell, char buf[JOBS_TEXT_MAX]);

/* A number or a time, no text. */
bool jobs_is_sortable(const struct jobs_column *column);

/* By which the column sorts: the largest number first, the earliest time. NAN: not known. */
double jobs_rank(const struct jobs_job *j, const struct jobs_column *column);

void jobs_fields_print(FILE *out);

#endif
