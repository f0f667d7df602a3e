/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sensors of the kernel's hwmon drivers, by libsensors; ceems-hwmon reads them at each tick. */
#include <errno.h>
#include <string.h>

#include "src/libmeter/sensor/helper_source.h"
#include "src/libmeter/sensor/integrate.h"

static int hwmon_open(const struct source_env *env, struct source **ret, struct errmsg *err)
{
	const struct helper_interval interval = helper_source_interval(env);
	const struct helper_source_setup setup = {
		.id = SOURCE_HWMON,
		.program = "ceems-hwmon",
		.args = { "--interval-ms", interval.text },
		.is_asked = true,
		.deadline_ns = HELPER_DEADLINE_NS,
		.first_ns = HELPER_FIRST_NS,
		.gap_ns = INTEGRATE_GAP_NS,
		.stale_ns = INTEGRATE_GAP_NS,
		.lag_ns = env->slow_interval_ns, /* for slow meters; others are read at the tick */
	};

	/* libsensors can read /sys only */
	if (strcmp(env->sys_root, "/") != 0 && env->sys_root[0])
		return errmsg_set(err, -ENODEV, "libsensors reads /sys only, SysRoot is %s", env->sys_root);
	return helper_source_open(&setup, env, ret, err);
}

HELPER_SOURCE(hwmon, .id = SOURCE_HWMON);
