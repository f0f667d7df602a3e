/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record_json.h - what writing and reading a record share. Private to librecord.
 */
#ifndef CEEMS_RECORD_JSON_H
#define CEEMS_RECORD_JSON_H

#include "src/librecord/jsonout.h"
#include "src/librecord/record.h"

enum record_field_kind {
	FIELD_TEXT,  /* char * */
	FIELD_U32,   /* uint32_t */
	FIELD_MAYBE, /* struct maybe_u64 */
	FIELD_TIME,  /* uint64_t seconds, 0 is null; ISO 8601 in UTC with Z */
};

#define RECORD_TIME_MAX UINT64_C(253402300799) /* the end of year 9999, and of such times */

/*
 * A flat field and its JSON name: the one that users of jobcomp/elasticsearch and jobcomp/kafka
 * know where there is one.
 */
struct record_field {
	const char *name;
	enum record_field_kind kind;
	bool is_end; /* not known when a job starts */
	size_t offset;
};

extern const struct record_field record_fields[];
extern const size_t record_nfields;

/* Where a metric is found in the "energy", "emissions" and "usage" objects of a job or step. */
struct record_place {
	enum metric metric;
	const char *object[2]; /* path of objects; second NULL: one level */
	char name[40];	       /* with the unit: "cpu_static_j", "read_bytes", "cpu_time_s" */
	uint64_t scale;	       /* of the integer here per unit there: 1,000,000 uj per J */
	bool is_first[2];      /* in the list below: of its object[0], of its object[1] */
};

/*
 * All METRIC_N of them, from metric_table, so that a new metric needs nothing here; those of an
 * object follow each other, the object's own members first.
 */
const struct record_place *record_places(void);

/* --- record_write.c: members, into an object that is open ---------------------------------- */

struct record_out {
	struct jsonout json;
	struct jsonout escaped; /* the list of texts that were not UTF-8, so far */
	const char *prefix;	/* "energy." while members of "energy" are written; NULL: none */
	bool omits;		/* what is unknown is left out, not null */
};

void record_out_fini(struct record_out *o);

/* Of a job: all but "parts" and "steps". */
void record_write_job(struct record_out *o, const struct record *r, const char *key);
void record_write_start(struct record_out *o, const struct record *r, const char *key);

/* Of the object that the steps of a later part are in: up to them. */
void record_write_part(struct record_out *o, const struct record *r, const char *key,
		       uint64_t part, uint64_t parts);

/* The whole object, as the next element of an array. */
void record_write_step(struct record_out *o, const struct record_step *s);

#endif
