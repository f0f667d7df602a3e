/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libmeter/activity/frozen.h"

#include <string.h>

#include "src/libutil/fileio.h"
#include "src/libutil/util.h"

/* Whether FILE in the step's folder has LINE as one of its lines. */
static bool has_line(const char *controller, const char *path, const char *file, const char *line)
{
	_cleanup_close_ int fd = cgmount_open_step(controller, path, file);
	size_t len = strlen(line);
	const char *p;
	char text[256];

	if (fd < 0 || fileio_pread_all(fd, text, sizeof(text)) < 0)
		return false;
	for (p = text; p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL)
		if (!strncmp(p, line, len) && (p[len] == '\n' || !p[len]))
			return true;
	return false;
}

bool frozen_read(const struct cgroup_paths *paths)
{
	return has_line("freezer", paths->freezer, "freezer.state", "FROZEN") ||
	       has_line(NULL, paths->v2, "user/cgroup.events", "frozen 1");
}
