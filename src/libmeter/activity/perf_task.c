/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libmeter/activity/perf_set.h"

#include <errno.h>

int perf_task_open(struct perf_set *s, const pid_t *pid, size_t n)
{
	size_t i;
	int rc;

	for (i = 0; i < n; i++) {
		struct perf_set_target t = { .pid = pid[i], .cpu = -1, .is_inherited = true };

		rc = perf_set_add(s, &t);
		if (rc < 0)
			return rc;
	}
	return 0;
}
