/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * memuse.h - the memory that a step holds by itself: anonymous pages and shared memory. Page
 * cache is not counted: it is chance which step's read filled it, and the kernel drops it when memory is short.
 */
#ifndef CEEMS_MEMUSE_H
#define CEEMS_MEMUSE_H

#include <stdbool.h>
#include <stdint.h>

#include "src/libutil/errmsg.h"

/*
 * Where it is read, in this order: memory.stat of cgroup v2 (anon, shmem), of v1 (total_rss,
 * total_shmem), the processes listed in the freezer or v2 folder (RssAnon of all, and the
 * largest RssShmem, as ranks of one step map the same segments).
 */
struct memuse;

/*
 * The paths as /proc/PID/cgroup shows them, "" for none. Slurm gives a step the same path in all v1
 * hierarchies, so either path leads to the memory folder. -ENOENT: none can be read.
 */
int memuse_open(const char *v2, const char *cpuacct, const char *freezer,
		struct memuse **ret, struct errmsg *err);
/*
 * Costs tens of microseconds, and without a memory cgroup some for each process: too much for every
 * tick. -errno: the cgroup is gone.
 */
int memuse_read(struct memuse *m, uint64_t *ret_bytes);
/*
 * What the step's cgroup has. UINT64_MAX: not known; of processes nothing but HELD and RSS is, which then has
 * shared memory in it. Costs as much, on v2 with swap one read more.
 */
struct memuse_parts {
	uint64_t used, rss, cache; /* as CEEMS has them: all that is charged; anonymous; files and shared memory */
	uint64_t held;		   /* what memuse_read() says: the working set */
	uint64_t page_cache;	   /* without shared memory, which is in HELD */
	uint64_t swap;
};
int memuse_read_parts(struct memuse *m, struct memuse_parts *ret);
/* Whether that opens files: by processes it does, the list and one for each process. */
bool memuse_opens_files(const struct memuse *m);
void memuse_close(struct memuse *m);

/*
 * What the kernel itself kept of the cgroup with these paths (a step's or its job's) since it was
 * made. UINT64_MAX: this kernel keeps none. memory.peak exists from Linux 5.19 on, memory.swap.peak
 * from 6.5 on; v1 has no peak of swap. -ENOENT: there is no memory cgroup.
 */
struct memuse_record {
	uint64_t peak; /* all that was charged at once, page cache included */
	uint64_t swap_peak;
	uint64_t oom_kills;
};
int memuse_read_record(const char *v2, const char *v1, struct memuse_record *ret);

/* The same of the whole node, from an open /proc/meminfo: AnonPages and Shmem. */
int memuse_node(int meminfo_fd, uint64_t *ret_bytes);

/* For tests: what memuse_read() makes of the text of a memory.stat. -EINVAL: not one. */
int memuse_parse(const char *text, bool is_v2, uint64_t *ret_bytes);

#endif
