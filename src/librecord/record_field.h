/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record_field.h - the members of a record and of a step in JSON and in SQL, one row each. The rows drive writing
 * and reading of JSON (record_write.c, record_read.c) and the rows in MariaDB (libsink/sqlrow.c); the metrics among
 * them come from metric_table.
 */
#ifndef CEEMS_RECORD_FIELD_H
#define CEEMS_RECORD_FIELD_H

#include "src/librecord/record.h"

enum record_field_kind {
	FIELD_TEXT,	   /* char *, owned; NULL and empty are null */
	FIELD_CHARS,	   /* char[size], of which an empty text is null */
	FIELD_U32,	   /* uint32_t */
	FIELD_COUNT,	   /* uint32_t, of which 0 is null */
	FIELD_U64,	   /* uint64_t, of which 0 is null */
	FIELD_MAYBE,	   /* struct maybe_u64 */
	FIELD_MINUTES,	   /* struct maybe_u64 of minutes; seconds in JSON */
	FIELD_TIME,	   /* uint64_t, seconds since the epoch, of which 0 is null; RFC 3339 in UTC with Z */
	FIELD_EXIT,	   /* int32_t code and signal, "3:9", as sacct and jobcomp/elasticsearch write it */
	FIELD_BOOL,	   /* bool */
	FIELD_CO2E_METHOD, /* enum record_co2e_method */
	FIELD_VALUES,	   /* struct values: a member per metric, at the place that metric_table says */
	/* only written */
	FIELD_OBJECT,	   /* the object named, even if nothing in it is known */
	FIELD_MADE,	   /* what make() returns */
	FIELD_RATIO,	   /* what ratio() returns of WHICH */
	FIELD_RATIOS,	   /* a member for each enum derived, of ratio() */
};

enum record_field_flags {
	FIELD_AT_END = 1 << 0,	  /* not known when a job starts */
	FIELD_IN_PART = 1 << 1,	  /* also in the parts that have the rest of the steps */
	FIELD_NO_ENERGY = 1 << 2, /* of metric values: METRIC_ENERGY has a row of its own, which is written */
	FIELD_SQL_WHOLE = 1 << 3, /* in SQL rounded to a whole number; else a decimal if there is a scale */
	FIELD_SQL_ZERO = 1 << 4,  /* in SQL unknown is 0, not NULL */
};

struct record_field {
	const char *path; /* "energy.method"; FIELD_RATIOS: how the paths of all its members begin */
	const char *column; /* in SQL; NULL: none, or part of the key */
	const char *signal_column; /* FIELD_EXIT: COLUMN has the code only */
	enum record_field_kind kind;
	unsigned int flags; /* enum record_field_flags */
	size_t offset;
	size_t size;
	uint64_t scale;	    /* of the integer here per unit in JSON: 1,000,000 uj per J; 0 is 1 */
	unsigned int which;
	/* written instead of the member at OFFSET, if set; false: unknown */
	bool (*make)(const void *object, uint64_t *ret);
	bool (*ratio)(const void *object, unsigned int which, double *ret);
	/* false: the member does not apply to this step; NULL: it always does */
	bool (*has)(const void *object);
};

/* Both end with a row without path. "key", "schema", "escaped", "parts" and "steps" are not among them. */
extern const struct record_field record_job_fields[];
extern const struct record_field record_step_fields[];

/* The number in OBJECT's member F, times f->scale. False: unknown, or F is no number. */
bool record_field_number(const struct record_field *f, const void *object, uint64_t *ret);

/* Of a value of M here per unit in JSON. */
uint64_t record_metric_scale(enum metric m);

#endif
