/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sources_internal.h - for sources.c, which reads, and sources_open.c.
 */
#ifndef CEEMS_SOURCES_INTERNAL_H
#define CEEMS_SOURCES_INTERNAL_H

#include "src/libnode/remainder.h"
#include "src/libnode/sources.h"
#include "src/libutil/logger.h"

/* A source that was asked for. */
struct sources_entry {
	enum source_id id;
	const struct source_ops *ops; /* NULL: it is not there */
	struct source *source;	      /* NULL: not open */
	int rc;			      /* of open(), then of the last read() */
	struct errmsg why;	      /* it is not open */
	bool is_configured; /* by a setting of its own, or by name */
	bool is_lost;
	uint64_t bad_ns; /* time since the last reading without an error */
	bool was_tried;
	bool was_read;	    /* it was read at least once, so its domains are known */
	uint64_t waited_ns; /* for that */
	bool is_late;
	struct reading last;
	struct logger_trouble failed, late, lost;
	struct logger_once log_rejected;
};

struct sources {
	struct sources_entry entry[SOURCE_N]; /* the preferred one first, estimates last */
	size_t n;
	size_t nopen;
	bool is_auto;
	uint32_t from[DOMAIN_N];
	struct sources_entry *node; /* the source that measures the whole node; NULL: none so far */
	struct remainder remainder;
	uint32_t nparts;
	struct sources_part part[READING_PARTS_MAX];
	struct logger_once log_estimate;
};

uint64_t sources_lag(const struct sources_entry *e);
/* Why it is not open, or cannot be read; "": nothing is known. */
const char *sources_why(const struct sources_entry *e);

/* NULL: it was not asked for. */
struct sources_entry *sources_find(struct sources *s, enum source_id id);

#endif
