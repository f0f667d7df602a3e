/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fsio.h - I/O of a step by file system (--ceems-perf=io). It reads the rows that bpf/fsio.bpf.h
 * fills. A device is named by its mount point in the job's mount namespace. If the mounts of a
 * namespace are not known, the name that the BPF program saw is used (struct probes_fs_mount).
 */
#ifndef CEEMS_FSIO_H
#define CEEMS_FSIO_H

#include "src/libcore/detail.h"
#include "src/libcore/settings.h"
#include "src/libmeter/activity/probes.h"
#include "src/libutil/must_check.h"

struct fsio;

/*
 * Call it after probes_hold(PROBES_IO) and probes_register(). P must stay open until fsio_close().
 */
int fsio_open(struct probes *p, uint32_t slot, const struct settings *s, struct fsio **ret,
	      struct errmsg *err) _must_check_;
void fsio_close(struct fsio *io);

/* Adds the mount points that process PID sees to those known. Cheap if there are no new ones. */
void fsio_learn(struct fsio *io, pid_t pid);

/*
 * Reads the counts: DETAIL gets one entry per file system, the largest first and "others" last.
 * VALUES gets the metrics that the setting Filesystems names.
 */
int fsio_read(struct fsio *io, struct values *values, struct step_detail *detail);

/* Sets REASON for all metrics that fsio_read() would set. */
void fsio_miss(struct values *values, enum metric_reason reason);

#endif
