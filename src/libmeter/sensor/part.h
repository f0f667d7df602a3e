/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * part.h - the energy of one part of the node in one tick. The same struct goes from the sensor's reading
 * over the choice of sources to the split.
 */
#ifndef CEEMS_PART_H
#define CEEMS_PART_H

#include <stdbool.h>
#include <stdint.h>

#include "src/libcore/domain.h"

/* How the energy was read. Each output shows it beside the value. */
enum reading_quality {
	QUALITY_COUNTER,    /* the sensor counts energy itself */
	QUALITY_INTEGRATED, /* power, integrated over time by the trapezoid rule */
	QUALITY_ESTIMATE,   /* no sensor: a model */
};
const char *reading_quality_name(enum reading_quality q); /* "counter", "integrated", ... */

/* The most parts that a node can have. */
#define PARTS_MAX 64

/* What an energy contains. */
enum part_scope {
	SCOPE_UNIT, /* the unit alone */
	/* a superchip (Grace Hopper, GB200): a socket, its memory, the GPUs beside it and their regulators */
	SCOPE_MODULE,
	SCOPE_NODE, /* the whole node, including parts that other sources measure */
};

/*
 * One unit of a domain: a socket's CPUs, its memory, a GPU, or the node's rest (fans, power supplies, disks).
 */
struct part {
	uint8_t domain; /* enum domain */
	/*
	 * Number of the socket or GPU, see domain.h; 0 for DOMAIN_OTHER. The only CPU or memory part of a
	 * node stands for all its sockets. So does a part whose socket has no CPUs.
	 */
	uint8_t unit;
	uint8_t source;	 /* enum source_id; sources_read() sets it */
	uint8_t quality; /* enum reading_quality */
	/*
	 * Only in a source's reading: enum part_scope. From a module or a node, the parts inside that are
	 * measured are subtracted (remainder.h); what is left is the energy of DOMAIN and UNIT. A module with
	 * DOMAIN_GPU has only that GPU without a value of its own. If that GPU's energy cannot be computed
	 * either, it is unknown, and the rest is DOMAIN_OTHER.
	 */
	uint8_t scope;
	/*
	 * Only in a source's reading of a GPU or a module: 1 + the number of the socket of the module; 0: the
	 * GPU is on no module. A CPU or memory is on the module of its unit.
	 */
	uint8_t module;
	/*
	 * Only in a source's reading: the energy since the last reading is unknown, because this is the
	 * first reading, the gap was too long, or the counter began again. energy_uj is 0, and counting
	 * starts here.
	 */
	bool is_new_base;
	/* Only in a source's reading: why energy_uj may lack energy. standing.c makes a doubt of them. */
	bool is_unsure;	    /* a counter may have wrapped unseen before this reading, or was reset */
	bool is_unread;	    /* a counter of the part could not be read this time */
	bool is_late;	    /* its last value is too old */
	bool is_partial;    /* the sensor says that its value does not cover the whole part */
	uint64_t energy_uj; /* used since the last reading, or, at the first, since the saved state */
	/*
	 * Idle power. In a reading, only what the source itself states (the model); partbook_note() sets what
	 * is used. 0: not known.
	 */
	uint64_t idle_mw;
	/*
	 * Only in a source's reading: the time (CLOCK_MONOTONIC) up to which energy_uj was measured. 0: up
	 * to this reading. Sensors slower than the tick set it, because a power sample taken 4 s ago says
	 * nothing about the time since then.
	 */
	uint64_t until_ns;
	/* Only in a source's reading: the steps in which the counter counts, if they are coarse; else 0. */
	uint64_t step_uj;
	/* Only in a source's reading of power: changes when the sensor's value does. 0: not known. */
	uint64_t shown;
	/* sources_assess() sets these: enum doubt, and the same for steps that end now. */
	uint8_t doubt, end_doubt;
	uint64_t end_lack_ns; /* the time whose energy such steps lack */
	/* The time in which energy_uj was used, if longer than the tick; else 0. partbook_note() sets it. */
	uint64_t used_ns;
};

#endif
