/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sampler_internal.h - what sampler.c (the thread), sampler_open.c and sampler_tick.c share.
 */
#ifndef CEEMS_SAMPLER_INTERNAL_H
#define CEEMS_SAMPLER_INTERNAL_H

#include <pthread.h>

#include "src/libemission/factor_chain.h"
#include "src/libnode/cpuweights.h"
#include "src/libnode/gpuweights.h"
#include "src/libnode/live.h"
#include "src/libnode/oldhelpers.h"
#include "src/libnode/partbook.h"
#include "src/libnode/sampler.h"
#include "src/libutil/logger.h"

struct sampler {
	struct settings settings;
	struct ledger *ledger;
	bool is_fresh; /* the ledger is new, not that of an earlier slurmd */
	struct ledger_book *book;
	struct sources *sources;
	struct nodecpu *cpus;
	uint32_t node_cpus; /* CPUs that Slurm can allocate */
	uint64_t node_mem_mb;
	struct factor_chain chain;
	bool has_factor;
	struct factor_feed *feed; /* NULL: no series */
	struct partbook parts;
	struct cpuweights cpuweights;
	struct gpuweights gpuweights;
	struct weights *weights;
	struct readers *readers;
	struct membook *memory;
	struct gpubook *gpus;
	struct nodeprobes *probes; /* only for the thread; NULL: there is none */
	/* read by Slurm's RPC threads, which must not wait for a tick */
	_Atomic uint64_t energy_uj;
	_Atomic uint64_t power_mw;
	_Atomic bool has_energy;
	/* all below is only for the thread */
	struct gpu_slices slices;	/* the last value of ledger_set_slices() */
	bool has_slices;		/* ledger_set_slices() was called */
	struct textfile_feed *textfile; /* NULL: ceems.prom is not written */
	struct profilepush *push;	/* NULL: profiles are not pushed */
	struct oldhelpers oldhelpers;
	struct live live;
	size_t nlines;	  /* number of steps in the last tick */
	uint64_t live_ns; /* when running steps were last read and the textfile written */
	struct logger_once tick_failed, textfile_failed;
	pthread_t thread;
	bool is_running;
	_Atomic bool stop;
};

/* Publishes the node's energy and power of PAGE for sampler_node_energy(). */
void sampler_publish(struct sampler *s, const struct ledger_page *page);

#endif
