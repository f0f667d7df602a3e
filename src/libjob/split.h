/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * split.h - where a joule is split. Pure arithmetic on one tick: what the node used in a window
 * of time goes to the lines (steps) that were there, to `unallocated` and to `system`, in whole
 * microjoules, with nothing left over and nothing made up:
 *
 *	sum(lines) + unallocated + system == measured, per domain, exactly.
 *
 * Static part  = min(E, idle power x dt), by allocation (cores; memory for DRAM), what nobody
 *		  allocated to `unallocated`.
 *		  A job whose memory is not known holds as much of it as of the cores.
 * Dynamic part = the rest, by CPU time; CPU time outside the lines is `system`'s, and so is the
 *		  whole when nobody used any.
 */
#ifndef CEEMS_SPLIT_H
#define CEEMS_SPLIT_H

#include <stddef.h>
#include <stdint.h>

#include "src/libmeter/domain.h"

/* Energy of one line, job or node since it was opened. Only ever grows. */
struct account {
	uint64_t total_uj[DOMAIN_N];
	uint64_t static_uj[DOMAIN_N]; /* part of total_uj */
	uint64_t source_uj[SOURCE_N]; /* the same energy by where it was read */
	uint64_t by_counters_uj;      /* part of it that was split by hardware counters */
	uint64_t co2e_ng;	      /* of total_uj, at the factor of its own tick, times PUE */
};

uint64_t account_total_uj(const struct account *a);
uint64_t account_static_uj(const struct account *a);
void account_add(struct account *to, const struct account *from);

/*
 * Shares TOTAL by WEIGHT[n] in whole units with the largest remainder method (Hamilton), ties to
 * the lower index: sum(share) == total, |share - exact| < 1. With all weights 0 every share is 0
 * and TOTAL is returned; else 0. Weights that add up to more than 64 bits lose their lowest ones.
 */
uint64_t split_apportion(uint64_t total, const uint64_t *weight, size_t n, uint64_t *share);

/* Which processes a line stands for, and so how it takes part in the static share. */
enum line_kind {
	LINE_STEP,   /* srun step: holds its cores, all of the job's if it has only steps */
	LINE_BATCH,  /* batch or interactive: what of the job's cores no srun step holds */
	LINE_EXTERN, /* the same when the job has no LINE_BATCH; adopted processes */
};

struct split_line {
	uint32_t job;	   /* index into split_input.job */
	enum line_kind kind;
	uint32_t cpus;	   /* of the step on this node */
	uint64_t mem_mb;
	uint64_t from_ns;  /* presence, clipped to the window by split_tick() */
	uint64_t until_ns;
	uint64_t busy_ns;  /* CPU time used in the window */
};

struct split_job {
	uint32_t cpus;	/* allocated on this node */
	uint64_t mem_mb;
};

struct split_input {
	uint64_t from_ns, until_ns;	 /* the window, CLOCK_MONOTONIC */
	uint32_t node_cpus;
	uint64_t node_mem_mb;
	uint64_t node_busy_ns;		 /* CPU time of the whole node in the window */
	uint64_t measured_uj[DOMAIN_N];
	uint64_t idle_mw[DOMAIN_N];
	const struct split_job *job;
	size_t njobs;
	const struct split_line *line;
	size_t nlines;
};

/* total includes its static part. source_uj and co2e_ng are filled in by the caller. */
struct split_share {
	uint64_t total_uj[DOMAIN_N];
	uint64_t static_uj[DOMAIN_N];
};

/*
 * LINE[nlines] and the two others are overwritten. WORK is scratch of split_work_size() bytes
 * (no allocation in a tick). -EINVAL when the window is empty or backwards, or a line's job is
 * out of range; nothing is written then. More CPU time in the lines than on the node (clocks
 * read at different instants) is not an error: system then gets none.
 */
int split_tick(const struct split_input *in, void *work, struct split_share *line,
	       struct split_share *unallocated, struct split_share *system);
size_t split_work_size(size_t njobs, size_t nlines);

#endif
