/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cputime.h - CPU time of a step and of the node, in nanoseconds.
 */
#ifndef CEEMS_CPUTIME_H
#define CEEMS_CPUTIME_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/libutil/errmsg.h"

/*
 * Where a step's CPU time is read; opened once per step, one pread per tick. In this order:
 * cgroup v2 cpu.stat, v1 cpuacct.usage, the processes listed in the freezer or v2 cgroup
 * (/proc/PID/stat, with their reaped children).
 */
struct cputime;

/* The three paths as /proc/PID/cgroup shows them; "" for none. -ENOENT: none can be read. */
int cputime_open(const char *v2, const char *cpuacct, const char *freezer,
		 struct cputime **ret, struct errmsg *err);
/*
 * Where there is no cgroup: of the processes below ROOT, a step's slurmstepd, by /proc/PID/stat. What
 * leaves that tree (a daemon, when its parent ends) counts no more. -ESRCH, -EOPNOTSUPP.
 */
int cputime_open_tree(pid_t root, struct cputime **ret, struct errmsg *err);
/* Only ever grows: a smaller reading (process gone) returns the last. -errno when it is gone. */
int cputime_read(struct cputime *c, uint64_t *ret_busy_ns);
/*
 * The same time by mode, with a read of its own: a tick does not need it. -EOPNOTSUPP: CPU time is read from
 * the processes, as a sum.
 */
int cputime_read_modes(struct cputime *c, uint64_t *ret_user_ns, uint64_t *ret_system_ns);
void cputime_close(struct cputime *c);

/*
 * Parses usage_usec of a v2 group's cpu.stat, in nanoseconds. The cgroup core keeps it, with or
 * without the cpu controller. -EINVAL: missing, or not a number. -ERANGE.
 */
int cputime_parse_cpu_stat(const char *text, uint64_t *ret_ns);
int cputime_parse_user(const char *text, uint64_t *ret_ns); /* user_usec of the same */

/* Busy time of all CPUs since boot: /proc/stat without idle, iowait, steal and guest. */
int cputime_node(int proc_stat_fd, uint64_t *ret_busy_ns, uint32_t *ret_cpus);
/*
 * The same, and of each processor: CPU_NS[MAX] by its number. Entries of processors that are not
 * listed (offline) or whose line is malformed are left as they are.
 */
int cputime_cpus(int proc_stat_fd, uint64_t *cpu_ns, size_t max, uint64_t *ret_busy_ns,
		 uint32_t *ret_cpus);

/*
 * Reads the cgroup paths of process PID. Each is cut after the last component that begins with
 * "step_"; 26.05's SLUID folders keep that name for steps. "" where a hierarchy has none. Returns 0
 * or -errno.
 */
int cputime_find_cgroups(pid_t pid, char *v2, char *cpuacct, char *freezer, size_t size);

#endif
