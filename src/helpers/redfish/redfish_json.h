/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * redfish_json.h - parses a BMC's answers in Redfish's schemas (DMTF DSP8010): links between
 * resources, and power or energy of a chassis. Nothing in an answer is trusted.
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

/*
 * In the order of preference, with Redfish's names, since these properties differ in meaning and
 * age.
 */
enum redfish_kind {
	REDFISH_JOULES,	  /* EnergyJoules: a counter */
	REDFISH_WATTS,	  /* PowerWatts */
	REDFISH_CONSUMED, /* PowerConsumedWatts, of entries of PowerControl */
	REDFISH_AVERAGE,  /* AverageConsumedWatts of the same resource: a mean over the last minutes */
	REDFISH_KWH,	  /* EnergykWh: also a counter, but its step may be 3.6 MJ */
};
#define REDFISH_KINDS 5
const char *redfish_kind_name(enum redfish_kind kind); /* "EnergyJoules", ... */
bool redfish_kind_is_power(enum redfish_kind kind);
enum redfish_resource redfish_kind_resource(enum redfish_kind kind);

/* The most entries of PowerControl, one bit each. */
#define REDFISH_CONTROLS 16

struct redfish_values {
	unsigned int has;	       /* 1 << enum redfish_kind */
	uint64_t value[REDFISH_KINDS]; /* uJ or, of power, mW */
	uint64_t window_ns;	       /* what an average is over; 0: not told */
};

/*
 * Reads the path to which the member NAME links; '.' separates nested members ("Links.Sessions").
 * -ENOENT: there is none; -EINVAL: not JSON, or a link outside /redfish/.
 */
int redfish_json_link(const char *text, size_t len, const char *name, char *ret, size_t size,
		      struct errmsg *err) _must_check_;

/*
 * Reads all links in the array NAME ("Members", "Links.Chassis"), at most MAX; none is no error.
 * -EINVAL: as above.
 */
int redfish_json_links(const char *text, size_t len, const char *name, char ret[][REDFISH_PATH_MAX],
		       size_t max, size_t *ret_n, struct errmsg *err) _must_check_;

/*
 * Reads the text NAME; a number selects an array's entry ("PowerControl.0.Name"). Bytes other than
 * printable ASCII are replaced. False: there is none, and RET is "".
 */
bool redfish_json_text(const char *text, size_t len, const char *name, char *ret, size_t size);

/*
 * Reads the values of RESOURCE. With several CONTROLS (bits of entries of PowerControl), those that
 * all have are added up. -ENODATA: no value now (null, or no such member); -EINVAL: not JSON;
 * -ERANGE: a value that is impossible or of another type. One bad value makes the whole answer
 * invalid.
 */
int redfish_json_values(const char *text, size_t len, enum redfish_resource resource, unsigned int controls,
			struct redfish_values *ret, struct errmsg *err) _must_check_;
/* How many entries PowerControl has. */
size_t redfish_json_controls(const char *text, size_t len);

/*
 * Checks that PATH is "/redfish/..." in printable ASCII, so that it cannot lead to another host or
 * end an HTTP header.
 */
int redfish_json_check_path(const char *path, struct errmsg *err);

#endif
