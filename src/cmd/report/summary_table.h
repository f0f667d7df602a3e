/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * summary_table.h - the tables of a report. A column is a row in summary_table.c and its setter.
 * summary_text.c, summary_html.c and summary_data.c print the tables.
 */
#ifndef CEEMS_CMD_SUMMARY_TABLE_H
#define CEEMS_CMD_SUMMARY_TABLE_H

#include "src/cmd/report/summary.h"

/* What a row sums up. */
struct summary_row {
	const struct summary *s;
	const char *name;
	const char *help;	    /* of a cause of waste; NULL: none */
	const struct jobs_sum *sum; /* NULL: a cause of waste or a method, which have only the values below */
	const struct jobs_sum *before; /* of the period before; NULL: none */
	size_t place, was;	       /* rank by energy now and in the period before; 0: none */
	double most_uj;		       /* energy of the longest bar */
	uint64_t jobs;
	double uj, ng, wasted_uj;
	bool has_energy, has_co2e, has_waste;
	bool is_total; /* the sum below a table, which has neither jobs nor a bar */
};
/* Sets the values of ROW from SUM. Energy and emissions of a day without jobs are 0, not unknown. */
void summary_row_init(struct summary_row *row, const struct summary *s, const char *name,
		      const struct jobs_sum *sum, bool is_day);
/* Sets the values of ROW from cause of waste W. */
void summary_row_cause(struct summary_row *row, const struct summary *s, enum jobs_waste w);
/* Sets the values of ROW from the jobs whose energy is known in way Q. */
void summary_row_method(struct summary_row *row, const struct summary *s, enum jobs_quality q);

enum summary_looks {
	SUMMARY_NUMBER,
	SUMMARY_HEAD, /* name of the row */
	SUMMARY_BAR,  /* a bar, whose length is the cell's ratio */
	SUMMARY_HELP,
};

struct summary_column {
	/* titles, as in cells.h and html_table_begin(); NULL: this form has no such column */
	const char *text, *html;
	const char *key;     /* name in CSV and JSON; NULL: there jobs_sum.def has the value */
	const char *unknown; /* shown by HTML if the value is not known; NULL: "n/a" */
	size_t width;	     /* of the text */
	enum summary_looks looks;
	bool is_last_in_text;	/* the text has the column after the others */
	bool is_empty_in_total; /* the row of the total has no value */
	/* Sets CELL, which stays unknown if the value is not known. A text lives as long as ROW. */
	void (*set)(struct cell *cell, const struct summary_row *row);
};

enum summary_table_id { SUMMARY_GROUPS, SUMMARY_DAYS, SUMMARY_CAUSES, SUMMARY_METHODS, SUMMARY_TABLES };
struct summary_table {
	const struct summary_column *column;
	size_t n;
};
extern const struct summary_table summary_table[SUMMARY_TABLES];

/* Most columns of a table, and most columns with keys of all tables. */
#define SUMMARY_COLUMNS 32

#endif
