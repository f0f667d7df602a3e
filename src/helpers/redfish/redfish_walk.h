/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * redfish_walk.h - reads the node's power or energy from a BMC, again and again: of the chassis that
 * redfish_tree.h finds, or of what PowerAt names. All chassis are read by the same property: the first in
 * enum redfish_kind that every one of them shows. If EnergyJoules stands still although PowerWatts beside it
 * shows power, PowerWatts is read instead. If one of them has no value, there is no sum. When a
 * chassis could not be read during the search, the search is repeated, after ever longer pauses.
 */
#ifndef CEEMS_REDFISH_WALK_H
#define CEEMS_REDFISH_WALK_H

#include <stdint.h>

#include "src/helpers/redfish/redfish_client.h"
#include "src/helpers/redfish/redfish_json.h"
#include "src/libutil/must_check.h"

struct redfish_walk;

struct redfish_sample {
	uint64_t t_ns;		/* CLOCK_MONOTONIC, when the answer was there */
	enum redfish_kind kind; /* stays, as long as the resources do */
	uint64_t value;		/* uJ or, of power, mW */
	uint64_t set;		/* another number: other chassis are added up than before */
	bool is_partial;	/* a chassis that may belong to the node could not be read */
	uint64_t window_ns;	/* length of the average in ns; 0: not an average, or unknown */
};

/* As redfish_client_create(). UUID is this machine's; "": unknown. */
int redfish_walk_create(const struct redfish_conf *conf, const char *uuid, int stop_fd,
			struct redfish_walk **ret, struct errmsg *err) _must_check_;

/*
 * Reads the node's power or energy. Errors are those of redfish_client_get() and
 * redfish_json_values(); -ENODEV: no chassis of this node shows power or energy, or the node's
 * system is unknown.
 */
int redfish_walk_ask(struct redfish_walk *w, struct redfish_sample *ret, struct errmsg *err) _must_check_;

/*
 * Calls TELL with a line for all that was left out, and one for each chassis and each entry of
 * PowerControl, if they were searched since the last call. The line says whether the power of that chassis
 * or entry is counted.
 */
void redfish_walk_tell(struct redfish_walk *w, void (*tell)(const char *line));
/*
 * Writes what was read for the last good answer, such as "PowerConsumedWatts of chassis Node
 * PowerControl[0]".
 */
void redfish_walk_describe(const struct redfish_walk *w, char *buf, size_t size);

/* As redfish_client_listen(). */
void redfish_walk_listen(struct redfish_walk *w, redfish_client_heard *heard);

/* Makes the next redfish_walk_ask() search again, as when the pause is over; for tests. */
void redfish_walk_search_now(struct redfish_walk *w);

void redfish_walk_destroy(struct redfish_walk *w);

#endif
