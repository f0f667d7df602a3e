/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libmeter/sensor/drm.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "src/libutil/parse.h"

#define RENDER "renderD"

int drm_render_minor(const char *root, const char *device, uint64_t *ret)
{
	char path[PATH_MAX];
	const struct dirent *e;
	int rc = -ENODEV;
	DIR *d;

	if ((size_t)snprintf(path, sizeof(path), "%s%s/drm", strcmp(root, "/") ? root : "", device) >=
	    sizeof(path))
		return -ENAMETOOLONG;
	d = opendir(path);
	if (!d)
		return -errno;
	while (rc < 0 && (e = readdir(d)))
		if (!strncmp(e->d_name, RENDER, strlen(RENDER)) &&
		    parse_u64(e->d_name + strlen(RENDER), ret) == 0 && *ret >= DRM_FIRST_RENDER_NODE)
			rc = 0;
	(void)closedir(d);
	return rc;
}
