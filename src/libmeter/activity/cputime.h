/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cputime.h - CPU time of a step and of the node, in nanoseconds.
 */
#ifndef CEEMS_CPUTIME_H
#define CEEMS_CPUTIME_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/libmeter/activity/cgmount.h"
#include "src/libutil/errmsg.h"

/*
 * The open source of one step's CPU time; a reading costs one pread(2). The first of these that
 * exists is used: cpu.stat of cgroup v2; cpuacct.usage of v1; or the sum over the processes that
 * the freezer or v2 cgroup lists (/proc/PID/stat, with the children they waited for).
 */
struct cputime;

/* -ENOENT: no cgroup of the step can be read. */
int cputime_open(const struct cgroup_paths *paths, struct cputime **ret, struct errmsg *err) _must_check_;
/*
 * For steps without a cgroup: sums /proc/PID/stat over the descendants of ROOT, the step's
 * slurmstepd. A process that leaves that tree, such as a daemon whose parent ended, is no longer
 * counted. -ESRCH: ROOT is gone. -EOPNOTSUPP: the kernel lacks CONFIG_PROC_CHILDREN.
 */
int cputime_open_tree(pid_t root, struct cputime **ret, struct errmsg *err) _must_check_;
/*
 * Returns the CPU time so far; it never decreases. If the sum is smaller because a process is gone,
 * the last value is returned. -errno: the cgroup is gone.
 */
int cputime_read(struct cputime *c, uint64_t *ret_busy_ns) _must_check_;
/*
 * Reads user and system time separately. This is another read of the file, which a tick does not
 * need. -EOPNOTSUPP: the CPU time is summed over processes, which does not keep the two apart.
 */
int cputime_read_modes(struct cputime *c, uint64_t *ret_user_ns, uint64_t *ret_system_ns) _must_check_;
void cputime_close(struct cputime *c);

/*
 * Parses usage_usec in the text of a v2 cpu.stat and returns nanoseconds. The kernel has that line
 * with or without the cpu controller. -EINVAL: missing, or not a number. -ERANGE.
 */
int cputime_parse_cpu_stat(const char *text, uint64_t *ret_ns) _must_check_;
int cputime_parse_user(const char *text, uint64_t *ret_ns) _must_check_; /* user_usec of the same */

/* Reads the busy time of all CPUs since boot: /proc/stat without idle, iowait, steal and guest. */
int cputime_node(int proc_stat_fd, uint64_t *ret_busy_ns, uint32_t *ret_cpus) _must_check_;
/*
 * As cputime_node(), and also fills CPU_NS[MAX] by CPU number. Entries of CPUs that are not listed
 * (offline), or whose line is malformed, are not changed.
 */
int cputime_cpus(int proc_stat_fd, uint64_t *cpu_ns, size_t max, uint64_t *ret_busy_ns,
		 uint32_t *ret_cpus) _must_check_;

/*
 * Reads the cgroup paths of process PID. Each path ends with its last component that begins with
 * "step_". Slurm 26.05 has such a component, too, below its SLUID folders. "" if the path in that
 * hierarchy has none. Returns 0 or -errno.
 */
int cputime_find_cgroups(pid_t pid, struct cgroup_paths *ret) _must_check_;

#endif
