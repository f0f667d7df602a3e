/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jobs_waste.h - the wasted energy of a job by cause. Each joule has one cause. All energy of a
 * failed job is wasted. Of other jobs, the idle energy of allocated and unused resources is wasted.
 */
#ifndef CEEMS_CMD_JOBS_WASTE_H
#define CEEMS_CMD_JOBS_WASTE_H

#include <stdbool.h>

#include "src/librecord/advice_facts.h"
#include "src/librecord/record.h"

enum jobs_waste {
	WASTE_FAILED,  /* FAILED, BOOT_FAIL */
	WASTE_TIMEOUT, /* TIMEOUT, DEADLINE */
	WASTE_OOM,     /* OUT_OF_MEMORY */
	WASTE_NODE,    /* NODE_FAIL */
	WASTE_CPU,     /* idle power of unused CPUs; this and the next as in the advice */
	WASTE_MEMORY,  /* idle power of memory above what the advice asks for */
	WASTE_GPU,     /* idle power of GPUs while they were not busy */
	WASTE_N
};

struct jobs_waste_info {
	const char *name;  /* for programs */
	const char *title; /* for people */
	const char *help;  /* what to do */
};
extern const struct jobs_waste_info jobs_waste_table[WASTE_N];

/*
 * The cause by the job's state. WASTE_N: the job did not fail, or it was cancelled, and its waste
 * is unknown.
 */
enum jobs_waste jobs_waste_of_state(const struct record *r);

/* Computes the waste by cause in microjoules; NAN: unknown. */
void jobs_waste_find(const struct record *r, const struct advice_facts *f, double ret_uj[WASTE_N]);

#endif
