/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * membook.h - records the memory that running steps hold. Each tick reads some of the steps, in
 * turn. It adds the mean of a step's last two readings, times the time between them, to the step's
 * account in the ledger. slurmstepd reads the sum there when the step ends. It also takes the
 * kernel's own peak, which includes peaks between two readings (stepmemory.h). Only the sampler's
 * thread may call this.
 */
#ifndef CEEMS_MEMBOOK_H
#define CEEMS_MEMBOOK_H

#include "src/libmeter/activity/memuse.h"
#include "src/libnode/tick.h"
#include "src/libutil/must_check.h"

/*
 * The longest time between two readings of a step; with ticks of a second, each fifth tick reads it. A young
 * step is read more often: again when its age has grown by an eighth.
 */
#define MEMBOOK_EVERY_NS (4500 * UINT64_C(1000000))
/*
 * The most memory.stat files that are read in one tick; each takes about 8 us. The next tick begins with the
 * steps that were not read.
 */
#define MEMBOOK_FILES 16
/*
 * Without a memory cgroup, all processes of a step must be read. In this time, the processes of
 * only one step of the node are read.
 */
#define MEMBOOK_LIST_NS (2 * UINT64_C(1000000000))

struct membook;

/* Makes the object without any reading. -ENOMEM. */
int membook_create(struct membook **ret) _must_check_;
void membook_destroy(struct membook *w);

/*
 * Reads the memory of the steps whose turn it is, and books it in the page of T. The peak in the extern
 * step's account is the peak of the sum over all steps of the job.
 */
void membook_read(struct membook *w, const struct tick *t);

/* Returns the last memory reading of the step in SLOT with claim number CLAIM. NULL: there is none. */
const struct memuse_kinds *membook_find(const struct membook *w, unsigned int slot, uint32_t claim);

#endif
