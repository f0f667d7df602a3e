/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * doubt.h - why the energy of a domain is unknown or a lower bound. src/libnode/standing.c decides it for
 * each part of the node, the account of a step keeps it by domain, and METRIC_ENERGY_DOUBT carries it.
 */
#ifndef CEEMS_DOUBT_H
#define CEEMS_DOUBT_H

#include <stddef.h>
#include <stdint.h>

#include "src/libcore/domain.h"

/* Of several, the largest is kept. The numbers are in sacct and in records: do not change them. */
enum doubt {
	DOUBT_NONE = 0,
	DOUBT_DEAD = 1,	    /* never counted; the other domains are whole without it */
	DOUBT_PARTIAL = 2,  /* the sensor itself says that its value lacks something */
	DOUBT_SILENT = 3,   /* no new readings */
	DOUBT_LOST = 4,	    /* cannot be read */
	DOUBT_STANDING = 5, /* stood still although the part worked */
	DOUBT_N
};

/* "stood still", ..; "" for DOUBT_NONE, "is doubtful" for another value */
const char *doubt_text(unsigned int doubt);

/*
 * Packs the doubts of all domains into a decimal number, a digit per domain in the order of enum domain:
 * 5001 is a CPU that stood still and an OTHER that never counted. 0: no doubt.
 */
uint64_t doubt_pack(const uint8_t doubt[DOMAIN_N]);
void doubt_unpack(uint64_t packed, uint8_t ret[DOMAIN_N]);

#define DOUBT_TEXT_MAX 160
/* Writes "cpu: stood still; other: never counted" for a packed number; "": no doubt. */
void doubt_list(uint64_t packed, char *buf, size_t size);

#endif
