/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libmeter/sensor/gpu_source.h"

#include <errno.h>
#include <string.h>

#include "src/libmeter/sensor/integrate.h"
#include "src/libutil/clock.h"
#include "src/libutil/fileio.h"

/*
 * How long slurmd's start waits for the first answer: without persistence mode, the driver needs a second or
 * two.
 */
#define FIRST_NS (3 * NSEC_PER_SEC)

/* A sample that is older says too little about jobs that have begun since. */
#define STALE_NS (10 * NSEC_PER_SEC)

/*
 * How long an answer about a GPU is used again, since the driver keeps a CPU busy while it answers. The
 * counter of an H100 changes every 100 ms (STEP_NS).
 */
#define FRESH_NS (50 * NSEC_PER_MSEC)
#define STEP_NS (100 * NSEC_PER_MSEC)

int gpu_source_open(enum source_id id, const char *library, const char *trace, const struct source_env *env,
		    struct source **ret, struct errmsg *err)
{
	const struct helper_source_setup setup = {
		.id = id,
		.program = "ceems-gpu",
		.args = { source_name(id), library, env->sys_root ? env->sys_root : "/" },
		.keeps_env = true,
		.is_asked = true,
		.fresh_ns = FRESH_NS,
		.deadline_ns = HELPER_DEADLINE_NS,
		.first_ns = FIRST_NS,
		.gap_ns = INTEGRATE_GAP_NS,
		.stale_ns = STALE_NS,
		.lag_ns = FRESH_NS + STEP_NS,
	};

	if (!strchr(library, '/')) {
		_cleanup_close_ int fd = fileio_open_at_root(env->sys_root, trace);

		if (fd < 0)
			return errmsg_set(err, -ENODEV, "no %s", trace);
	}
	return helper_source_open(&setup, env, ret, err);
}
