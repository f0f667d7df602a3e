/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * redfish_json.h - what a BMC answers, in Redfish's schemas (DMTF DSP8010): links from one resource
 * to the next, and power or energy of a chassis. Nothing in an answer is trusted.
 */
#ifndef CEEMS_REDFISH_JSON_H
#define CEEMS_REDFISH_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libutil/errmsg.h"

#define REDFISH_PATH_MAX 256

enum redfish_resource {
	REDFISH_ENVIRONMENT, /* EnvironmentMetrics */
	REDFISH_POWER,	     /* Power, deprecated by the former and still what most have */
};

/* In the order of preference. Named as Redfish names them: they differ in what they show and how old it is. */
enum redfish_kind {
	REDFISH_JOULES,	  /* EnergyJoules: a counter */
	REDFISH_WATTS,	  /* PowerWatts */
	REDFISH_CONSUMED, /* PowerConsumedWatts, of entries of PowerControl */
	REDFISH_AVERAGE,  /* AverageConsumedWatts, the same: a mean over the last minutes */
	REDFISH_KWH,	  /* EnergykWh: a counter too, but one whose step may be 3.6 MJ */
};
#define REDFISH_KINDS 5
const char *redfish_kind_name(enum redfish_kind kind); /* "EnergyJoules", ... */
bool redfish_kind_is_power(enum redfish_kind kind);
enum redfish_resource redfish_kind_resource(enum redfish_kind kind);

/* Entries of PowerControl that can be told apart, by bit. */
#define REDFISH_CONTROLS 16

struct redfish_values {
	unsigned int has;		/* 1 << enum redfish_kind */
	uint64_t value[REDFISH_KINDS];	/* uJ or, of power, mW */
	uint64_t window_ns;		/* what an average is over; 0: not told */
};

/*
 * The path that the member NAME (of an object below it with '.': "Links.Sessions") links to.
 * -ENOENT: there is none; -EINVAL: no JSON, or a link that does not stay within /redfish/.
 */
int redfish_json_link(const char *text, size_t len, const char *name, char *ret, size_t size,
		      struct errmsg *err);

/*
 * All links in the array NAME ("Members", "Links.Chassis"), at most MAX; none is no error. -EINVAL as above.
 */
int redfish_json_links(const char *text, size_t len, const char *name, char ret[][REDFISH_PATH_MAX],
		       size_t max, size_t *ret_n, struct errmsg *err);

/*
 * The text NAME, of which an array's entry is a number ("PowerControl.0.Name"), with what is not printable
 * ASCII replaced. False: there is none; RET is then empty.
 */
bool redfish_json_text(const char *text, size_t len, const char *name, char *ret, size_t size);

/*
 * What RESOURCE says; of several CONTROLS, bits of entries of PowerControl, what all of them show, added up.
 * -ENODATA: nothing now (null, no such member); -EINVAL: no JSON; -ERANGE: a value that no node can have, or
 * of another type. One bad value makes the whole answer invalid.
 */
int redfish_json_values(const char *text, size_t len, enum redfish_resource resource,
			unsigned int controls, struct redfish_values *ret, struct errmsg *err);
/* How many entries PowerControl has. */
size_t redfish_json_controls(const char *text, size_t len);

/* "/redfish/..." of printable ASCII, which cannot lead to another host or out of a header. */
int redfish_json_check_path(const char *path, struct errmsg *err);

#endif
