/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The power of the node from its BMC, by IPMI; ceems-ipmi asks it. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "src/libcore/settings.h"
#include "src/libmeter/sensor/helper_source.h"

static int ipmi_open(const struct source_env *env, struct source **ret, struct errmsg *err)
{
	const struct helper_interval interval = helper_source_interval(env);
	const char *root = strcmp(env->sys_root, "/") ? env->sys_root : "";
	char device[PATH_MAX];
	const struct helper_source_setup setup = {
		.id = SOURCE_IPMI,
		.program = "ceems-ipmi",
		.args = { "--device", device, "--sensor", env->settings->ipmi_sensor, "--interval-ms",
			  interval.text },
		.deadline_ns = HELPER_DEADLINE_NS + HELPER_GAP_INTERVALS * env->slow_interval_ns,
		.first_ns = HELPER_FIRST_NS,
		.gap_ns = HELPER_GAP_INTERVALS * env->slow_interval_ns,
		.stale_ns = HELPER_GAP_INTERVALS * env->slow_interval_ns,
		.lag_ns = env->slow_interval_ns,
	};

	if ((size_t)snprintf(device, sizeof(device), "%s/dev/ipmi0", root) >= sizeof(device))
		return errmsg_errno(err, -ENAMETOOLONG, "SysRoot");
	/* the site must load the modules */
	if (access(device, F_OK) < 0)
		return errmsg_set(err, -ENODEV, "no %s (kernel modules ipmi_si, ipmi_devintf)", device);
	return helper_source_open(&setup, env, ret, err);
}

HELPER_SOURCE(ipmi, .id = SOURCE_IPMI);
