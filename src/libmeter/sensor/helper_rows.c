/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * helper_rows.c - the sources that a helper program reads (helper_source.h), each with the
 * program and its arguments.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "src/libcore/settings.h"
#include "src/libmeter/sensor/helper_source.h"
#include "src/libmeter/sensor/integrate.h"
#include "src/libutil/clock.h"
#include "src/libutil/fileio.h"

/* How long slurmd's start waits for the first answer of a sensor; most answer in a tenth of that time. */
#define FIRST_NS (2 * NSEC_PER_SEC)
/* The same for GPUs: without persistence mode, the driver needs a second or two for its first answer. */
#define GPU_FIRST_NS (3 * NSEC_PER_SEC)

/*
 * After so long without an answer, a helper is killed. Its own time limits are shorter; the
 * longest is for a BMC's SDR.
 */
#define DEADLINE_NS (180 * NSEC_PER_SEC)

/* If a BMC misses some answers, power is interpolated, over a gap of at most so many intervals. */
#define GAP_INTERVALS 4

/* How long ceems-redfish pauses after a failure. */
#define REDFISH_PAUSE_NS (300 * NSEC_PER_SEC)

/* A sample that is older says too little about jobs that have begun since. */
#define STALE_NS (10 * NSEC_PER_SEC)

/*
 * How long an answer about a GPU is used again, since the driver keeps a CPU busy while it answers. The
 * counter of an H100 changes every 100 ms (GPU_STEP_NS).
 */
#define GPU_FRESH_NS (50 * NSEC_PER_MSEC)
#define GPU_STEP_NS (100 * NSEC_PER_MSEC)

struct interval {
	char text[24];
};

static struct interval interval_ms(const struct source_env *env)
{
	struct interval i;

	(void)snprintf(i.text, sizeof(i.text), "%" PRIu64, env->slow_interval_ns / NSEC_PER_MSEC);
	return i;
}

/* --- BMCs: the helper sends a value from time to time ----------------------------------------- */

static int ipmi_open(const struct source_env *env, struct source **ret, struct errmsg *err)
{
	const struct interval interval = interval_ms(env);
	const char *root = strcmp(env->sys_root, "/") ? env->sys_root : "";
	char device[PATH_MAX];
	const struct helper_source_setup setup = {
		.id = SOURCE_IPMI,
		.program = "ceems-ipmi",
		.args = { "--device", device, "--sensor", env->settings->ipmi_sensor, "--interval-ms",
			  interval.text },
		.deadline_ns = DEADLINE_NS + GAP_INTERVALS * env->slow_interval_ns,
		.first_ns = FIRST_NS,
		.gap_ns = GAP_INTERVALS * env->slow_interval_ns,
		.stale_ns = GAP_INTERVALS * env->slow_interval_ns,
		.lag_ns = env->slow_interval_ns,
	};

	if ((size_t)snprintf(device, sizeof(device), "%s/dev/ipmi0", root) >= sizeof(device))
		return errmsg_errno(err, -ENAMETOOLONG, "SysRoot");
	/* the site must load the modules */
	if (access(device, F_OK) < 0)
		return errmsg_set(err, -ENODEV, "no %s (kernel modules ipmi_si, ipmi_devintf)", device);
	return helper_source_open(&setup, env, ret, err);
}

static int redfish_open(const struct source_env *env, struct source **ret, struct errmsg *err)
{
	const struct interval interval = interval_ms(env);
	const struct helper_source_setup setup = {
		.id = SOURCE_REDFISH,
		.program = "ceems-redfish",
		.args = { "--interval-ms", interval.text, "--sys-root", env->sys_root ? env->sys_root : "",
			  env->settings->redfish_conf },
		.deadline_ns = DEADLINE_NS + REDFISH_PAUSE_NS + env->slow_interval_ns,
		.first_ns = FIRST_NS,
		.gap_ns = GAP_INTERVALS * env->slow_interval_ns,
		.stale_ns = GAP_INTERVALS * env->slow_interval_ns,
		.lag_ns = env->slow_interval_ns,
	};

	if (!env->settings->redfish_conf[0])
		return errmsg_set(err, -ENODEV, "RedfishConf is not set");
	return helper_source_open(&setup, env, ret, err);
}

/* --- local sensors, which are asked at each tick ------------------------------------------ */

