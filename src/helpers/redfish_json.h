/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * redfish_json.h - what a BMC answers, in Redfish's schemas (DMTF DSP8010): links from one resource
 * to the next, and power or energy of a chassis. Nothing in an answer is trusted.
 */
#ifndef CEEMS_REDFISH_JSON_H
#define CEEMS_REDFISH_JSON_H

#include <stddef.h>
#include <stdint.h>

#include "src/libutil/errmsg.h"

#define REDFISH_PATH_MAX 256

enum redfish_resource {
	REDFISH_ENVIRONMENT, /* EnvironmentMetrics */
	REDFISH_POWER,	     /* Power, deprecated by the former and still what most have */
};

enum redfish_kind {
	REDFISH_JOULES, /* EnergyJoules: a counter */
	REDFISH_WATTS,	/* PowerWatts, PowerConsumedWatts */
	REDFISH_KWH,	/* EnergykWh: a counter too, but one whose step may be 3.6 MJ */
};
#define REDFISH_KINDS 3
const char *redfish_kind_name(enum redfish_kind kind); /* "EnergyJoules", ... */

struct redfish_values {
	unsigned int has; /* 1 << enum redfish_kind */
	uint64_t energy_uj;	/* of EnergyJoules */
	uint64_t kwh_uj;	/* of EnergykWh */
	uint64_t power_mw;
};

/*
 * The path that the member NAME (of an object below it with '.': "Links.Sessions") links to.
 * -ENOENT: there is none; -EINVAL: no JSON, or a link that does not stay within /redfish/.
 */
int redfish_json_link(const char *text, size_t len, const char *name, char *ret, size_t size,
		      struct errmsg *err);

/* The path of member INDEX of a collection; errors as above. */
int redfish_json_member(const char *text, size_t len, size_t index, char *ret, size_t size,
			struct errmsg *err);

/*
 * What RESOURCE says. -ENODATA: nothing now (null, no such member); -EINVAL: no JSON; -ERANGE: a
 * value that no node can have, or of another type. One bad value spoils the answer.
 */
int redfish_json_values(const char *text, size_t len, enum redfish_resource resource,
			struct redfish_values *ret, struct errmsg *err);

/* "/redfish/..." of printable ASCII, which cannot lead to another host or out of a header. */
int redfish_json_check_path(const char *path, struct errmsg *err);

#endif
