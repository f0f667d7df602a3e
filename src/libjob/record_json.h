/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record_json.h - what writing and reading a record share. Private to librecord.
 */
#ifndef CEEMS_RECORD_JSON_H
#define CEEMS_RECORD_JSON_H

#include "src/libjob/record.h"

enum record_field_kind {
	FIELD_TEXT,  /* char * */
	FIELD_U32,   /* uint32_t */
	FIELD_MAYBE, /* struct maybe_u64 */
	FIELD_TIME,  /* uint64_t seconds, 0 is null; ISO 8601 in UTC with Z */
};

/*
 * A flat field and its JSON name: the one that users of jobcomp/elasticsearch and jobcomp/kafka
 * know where there is one.
 */
struct record_field {
	const char *name;
	enum record_field_kind kind;
	size_t offset;
};

extern const struct record_field record_fields[];
extern const size_t record_nfields;

/* Where a metric is found in the "energy", "emissions" and "usage" objects of a job or step. */
struct record_place {
	const char *object[2]; /* path of objects; second NULL: one level */
	char name[40];	       /* with the unit: "cpu_static_j", "read_bytes", "cpu_time_s" */
	uint64_t scale;	       /* of the integer here per unit there: 1,000,000 uj per J */
};

/* From the row in metric_table, so that a new metric needs nothing here. */
void record_place_of(enum metric m, struct record_place *ret);

/* "" for unknown. */
const char *record_co2e_method_name(enum record_co2e_method method);

#endif
