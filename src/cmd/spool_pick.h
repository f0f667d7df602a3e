/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spool_pick.h - which entries `ceems spool cat` and `replay` are asked for.
 */
#ifndef CEEMS_SPOOL_PICK_H
#define CEEMS_SPOOL_PICK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libsink/spool.h"

struct spool_pick {
	unsigned int kinds;    /* SPOOL_MASK() */
	const char *key;       /* NULL: any */
	uint64_t job;	       /* 0: any */
	uint64_t since;	       /* ended then or later, or not known when; 0: any */
	struct spool_pos from; /* in the segments */
};

#define SPOOL_PICK_SINKS                                                                 \
	(SPOOL_MASK(SPOOL_RECORD) | SPOOL_MASK(SPOOL_STEPS) | SPOOL_MASK(SPOOL_START))

/* Each sets one member from an option's argument; false, and a line on stderr: it is no such. */
bool spool_pick_set_kinds(struct spool_pick *p, const char *text); /* "record,steps", "all" */
bool spool_pick_set_job(struct spool_pick *p, const char *text);
bool spool_pick_set_from(struct spool_pick *p, const char *text);  /* "SEGMENT:OFFSET" */
bool spool_pick_set_since(struct spool_pick *p, const char *text); /* a date, a time, seconds */

bool spool_pick_takes(const struct spool_pick *p, enum spool_kind kind, const char *key,
		      size_t key_len, const char *json, size_t len);

/* What KIND and key a record has by its own words. False: TEXT is no record of ours. */
bool spool_pick_identify(const char *json, size_t len, enum spool_kind *ret_kind, char *ret_key,
			 size_t size);

#endif
