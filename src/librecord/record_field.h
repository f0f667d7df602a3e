/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record_field.h - the members of a record and of a step in JSON and in SQL, one row each. By these
 * rows JSON is written and read (record_write.c, record_read.c), and rows of MariaDB are made
 * (libsink/sqlrow.c). The metrics among them come from metric_table.
 */
#ifndef CEEMS_RECORD_FIELD_H
#define CEEMS_RECORD_FIELD_H

#include "src/librecord/record.h"

enum record_field_kind {
	FIELD_TEXT,	   /* char *, owned; NULL and "" are written as null */
	FIELD_CHARS,	   /* char[size]; "" is written as null */
	FIELD_U32,	   /* uint32_t */
	FIELD_COUNT,	   /* uint32_t, of which 0 is null */
	FIELD_U64,	   /* uint64_t, of which 0 is null */
	FIELD_MAYBE,	   /* struct maybe_u64 */
	FIELD_MINUTES,	   /* struct maybe_u64 of minutes; seconds in JSON */
	FIELD_TIME,	   /* uint64_t, seconds since the epoch; 0 is written as null; RFC 3339 in UTC with Z */
	FIELD_EXIT,	   /* int32_t code and signal, "3:9", as sacct and jobcomp/elasticsearch write it */
	FIELD_BOOL,	   /* bool */
	FIELD_CO2E_METHOD, /* enum record_co2e_method */
	FIELD_VALUES,	   /* struct values: a member per metric, with the path from metric_table */
	/* only written */
	FIELD_OBJECT,	   /* an object that is written even if all its members are unknown */
	FIELD_MADE,	   /* what make() returns */
	FIELD_RATIO,	   /* what ratio() returns of WHICH */
	FIELD_RATIOS,	   /* a member per enum derived, by ratio() */
};

enum record_field_flags {
	FIELD_AT_END = 1 << 0,	  /* not known when a job starts */
	FIELD_IN_PART = 1 << 1,	  /* also written in parts that have the rest of the steps */
	FIELD_NO_ENERGY = 1 << 2, /* for metric values: without METRIC_ENERGY, which has its own row */
	FIELD_SQL_WHOLE = 1 << 3, /* rounded to a whole number in SQL; otherwise a decimal, if there is a scale */
	FIELD_SQL_ZERO = 1 << 4,  /* in SQL unknown is 0, not NULL */
};

struct record_field {
	const char *path; /* path in JSON, such as "energy.method"; for FIELD_RATIOS, the begin of its members'
			     paths */
	const char *column; /* column in SQL; NULL: none, or part of the key */
	const char *signal_column; /* FIELD_EXIT: COLUMN has the code only */
	enum record_field_kind kind;
	unsigned int flags; /* enum record_field_flags */
	size_t offset;
	size_t size;
	uint64_t scale;	    /* units of our integer per unit in JSON, such as 1,000,000 uJ per J; 0 means 1 */
	unsigned int which;
	/* if set, gives the value to write instead of the member at OFFSET; false: unknown */
	bool (*make)(const void *object, uint64_t *ret);
	bool (*ratio)(const void *object, unsigned int which, double *ret);
	/* returns false if the member does not apply to this step; NULL: it always does */
	bool (*has)(const void *object);
};

/*
 * Both tables end with a row without path. "key", "schema", "escaped", "parts" and "steps" are not
 * in them.
 */
extern const struct record_field record_job_fields[];
extern const struct record_field record_step_fields[];

/* Returns member F of OBJECT, multiplied by f->scale. False: unknown, or not a number. */
bool record_field_number(const struct record_field *f, const void *object, uint64_t *ret);

/* How many units of metric M's integer make one unit in JSON, such as 1,000,000 uJ for a joule. */
uint64_t record_metric_scale(enum metric m);

#endif
