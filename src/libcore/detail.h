/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * detail.h - results of a step that TRES cannot hold: I/O by mount point, network by protocol, a
 * user's own events. They are made on the node, for the step's report.
 */
#ifndef CEEMS_DETAIL_H
#define CEEMS_DETAIL_H

#include <stdint.h>

#include "src/libcore/metric.h"
#include "src/libcore/perf_request.h"

#define DETAIL_FS 16
#define DETAIL_MOUNT_MAX 128
#define DETAIL_RDMA 8

struct detail_fs {
	char mount[DETAIL_MOUNT_MAX]; /* as the job sees it, or "pipe", "socket"; "8:1" if nobody knows */
	char type[24];		      /* "ext4", "lustre"; empty: not known */
	uint64_t read_bytes, write_bytes;
	uint64_t read_calls, write_calls;
	uint64_t read_errors, write_errors;
};

struct detail_event {
	char name[PERF_REQUEST_NAME_MAX];
	uint64_t value;		/* scaled to all of the time */
	uint8_t reason;		/* enum metric_reason */
	uint32_t coverage_ppm;	/* of the time it was on the PMU */
};

struct detail_net {
	char kind[8]; /* "tcp4", "udp6" ... */
	uint64_t in_packets, in_bytes, out_packets, out_bytes;
};

/* What of a port beyond bytes is known; drivers differ in what they count. */
#define RDMA_HAS_PACKETS (1u << 0)
#define RDMA_HAS_RETRIES (1u << 1)
#define RDMA_HAS_CONGESTION (1u << 2)
#define RDMA_HAS_WAIT (1u << 3)

/* One port of the node, while the step had the node alone. */
struct detail_rdma {
	char port[40];	/* "mlx5_0/1" */
	char link[16];	/* "InfiniBand", "Ethernet" (RoCE); empty: not known */
	uint8_t reason; /* enum metric_reason: of the bytes */
	uint32_t has;	/* RDMA_HAS_* */
	uint64_t in_bytes, out_bytes;
	uint64_t in_packets, out_packets;
	uint64_t retries;    /* sent again, or put off by a receiver that was not ready */
	uint64_t congestion; /* notices that made the adapter slow down (RoCE) */
	uint64_t wait_ticks; /* had data and no credit to send it; how long a tick is differs by port */
};

struct step_detail {
	uint32_t nfs, nevents, nnet, nrdma;
	struct detail_fs fs[DETAIL_FS];
	struct detail_event event[PERF_REQUEST_EVENTS];
	struct detail_net net[6];
	struct detail_rdma rdma[DETAIL_RDMA];
	uint64_t lost_events;	/* of the kernel's tables while the step ran; 0: all was booked */
	char counters[96];	/* how hw was counted: "bperf, skylakex", "per task, generic" */
};

#endif
