/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jobs_field.h - the fields of `ceems jobs --format`: those of sacct, the efficiencies of
 * reportseff, and all metrics.
 */
#ifndef CEEMS_CMD_JOBS_FIELD_H
#define CEEMS_CMD_JOBS_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "src/cmd/cells.h"
#include "src/cmd/jobs/jobs_waste.h"
#include "src/librecord/record.h"
#include "src/libutil/errmsg.h"

/* A job with values that are computed once. */
struct jobs_job {
	const struct record *r;
	uint64_t now, elapsed_s;
	double cpu_ns, cpu_held_ns; /* CPU time used, and allocated; 0: not known */
	/* These three are negative if they are not known. */
	double gpu_busy, time_share;
	double idle_share;	  /* idle energy as a share of the energy */
	double waste_uj[WASTE_N]; /* NAN: not known */
	bool waste_lacks_idle;	  /* jobs_waste_lacks_idle() */
};
void jobs_job_init(struct jobs_job *j, const struct record *r, uint64_t now);

/* A column is a struct jobs_field, or METRIC if field is NULL. */
struct jobs_field;

struct jobs_column {
	const struct jobs_field *field; /* NULL: the column is METRIC */
	enum metric metric;
};

/* The columns that --format names, or the default ones. The arrays are owned, with N elements each. */
struct jobs_columns {
	struct jobs_column *column;
	struct cells_column *cells;
	char (*key)[64]; /* names of metrics with their units */
	size_t n;
};
void jobs_columns_free(struct jobs_columns *c);

#define JOBS_FORMAT "JobID,JobName,User,State,Elapsed,CPUEff,MemEff,GPUEff,Energy,CO2e,IdleShare"

/*
 * Parses a format such as "jobid%20,user,energy": %N makes a column N characters wide, %-N aligns
 * it to the left, too. -EINVAL: ERR names the field; -ENOMEM.
 */
int jobs_columns_parse(const char *format, struct jobs_columns *ret, struct errmsg *err) _must_check_;

/* Finds a column by the name of a field or metric. False: there is no such column. */
bool jobs_column_find(const char *name, struct jobs_column *ret) _must_check_;
/* Returns true if JOBS_FORMAT, the default, has the column. */
bool jobs_is_usual(const struct jobs_column *column);

/* Fills CELL with the value of J in COLUMN. CELL may borrow from J's record and from BUF. */
#define JOBS_TEXT_MAX 128
void jobs_cell(const struct jobs_job *j, const struct jobs_column *column, struct cell *cell,
	       char buf[JOBS_TEXT_MAX]);

/* Returns true if the column has numbers or times, not text. */
bool jobs_is_sortable(const struct jobs_column *column);

/*
 * Returns the rank of J by COLUMN for cells_add(): the largest number or the earliest time
 * comes first. NAN: unknown.
 */
double jobs_rank(const struct jobs_job *j, const struct jobs_column *column);

void jobs_fields_print(FILE *out);

#endif
