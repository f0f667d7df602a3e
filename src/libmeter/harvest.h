/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * harvest.h - slurmstepd's side of the BPF harvest: a few bpf(2) commands on maps that the loader
 * (ceems-bpf, started by slurmd) pinned. No libbpf here. The contract of the maps is
 * bpf/harvest.h, shared with the kernel side.
 *
 * Who keeps the programs in the kernel: a user (a slurmd that asked for them) or a row (a step).
 * Each is recorded with pid and start time, so that the dead do not count. slurmd withdraws when
 * its sampler ends; a step that releases its row and finds nobody left removes the pins, and
 * with them everything, so that nothing stays when Slurm is gone.
 */
#ifndef CEEMS_HARVEST_H
#define CEEMS_HARVEST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/libjob/metric.h"
#include "src/libutil/errmsg.h"

struct harvest;

/*
 * DIR is BpfDir. -ENOENT: not loaded, or DIR is empty; -EPERM, -EACCES; -EPROTO: maps of another
 * ABI. All of them are REASON_NO_BPF (the last three worth a log line).
 */
int harvest_open(const char *dir, struct harvest **ret, struct errmsg *err);
void harvest_close(struct harvest *h); /* keeps rows as they are */

/*
 * Counts the tasks in the cgroups with these ids (inode numbers of the v2 and the v1 freezer
 * folder; 0: none) and below them, from now on, in a row of their own. Threads of the calling
 * process are left out, wherever they are. Rows are numbered from 1. -EINVAL: no id, or that of a
 * hierarchy's root; -ENOSPC: table full (and counted).
 */
int harvest_register(struct harvest *h, uint64_t cgroup_v2_id, uint64_t cgroup_v1_id,
		     uint32_t *ret_row);

/*
 * Ended and living tasks of the row since harvest_register(): the io metrics, cpu_time,
 * context_switches and page_faults of FIGURES. A value that is there already and was not put
 * there through this handle stays (perf's, or the cgroup's CPU time: cpu_time here lacks
 * what a task used after its last tick).
 *
 * Exact when no task is left; while they run it lacks those that are just exiting. Costs about
 * 1 us per task of the node: for ends of steps and polls, not for every tick.
 */
int harvest_read(struct harvest *h, uint32_t row, struct figures *figures);

/* The io, cpu_time, context_switches and page_faults that have no value get REASON. */
void harvest_miss(struct figures *figures, enum metric_reason reason);

/* May remove the pins, see above. */
void harvest_release(struct harvest *h, uint32_t row);

/* --- the loader's side ------------------------------------------------------------------- */

/* Keeps the programs loaded as long as process PID lives, or until harvest_user_remove(). */
int harvest_user_add(struct harvest *h, pid_t pid);
int harvest_user_remove(struct harvest *h, pid_t pid);

struct harvest_census {
	uint32_t users, rows; /* alive */
	uint32_t reaped;      /* users and rows of dead processes that were removed */
	uint64_t full;	      /* registrations refused so far */
	uint32_t features;    /* HARVEST_HAS_* */
};
/* REAP: with harvest_lock() held, also removes what dead processes left. */
int harvest_census(struct harvest *h, bool reap, struct harvest_census *ret);

/*
 * Serialises loading and unloading: a lock on the folder DIR (created), as long as the fd is
 * open. -EWOULDBLOCK when WAIT is false.
 */
int harvest_lock(const char *dir, bool wait, int *ret_fd, struct errmsg *err);

/* Unpins everything below DIR/SUB and removes DIR too if nothing else is in it. */
void harvest_unpin(const char *dir, const char *sub);

#endif
