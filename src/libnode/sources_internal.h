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
	bool began_anew;    /* what was used before its next reading is unknown */
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

/* A module of a superchip, by the number of its socket. */
struct sources_module {
	struct sources_entry *from; /* the source that measures the module; NULL: none so far */
	struct remainder remainder;
	uint64_t parts_uj; /* what its parts used in this tick */
	enum domain rest;  /* domain, unit and quality of what is left */
	uint8_t unit, quality;
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
	struct sources_module module[SOCKETS_MAX];
	unsigned int nmodules; /* that have a source */
	uint32_t nparts;
	struct part part[PARTS_MAX];
	struct logger_once log_estimate, log_spread;
};

uint64_t sources_lag(const struct sources_entry *e);
/* Returns why a source is not open or cannot be read; "": the reason is not known. */
const char *sources_why(const struct sources_entry *e);

/* Gives the domain to source ID if no other source has it. True: it is this source's. */
bool sources_takes_domain(struct sources *s, const struct sources_entry *e, uint8_t domain);
/* Returns the part of a domain and unit that is measured by FROM; a new one has 0 uJ. Never NULL. */
struct part *sources_part_of(struct sources *s, uint8_t domain, uint8_t unit, enum source_id from);

/*
 * Modules (sources_modules.c). In each tick: add each part that is used, choose the modules' sources, then
 * read. IS_AWAITING: a source may still show a module, so a source is chosen only if it was used before.
 */
void sources_modules_add(struct sources *s, const struct part *part, uint64_t uj);
void sources_modules_choose(struct sources *s, bool is_awaiting, struct source_state *state);
bool sources_modules_use(const struct sources *s, const struct sources_entry *e);
/* Returns the energy of the GPUs that are rests of modules. Of TICK, node and parts_uj are not used. */
uint64_t sources_modules_read(struct sources *s, const struct remainder_tick *tick,
			      struct source_state *state, struct sources_reading *ret);

/* Returns the entry of source ID. NULL: EnergySources does not ask for it. */
struct sources_entry *sources_find(struct sources *s, enum source_id id);

#endif
