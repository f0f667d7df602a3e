/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libmeter/activity/perf_set.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "src/libmeter/activity/cpuset.h"
#include "src/libmeter/activity/cputime.h"
#include "src/libutil/util.h"

/*
 * A step that may use all CPUs has no cpuset of its own, so all online CPUs are taken. A task's CPU
 * mask is not used, since the task can change it.
 */
int perf_cgroup_cpus(pid_t pid, uint32_t **ret, size_t *ret_n)
{
	struct cgroup_paths paths;
	long ncpus = sysconf(_SC_NPROCESSORS_CONF);
	_cleanup_free_ uint32_t *cpu = NULL;
	size_t n = 0;
	uint32_t i;
	int rc;

	if (ncpus <= 0)
		return -ENODEV;
	cpu = calloc((size_t)ncpus, sizeof(*cpu));
	if (!cpu)
		return -ENOMEM;
	rc = cputime_find_cgroups(pid, &paths);
	if (rc == 0)
		rc = cpuset_of_step(&paths, (uint32_t)ncpus, cpu, &n);
	if (rc < 0 || !n)
		for (i = 0, n = 0; i < (uint32_t)ncpus; i++)
			cpu[n++] = i;
	*ret_n = n;
	*ret = TAKE_PTR(cpu);
	return 0;
}

int perf_cgroup_open(struct perf_set *s, int cgroup_fd, pid_t pid)
{
	_cleanup_free_ uint32_t *cpu = NULL;
	bool is_any = false;
	size_t i, n;
	int rc = perf_cgroup_cpus(pid, &cpu, &n);

	for (i = 0; i < n && rc == 0; i++) {
		struct perf_set_target t = { .pid = cgroup_fd,
					     .cpu = (int)cpu[i],
					     .flags = PERF_FLAG_PID_CGROUP };

		rc = perf_set_try(s, &t);
		if (rc == 0)
			rc = perf_set_add(s, &t);
		is_any |= rc == 0;
		if (rc == -ENODEV)
			rc = 0; /* the CPU is offline, so the step does not run there */
	}
	return rc < 0 ? rc : is_any ? 0 : -ENODEV;
}

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
