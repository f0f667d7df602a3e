/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpu_source.h - the sources nvml and rocm: ceems-gpu loads the library of the GPU's maker.
 */
#ifndef CEEMS_GPU_SOURCE_H
#define CEEMS_GPU_SOURCE_H

#include "src/libmeter/sensor/helper_source.h"
#include "src/libutil/must_check.h"

/*
 * Opens LIBRARY if it is a path, as in tests, or if the driver's file TRACE is below SysRoot. So a
 * node without a GPU does not look for the library. TRACE is not a device, since opening one would
 * wake the GPU.
 */
int gpu_source_open(enum source_id id, const char *library, const char *trace, const struct source_env *env,
		    struct source **ret, struct errmsg *err) _must_check_;

#endif
