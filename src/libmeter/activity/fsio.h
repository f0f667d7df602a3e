/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fsio.h - I/O of a step by file system (--ceems-perf=io). Reads the rows that bpf/fsio.bpf.h
 * fills, and names each device by its mount point in the job's own mount namespace. If the mounts of
 * a namespace are not known, a file system there has the name that the BPF program saw (struct
 * probes_fs_mount).
 */
#ifndef CEEMS_FSIO_H
#define CEEMS_FSIO_H

#include "src/libcore/detail.h"
#include "src/libcore/settings.h"
#include "src/libmeter/activity/probes.h"

struct fsio;

/* After probes_hold(PROBES_IO) and probes_register(). P is borrowed until fsio_close(). */
int fsio_open(struct probes *p, uint32_t slot, const struct settings *s, struct fsio **ret,
	      struct errmsg *err);
void fsio_close(struct fsio *io);

/* Learns the mount points that process PID sees; those learned before stay. Cheap when nothing is new. */
void fsio_learn(struct fsio *io, pid_t pid);

/* DETAIL's fs, biggest first and "others" last, and the metrics by the site's names (Filesystems). */
int fsio_read(struct fsio *io, struct values *values, struct step_detail *detail);

/* The metrics that fsio_read() would set get REASON. */
void fsio_miss(struct values *values, enum metric_reason reason);

#endif
