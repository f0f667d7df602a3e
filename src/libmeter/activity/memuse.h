/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * memuse.h - the memory that a step holds: anonymous pages and shared memory. Page cache is not
 * counted: which step's read filled it is chance, and the kernel drops it when memory is short.
 */
#ifndef CEEMS_MEMUSE_H
#define CEEMS_MEMUSE_H

#include <stdbool.h>
#include <stdint.h>

#include "src/libmeter/activity/cgmount.h"
#include "src/libutil/errmsg.h"

/*
 * The open source of one step's memory. The first of these that exists is used: memory.stat of
 * cgroup v2 (anon, shmem); of v1 (total_rss, total_shmem); or the processes that the freezer or v2
 * cgroup lists. Of processes, RssAnon is summed, but only the largest RssShmem is taken, since the
 * ranks of a step map the same segments.
 */
struct memuse;

/* -ENOENT: no cgroup of the step can be read. */
int memuse_open(const struct cgroup_paths *paths, struct memuse **ret, struct errmsg *err) _must_check_;
/*
 * Reads the memory held now. It costs tens of microseconds; without a memory cgroup, some more for
 * each process. That is too much for every tick. -errno: the cgroup is gone.
 */
int memuse_read(struct memuse *m, uint64_t *ret_bytes) _must_check_;
/*
 * The memory of a step by kind, in bytes. UINT64_MAX: not known. If it is read from the processes,
 * only HELD and RSS are known, and RSS includes shared memory. Costs as much as memuse_read(), on
 * v2 with swap one read more.
 */
struct memuse_kinds {
	uint64_t used, rss, cache; /* as CEEMS defines them: all charged memory; anonymous; files and shared
				      memory */
	uint64_t held;		   /* as memuse_read() returns */
	uint64_t page_cache;	   /* without shared memory, which HELD includes */
	uint64_t swap;
};
int memuse_read_kinds(struct memuse *m, struct memuse_kinds *ret) _must_check_;
/*
 * Returns true if memuse_read_kinds() must open files: a list and one file per process, if there is
 * no memory cgroup.
 */
bool memuse_opens_files(const struct memuse *m);
void memuse_close(struct memuse *m);

/*
 * Peaks and OOM kills that the kernel recorded for a step's or a job's cgroup since it was made.
 * UINT64_MAX: this kernel does not record it. memory.peak exists since Linux 5.19, memory.swap.peak
 * since 6.5; v1 has no peak of swap. -ENOENT: there is no memory cgroup.
 */
struct memuse_record {
	uint64_t peak; /* the most memory charged at one time, page cache included */
	uint64_t swap_peak;
	uint64_t oom_kills;
};
int memuse_read_record(const struct cgroup_paths *paths, struct memuse_record *ret) _must_check_;

/* Reads the memory that the whole node holds (AnonPages and Shmem) from an open /proc/meminfo. */
int memuse_node(int meminfo_fd, uint64_t *ret_bytes) _must_check_;

/*
 * Parses the text of a memory.stat as memuse_read() does; public for tests. -EINVAL: it is not one.
 */
int memuse_parse(const char *text, bool is_v2, uint64_t *ret_bytes) _must_check_;

#endif
