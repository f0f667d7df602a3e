/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * drm.h - which render node a GPU has.
 */
#ifndef CEEMS_DRM_H
#define CEEMS_DRM_H

#include <stdint.h>

#include "src/libutil/must_check.h"

#define DRM_FIRST_RENDER_NODE 128

/*
 * Finds the number of the render node (128 in renderD128) of the device whose folder of sysfs is
 * "<ROOT><DEVICE>". ROOT is SysRoot. -ENODEV: it has none; another -errno: the folder cannot be read.
 */
int drm_render_minor(const char *root, const char *device, uint64_t *ret) _must_check_;

#endif
