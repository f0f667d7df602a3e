/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sources_internal.h - what sources.c and sources_open.c share.
 */
#ifndef CEEMS_SOURCES_INTERNAL_H
#define CEEMS_SOURCES_INTERNAL_H

#include "src/libnode/remainder.h"
#include "src/libnode/sources.h"
#include "src/libnode/standing.h"
#include "src/libutil/logger.h"

/* A source that was asked for. */
struct sources_entry {
	enum source_id id;
	const struct source_ops *ops; /* NULL: this build does not have the source */
	struct source *source;	      /* NULL: not open */
	int rc;			      /* result of open(), or of the last read() */
	struct errmsg why;	      /* why it is not open */
	bool is_configured;	      /* a setting of its own is set, or EnergySources names it */
	bool is_lost;
	uint64_t bad_ns; /* time since the last reading without an error */
	bool was_tried;
	bool was_read;	    /* it was read at least once, so its domains are known */
	uint64_t waited_ns; /* how long this module has waited for the first reading */
	bool is_late;
	struct reading last;
	uint64_t still_ns
		[DOMAIN_N]; /* time since it last showed energy of the domain; OTHER: or of the node */
	uint32_t gave;	    /* a bit 1 << enum domain for each that sources_disown() took from it */
	uint64_t held_uj[PARTS_MAX]; /* energy of last.part[i] since the domain's source last showed any */
	struct logger_trouble failed, late, lost;
	struct logger_once log_rejected, log_unsure;
};

struct sources {
	struct sources_entry entry[SOURCE_N]; /* in the order of preference, estimates last */
	size_t n;
	size_t nopen;
	bool is_auto;
	uint32_t from[DOMAIN_N];
	struct sources_entry *node; /* the source that measures the whole node; NULL: none so far */
	struct remainder remainder;
	struct standing standing;
	uint32_t nparts;
	struct part part[PARTS_MAX];
	struct logger_once log_estimate;
};

uint64_t sources_lag(const struct sources_entry *e);
/* Returns why a source is not open or cannot be read; "": the reason is not known. */
const char *sources_why(const struct sources_entry *e);

/* Returns the entry of source ID. NULL: EnergySources does not ask for it. */
struct sources_entry *sources_find(struct sources *s, enum source_id id);

#endif
