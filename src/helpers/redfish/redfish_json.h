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

/* Paths of resources; an empty list is zeroed. */
struct redfish_paths {
	char (*path)[REDFISH_PATH_MAX];
	size_t n;
};

/* Adds a copy of PATH, unless the list has it; *RET (may be NULL) is its index. -ENOMEM. */
int redfish_paths_add(struct redfish_paths *p, const char *path, size_t *ret) _must_check_;
void redfish_paths_free(struct redfish_paths *p);
/* Whether A and B are the same, with or without a '/' at the end. */
bool redfish_path_is_same(const char *a, const char *b);

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
	REDFISH_POINTED,  /* what PowerAt of RedfishConf names, in watts */
};
#define REDFISH_KINDS 6
const char *redfish_kind_name(enum redfish_kind kind); /* "EnergyJoules", ... */
bool redfish_kind_is_power(enum redfish_kind kind);
enum redfish_resource redfish_kind_resource(enum redfish_kind kind);

/* The most entries of PowerControl, one bit each. */
#define REDFISH_CONTROLS 16

struct redfish_values {
	unsigned int has;	       /* 1 << enum redfish_kind */
	unsigned int unknown;	       /* the same bits: shown, but null, 0 or impossible now */
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
 * Adds all links in the array NAME ("Members", "Links.Chassis") to RET. An answer without NAME has none. An
 * object in place of the array counts as an array with this one entry. Entries that are not links are left
 * out: *RET_SKIPPED is their number, and SKIPPED says which or how many. -EINVAL: not JSON.
 */
int redfish_json_links(const char *text, size_t len, const char *name, struct redfish_paths *ret,
		       size_t *ret_skipped, struct errmsg *skipped, struct errmsg *err) _must_check_;

/* Reads the path of a collection's next page. -ENOENT: this is the last; -EINVAL: as redfish_json_link(). */
int redfish_json_next(const char *text, size_t len, char *ret, size_t size, struct errmsg *err) _must_check_;

/*
 * The number "Members@odata.count" of a collection; -1: it does not tell. *RET_LISTED is how many entries
 * Members has here.
 */
long redfish_json_count(const char *text, size_t len, size_t *ret_listed);

/*
 * Reads the text NAME; a number selects an array's entry ("PowerControl.0.Name"). Bytes other than
 * printable ASCII are replaced. False: there is none, and RET is "".
 */
bool redfish_json_text(const char *text, size_t len, const char *name, char *ret, size_t size);

/*
 * Reads the values of RESOURCE. With several CONTROLS (bits of entries of PowerControl), those that
 * all have are added up. A number may be written as text. -ENODATA: no value now (null, or no such
 * member); -EINVAL: not JSON; -ERANGE: only values that are impossible or of another type. If there are
 * others, 0 is returned, and ERR names the impossible one.
 */
int redfish_json_values(const char *text, size_t len, enum redfish_resource resource, unsigned int controls,
			struct redfish_values *ret, struct errmsg *err) _must_check_;
/*
 * How many entries PowerControl has; one object in place of the array is one. *RET_FIRST is the first:
 * behind a null, the only one that is there.
 */
size_t redfish_json_controls(const char *text, size_t len, unsigned int *ret_first);

/*
 * Reads the watts at the JSON pointer (RFC 6901) POINTER, or at its member Reading, as *RET mW. -ENODATA:
 * null, 0 or nothing there; -ERANGE; -EINVAL.
 */
int redfish_json_pointed(const char *text, size_t len, const char *pointer, uint64_t *ret,
			 struct errmsg *err) _must_check_;
/*
 * Looks in the makers' parts (Oem) for a number that may be the power now. Writes its JSON pointer and value.
 */
bool redfish_json_find_oem(const char *text, size_t len, char *ret_pointer, size_t size, uint64_t *ret_mw);

/*
 * Copies PATH and writes as %XX what an address may not contain: blanks and bytes other than ASCII.
 * -ENAMETOOLONG: it does not fit.
 */
int redfish_json_encode(const char *path, char *ret, size_t size) _must_check_;

/*
 * Checks that PATH is "/redfish/..." in printable ASCII, so that it cannot lead to another host or
 * end an HTTP header.
 */
int redfish_json_check_path(const char *path, struct errmsg *err);

#endif
