/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file that the site's own meter writes; ceems-external reads it at each tick. */
#include <errno.h>

#include "src/libcore/settings.h"
#include "src/libmeter/sensor/helper_source.h"
#include "src/libmeter/sensor/integrate.h"

static int external_open(const struct source_env *env, struct source **ret, struct errmsg *err)
{
	const struct helper_source_setup setup = {
		.id = SOURCE_EXTERNAL,
		.program = "ceems-external",
		.args = { env->settings->external_source },
		.is_asked = true,
		.deadline_ns = HELPER_DEADLINE_NS,
		.first_ns = HELPER_FIRST_NS,
		.gap_ns = INTEGRATE_GAP_NS,
		.stale_ns = INTEGRATE_GAP_NS,
		.lag_ns = INTEGRATE_GAP_NS, /* older values are refused */
	};

	if (!env->settings->external_source[0])
		return errmsg_set(err, -ENODEV, "ExternalSource is not set");
	return helper_source_open(&setup, env, ret, err);
}

HELPER_SOURCE(external, .id = SOURCE_EXTERNAL);
