/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * redfish_walk.h - from the root of a BMC's service to the resource that shows the node's power,
 * once; then that resource again and again.
 */
#ifndef CEEMS_REDFISH_WALK_H
#define CEEMS_REDFISH_WALK_H

#include <stdint.h>

#include "src/helpers/redfish_client.h"
#include "src/helpers/redfish_json.h"

struct redfish_walk;

struct redfish_sample {
	uint64_t t_ns; /* CLOCK_MONOTONIC, when the answer was there */
	enum redfish_kind kind; /* stays, as long as the resource does */
	uint64_t value; /* uJ or, of REDFISH_WATTS, mW */
};

/* As redfish_client_create(). */
int redfish_walk_create(const struct redfish_conf *conf, int stop_fd, struct redfish_walk **ret,
			struct errmsg *err);

/*
 * Of several kinds the first in the order of enum redfish_kind is taken. Errors are those of
 * redfish_client_get() and redfish_json_values(), and -ENODEV: no chassis shows power or energy.
 */
int redfish_walk_ask(struct redfish_walk *w, struct redfish_sample *ret, struct errmsg *err);

void redfish_walk_destroy(struct redfish_walk *w);

#endif
