/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobcomp/dbd_saved.h"

#include <sys/stat.h>

uint64_t dbd_saved_until(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0 || !st.st_size || st.st_mtim.tv_sec < 0)
		return 0;
	if (st.st_atim.tv_sec > st.st_mtim.tv_sec ||
	    (st.st_atim.tv_sec == st.st_mtim.tv_sec && st.st_atim.tv_nsec > st.st_mtim.tv_nsec))
		return 0;
	return (uint64_t)st.st_mtim.tv_sec;
}