static int external_open(const struct source_env *env, struct source **ret, struct errmsg *err)
{
	const struct helper_source_setup setup = {
		.id = SOURCE_EXTERNAL,
		.program = "ceems-external",
		.args = { env->settings->external_source },
		.is_asked = true,
		.deadline_ns = DEADLINE_NS,
		.first_ns = FIRST_NS,
		.gap_ns = INTEGRATE_GAP_NS,
		.stale_ns = INTEGRATE_GAP_NS,
		.lag_ns = INTEGRATE_GAP_NS, /* older values are refused */
	};

	if (!env->settings->external_source[0])
		return errmsg_set(err, -ENODEV, "ExternalSource is not set");
	return helper_source_open(&setup, env, ret, err);
}

static int hwmon_open(const struct source_env *env, struct source **ret, struct errmsg *err)
{
	const struct interval interval = interval_ms(env);
	const struct helper_source_setup setup = {
		.id = SOURCE_HWMON,
		.program = "ceems-hwmon",
		.args = { "--interval-ms", interval.text },
		.is_asked = true,
		.deadline_ns = DEADLINE_NS,
		.first_ns = FIRST_NS,
		.gap_ns = INTEGRATE_GAP_NS,
		.stale_ns = INTEGRATE_GAP_NS,
		.lag_ns = env->slow_interval_ns, /* for slow meters; others are read at the tick */
	};

	/* libsensors can read /sys only */
	if (strcmp(env->sys_root, "/") != 0 && env->sys_root[0])
		return errmsg_set(err, -ENODEV, "libsensors reads /sys only, SysRoot is %s", env->sys_root);
	return helper_source_open(&setup, env, ret, err);
}

/*
 * Opens LIBRARY if it is a path, as in tests, or if the driver's file TRACE is below SysRoot. So a
 * node without a GPU does not look for the library. TRACE is not a device, since opening one would
 * wake the GPU.
 */
static int gpu_open(enum source_id id, const char *library, const char *trace, const struct source_env *env,
		    struct source **ret, struct errmsg *err)
{
	const struct helper_source_setup setup = {
		.id = id,
		.program = "ceems-gpu",
		.args = { source_name(id), library },
		.keeps_env = true,
		.is_asked = true,
		.fresh_ns = GPU_FRESH_NS,
		.deadline_ns = DEADLINE_NS,
		.first_ns = GPU_FIRST_NS,
		.gap_ns = INTEGRATE_GAP_NS,
		.stale_ns = STALE_NS,
		.lag_ns = GPU_FRESH_NS + GPU_STEP_NS,
	};

	if (!strchr(library, '/')) {
		_cleanup_close_ int fd = fileio_open_at_root(env->sys_root, trace);

		if (fd < 0)
			return errmsg_set(err, -ENODEV, "no %s", trace);
	}
	return helper_source_open(&setup, env, ret, err);
}

static int nvml_open(const struct source_env *env, struct source **ret, struct errmsg *err)
{
	return gpu_open(SOURCE_NVML, env->nvml_library, "/proc/driver/nvidia/version", env, ret, err);
}

static int rocm_open(const struct source_env *env, struct source **ret, struct errmsg *err)
{
	return gpu_open(SOURCE_ROCM, env->rocm_library, "/sys/class/kfd/kfd/topology/generation_id", env, ret,
			err);
}

/* ------------------------------------------------------------------------------------------ */

#define HELPER_ROW(source, ...)                                                         \
	const struct source_ops source_##source = { .name = #source,                    \
						    .logs_failures = true,              \
						    .open = source##_open,              \
						    .read = helper_source_read,         \
						    .describe = helper_source_describe, \
						    .why = helper_source_why,           \
						    .notes = helper_source_notes,       \
						    .lag = helper_source_lag,           \
						    .close = helper_source_close,       \
						    __VA_ARGS__ }

HELPER_ROW(external, .id = SOURCE_EXTERNAL, .node_rank = 1);
HELPER_ROW(hwmon, .id = SOURCE_HWMON, .node_rank = 3);
HELPER_ROW(nvml, .id = SOURCE_NVML, .gpus = helper_source_gpus, .instances = helper_source_instances,
	   .slices = helper_source_slices);
HELPER_ROW(rocm, .id = SOURCE_ROCM, .gpus = helper_source_gpus);
HELPER_ROW(redfish, .id = SOURCE_REDFISH, .node_rank = 4);
HELPER_ROW(ipmi, .id = SOURCE_IPMI, .node_rank = 5);
