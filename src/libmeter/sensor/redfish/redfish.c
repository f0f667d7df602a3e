/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The power of the node from its BMC, by Redfish; ceems-redfish asks it. */
#include <errno.h>

#include "src/libcore/settings.h"
#include "src/libmeter/sensor/helper_source.h"
#include "src/libutil/clock.h"

/* How long ceems-redfish pauses after a failure. */
#define PAUSE_NS (300 * NSEC_PER_SEC)

static int redfish_open(const struct source_env *env, struct source **ret, struct errmsg *err)
{
	const struct helper_interval interval = helper_source_interval(env);
	const struct helper_source_setup setup = {
		.id = SOURCE_REDFISH,
		.program = "ceems-redfish",
		.args = { "--interval-ms", interval.text, "--sys-root", env->sys_root ? env->sys_root : "",
			  env->settings->redfish_conf },
		.deadline_ns = HELPER_DEADLINE_NS + PAUSE_NS + env->slow_interval_ns,
		.first_ns = HELPER_FIRST_NS,
		.gap_ns = HELPER_GAP_INTERVALS * env->slow_interval_ns,
		.stale_ns = HELPER_GAP_INTERVALS * env->slow_interval_ns,
		.lag_ns = env->slow_interval_ns,
	};

	if (!env->settings->redfish_conf[0])
		return errmsg_set(err, -ENODEV, "RedfishConf is not set");
	return helper_source_open(&setup, env, ret, err);
}

HELPER_SOURCE(redfish, .id = SOURCE_REDFISH);
