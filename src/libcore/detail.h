/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * detail.h - results of a step that TRES cannot hold: I/O by mount point, network traffic by
 * protocol, events that the user named. They are collected on the node, for the step's report.
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
	/* as the job sees it; or "pipe", "socket"; "8:1" if the mount point is unknown */
	char mount[DETAIL_MOUNT_MAX];
	char type[24]; /* "ext4", "lustre"; empty: unknown */
	uint64_t read_bytes, write_bytes;
	uint64_t read_calls, write_calls;
	uint64_t read_errors, write_errors;
};

struct detail_event {
	char name[PERF_REQUEST_NAME_MAX];
	uint64_t value;	       /* scaled up to all of the time */
	uint8_t reason;	       /* enum metric_reason, if there is no value */
	uint32_t coverage_ppm; /* share of the time in which the event was on the PMU */
};

struct detail_net {
	char kind[8]; /* "tcp4", "udp6" ... */
	uint64_t in_packets, in_bytes, out_packets, out_bytes;
};

/* Which counters of an RDMA port are known besides bytes; drivers differ. */
#define RDMA_HAS_PACKETS (1u << 0)
#define RDMA_HAS_RETRIES (1u << 1)
#define RDMA_HAS_CONGESTION (1u << 2)
#define RDMA_HAS_WAIT (1u << 3)

/* One RDMA port of the node, for a step that had the node alone. */
struct detail_rdma {
	char port[40];	/* "mlx5_0/1" */
	char link[16];	/* "InfiniBand", "Ethernet" (RoCE); empty: unknown */
	uint8_t reason; /* enum metric_reason, if the bytes are missing */
	uint32_t has;	/* RDMA_HAS_* */
	uint64_t in_bytes, out_bytes;
	uint64_t in_packets, out_packets;
	uint64_t retries;    /* packets sent again, or delayed because the receiver was not ready */
	uint64_t congestion; /* congestion notices that slowed the adapter down (RoCE) */
	/* time with data but no credit to send it; the length of a tick depends on the port */
	uint64_t wait_ticks;
};

struct step_detail {
	uint32_t nfs, nevents, nnet, nrdma;
	struct detail_fs fs[DETAIL_FS];
	struct detail_event event[PERF_REQUEST_EVENTS];
	struct detail_net net[6];
	struct detail_rdma rdma[DETAIL_RDMA];
	/*
	 * events lost while the step ran, because a BPF map was full or the kernel skipped a program; events
	 * that were skipped may be of other processes of the node
	 */
	uint64_t lost_events;
	/* how group hw was counted: "bperf, skylakex", "per task, generic" */
	char counters[96];
};

#endif
