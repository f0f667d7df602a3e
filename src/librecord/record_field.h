/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record_field.h - the members of a record and of a step in JSON and SQL, one table row each. record_write.c
 * and record_read.c use the rows for JSON, libsink/sqlrow.c for MariaDB, record_life.c to free a record,
 * recorder/job_record.c to complete it from slurmdbd's row. The members for metrics come from metric_table.
 */
#ifndef CEEMS_RECORD_FIELD_H
#define CEEMS_RECORD_FIELD_H

#include "src/librecord/record.h"
#include "src/libutil/must_check.h"

enum record_field_kind {
	FIELD_TEXT,    /* char *, owned; NULL and "" are written as null */
	FIELD_CHARS,   /* char[size]; "" is written as null */
	FIELD_U32,     /* uint32_t */
	FIELD_COUNT,   /* uint32_t; 0 is written as null */
	FIELD_U64,     /* uint64_t; 0 is written as null */
	FIELD_MAYBE,   /* struct maybe_u64 */
	FIELD_MINUTES, /* struct maybe_u64, minutes; written as seconds */
	/*
	 * uint64_t, seconds since the epoch; written as RFC 3339 in UTC with Z; 0 is written as
	 * null
	 */
	FIELD_TIME,
	/* int32_t code and signal; written "3:9", as in sacct and jobcomp/elasticsearch */
	FIELD_EXIT,
	FIELD_BOOL,	   /* bool */
	FIELD_CO2E_METHOD, /* enum record_co2e_method */
	FIELD_VALUES,	   /* struct values; one member per metric, with the path in metric_table */
	/* the kinds below are written, never read */
	FIELD_OBJECT, /* an object; written even if all its members are unknown */
	FIELD_MADE,   /* the number that make() returns */
	FIELD_RATIO,  /* the ratio that ratio() returns for WHICH */
	FIELD_RATIOS, /* one member per enum derived, from ratio() */
};

enum record_field_flags {
	FIELD_AT_END = 1 << 0,	  /* not known when a job starts */
	FIELD_IN_PART = 1 << 1,	  /* also written in the parts that have the remaining steps */
	FIELD_NO_ENERGY = 1 << 2, /* FIELD_VALUES without METRIC_ENERGY, which has its own row */
	/*
	 * rounded to a whole number in SQL; without this flag, a number with a scale is a decimal
	 */
	FIELD_SQL_WHOLE = 1 << 3,
	FIELD_SQL_ZERO = 1 << 4, /* unknown is 0 in SQL, not NULL */
	/* taken from slurmdbd's row if the hook did not know it: job_record_complete() */
	FIELD_OF_SLURMDBD = 1 << 5,
};

struct record_field {
	/*
	 * path in JSON, such as "energy.method"; of FIELD_RATIOS, the prefix of all members' paths
	 */
	const char *path;
	const char *column; /* column in SQL; NULL: no column, or part of the key */
	/* column of the signal, for FIELD_EXIT; COLUMN then has only the code */
	const char *signal_column;
	enum record_field_kind kind;
	unsigned int flags; /* enum record_field_flags */
	size_t offset;
	size_t size;
	/* our integer's units per unit in JSON: 1,000,000 uJ per J; 0 means 1 */
	uint64_t scale;
	/* argument for ratio() */
	unsigned int which;
	/* if set: returns the value to write instead of the member at OFFSET; false: unknown */
	bool (*make)(const void *object, uint64_t *ret);
	bool (*ratio)(const void *object, unsigned int which, double *ret);
	/* if set: returns false if the member does not apply to this step */
	bool (*has)(const void *object);
};

/*
 * The last row of each table has no path. "key", "schema", "escaped", "parts" and "steps" are not
 * in the tables.
 */
extern const struct record_field record_job_fields[];
extern const struct record_field record_step_fields[];

/*
 * Reads the member that row F describes from the struct at OBJECT, as an integer in our unit; F->scale
 * of them make one unit in JSON. False: the value is unknown, or the member is not a number.
 */
bool record_field_number(const struct record_field *f, const void *object, uint64_t *ret) _must_check_;

/* Returns how many units of metric M's integer make one unit in JSON: 1,000,000 (uJ) for joules. */
uint64_t record_metric_scale(enum metric m);

#endif
