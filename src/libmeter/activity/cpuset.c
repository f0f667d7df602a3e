/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libmeter/activity/cpuset.h"

#include <errno.h>
#include <string.h>

#include "src/libmeter/activity/cgmount.h"
#include "src/libutil/fileio.h"
#include "src/libutil/parse.h"
#include "src/libutil/util.h"

int cpuset_parse(const char *text, uint32_t ncpus, uint32_t *ret, size_t *ret_n)
{
	uint64_t next = 0; /* lowest number that may follow: the kernel lists each CPU once, in order */
	uint64_t from, to;
	size_t n = 0;
	int rc;

	while ((rc = parse_next_range(&text, &from, &to)) > 0) {
		if (from < next)
			return -EINVAL;
		for (next = from; next <= to && next < ncpus; next++)
			ret[n++] = (uint32_t)next;
		next = to == UINT64_MAX ? to : to + 1;
	}
	if (rc < 0)
		return rc;
	*ret_n = n;
	return 0;
}

/*
 * Opens the cpuset file. With v2, Slurm puts the tasks into a subfolder of the step, and limits
 * only that.
 */
static int open_cpuset(const struct cgroup_paths *paths)
{
	static const struct {
		const char *controller, *file;
	} t[] = {
		{ NULL, "user/cpuset.cpus.effective" },
		{ NULL, "cpuset.cpus.effective" },
		{ "cpuset", "cpuset.effective_cpus" },
		{ "cpuset", "cpuset.cpus" },
	};
	int fd = -ENOENT;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t) && fd < 0; i++)
		fd = cgmount_open_step(t[i].controller, t[i].controller ? cgroup_paths_v1(paths) : paths->v2,
				       t[i].file);
	return fd;
}

int cpuset_of_step(const struct cgroup_paths *paths, uint32_t ncpus, uint32_t *ret, size_t *ret_n)
{
	_cleanup_close_ int fd = open_cpuset(paths);
	char buf[4096];
	ssize_t n;

	if (fd < 0)
		return fd;
	n = fileio_pread_all(fd, buf, sizeof(buf));
	if (n < 0)
		return (int)n;
	return cpuset_parse(buf, ncpus, ret, ret_n);
}
