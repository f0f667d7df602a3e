/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * detail.h - what a step did, beyond what fits into TRES: I/O by mount point, network by protocol, a
 * user's own events. Made on the node, for the step's report.
 */
#ifndef CEEMS_DETAIL_H
#define CEEMS_DETAIL_H

#include <stdint.h>

#include "src/libjob/metric.h"
#include "src/libjob/perfwish.h"

#define DETAIL_FS 16
#define DETAIL_MOUNT_MAX 128

struct detail_fs {
	char mount[DETAIL_MOUNT_MAX]; /* as the job sees it, or "pipe", "socket"; "8:1" if nobody knows */
	char type[24];		      /* "ext4", "lustre"; empty: not known */
	uint64_t read_bytes, write_bytes;
	uint64_t read_calls, write_calls;
	uint64_t read_errors, write_errors;
};

struct detail_event {
	char name[PERFWISH_NAME_MAX];
	uint64_t value;		/* scaled to all of the time */
	uint8_t reason;		/* enum metric_reason */
	uint32_t coverage_ppm;	/* of the time it was on the PMU */
};

struct detail_net {
	char kind[8]; /* "tcp4", "udp6" ... */
	uint64_t in_packets, in_bytes, out_packets, out_bytes;
};

struct step_detail {
	uint32_t nfs, nevents, nnet;
	struct detail_fs fs[DETAIL_FS];
	struct detail_event event[PERFWISH_EVENTS];
	struct detail_net net[6];
	uint64_t lost_events;	/* of the kernel's tables while the step ran; 0: all was booked */
	char counters[96];	/* how hw was counted: "bperf, skylakex", "per task, generic" */
};

#endif
