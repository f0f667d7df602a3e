/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jobs_waste.h - the wasted energy of a job by cause. No joule has two causes. A failed job wastes all of its
 * energy. Any other job wastes the idle energy of what it held but did not use.
 */
#ifndef CEEMS_CMD_JOBS_WASTE_H
#define CEEMS_CMD_JOBS_WASTE_H

#include <stdbool.h>

#include "src/librecord/advice_facts.h"
#include "src/librecord/record.h"

enum jobs_waste {
	WASTE_FAILED,  /* all energy of a job in state FAILED or BOOT_FAIL */
	WASTE_TIMEOUT, /* the same for TIMEOUT and DEADLINE */
	WASTE_OOM,     /* the same for OUT_OF_MEMORY */
	WASTE_NODE,    /* the same for NODE_FAIL */
	WASTE_CPU,     /* idle energy of CPUs that the job did not use, by FACT_CPUS_USED of the advice */
	WASTE_MEMORY,  /* idle energy of memory that the job did not need, by FACT_MEMORY_SPARE */
	WASTE_GPU,     /* idle energy of GPUs while they were not busy */
	WASTE_N
};

struct jobs_waste_info {
	const char *name;  /* for programs */
	const char *title; /* for people */
	const char *help;  /* what to do */
};
extern const struct jobs_waste_info jobs_waste_table[WASTE_N];

/*
 * Returns the cause for a failed job. WASTE_N: R did not fail, or it was cancelled,
 * perhaps after useful work.
 */
enum jobs_waste jobs_waste_of_state(const struct record *r);

/* Computes the waste of R by cause, in microjoules. NAN: it is not known. */
void jobs_waste_find(const struct record *r, const struct advice_facts *f, double ret_uj[WASTE_N]);

/*
 * Whether a cause of waste of R is unknown because it is not known how much of the energy of the CPUs, memory
 * or GPUs is idle power; then the sum of the causes is too low.
 */
bool jobs_waste_lacks_idle(const struct record *r);

#endif
