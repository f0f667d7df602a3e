/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * run_history.h - the use of earlier runs of a job, and what to request for its next run.
 */
#ifndef CEEMS_CMD_RUN_HISTORY_H
#define CEEMS_CMD_RUN_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/librecord/advice_facts.h"
#include "src/libutil/must_check.h"

#define RUN_HISTORY_ENOUGH 3 /* the fewest runs from which something can be concluded */
#define RUN_HISTORY_STATES 16
#define RUN_HISTORY_TYPE_MAX (ADVICE_FACT_TEXT_MAX + 32)

enum run_value {
	RUN_ELAPSED, /* seconds */
	RUN_MEMORY,  /* bytes */
	RUN_CPUS,    /* busy CPUs, in thousandths */
	RUN_GPU,     /* the busy share of the GPUs, in millionths */
	RUN_ENERGY,  /* uJ */
	RUN_CO2E,    /* ng */
	RUN_N
};

struct run_value_info {
	const char *key, *label; /* names for programs and for people */
	uint64_t scale;		 /* divisor to the unit that KEY names */
};
extern const struct run_value_info run_value_table[RUN_N];

/* Writes VALUE for people. Returns BUF, which has SCREEN_TEXT_MAX bytes. */
const char *run_value_text(enum run_value v, uint64_t value, char *buf) _must_check_;

struct run {
	uint64_t start, end;
	char state[24];
	bool is_completed;
	uint64_t value[RUN_N];
	bool known[RUN_N];
	struct advice_facts facts;
};

struct run_history {
	struct run *run; /* owned */
	size_t n, room;
};
void run_history_free(struct run_history *h);

/* Adds a run, if it started and ended. -ENOMEM. */
int run_history_add(struct run_history *h, const struct record *r);

/*
 * The spread of a value over the N completed runs that have it. Percentiles are values of runs
 * (nearest rank).
 */
struct run_spread {
	size_t n;
	uint64_t median, p90, max;
};

/* Completed runs with the same number of nodes, CPUs and GPUs. */
struct run_size {
	double nodes, cpus, gpus; /* negative: not known */
	size_t n;
	struct run_spread spread[RUN_N];
};

struct run_state {
	char name[24];
	size_t n;
};

struct run_advice {
	size_t runs, completed;
	uint64_t first_start, last_end;
	struct run_state states[RUN_HISTORY_STATES]; /* the most frequent state first */
	size_t nstates;

	/*
	 * Set if at least RUN_HISTORY_ENOUGH runs completed. OF is about the runs with the size of the
	 * last run. If these are too few, is_all_sizes is set, and OF is about runs of all sizes.
	 */
	bool is_enough, is_all_sizes;
	struct run_size of;
	/* options for the next run; empty: nothing to change, or unknown */
	char type[RUN_N][RUN_HISTORY_TYPE_MAX];

	struct run_size *size; /* owned; smallest first */
	size_t nsizes;
	const struct run_size *least; /* the size with the least energy per run, if several sizes have enough
					 runs; else NULL */
};
void run_advice_free(struct run_advice *a);

/* Makes the advice from the last MOST runs of H, which must be sorted, the last first. -ENOMEM. */
int run_history_advise(struct run_history *h, size_t most, struct run_advice *ret) _must_check_;

#endif
