/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * memwatch.h - the memory that running steps hold. Each tick reads some of the steps, in turn. It adds
 * the memory of each, times the time since the last reading, to the step's account in the ledger.
 * slurmstepd finds the sum there at the step's end (stepmemory.h). Only the kernel knows peaks between
 * two readings. For the sampler's thread only.
 */
#ifndef CEEMS_MEMWATCH_H
#define CEEMS_MEMWATCH_H

#include "src/libledger/ledger_book.h"
#include "src/libmeter/activity/memuse.h"

/*
 * How often a step is read: after an eighth of its age, of an old one after this time. With ticks of a second
 * that is every five.
 */
#define MEMWATCH_EVERY_NS (4500 * UINT64_C(1000000))
/* memory.stat costs some 8 us: so many in one tick, the others have the next turn. */
#define MEMWATCH_FILES 16
/* Where there is no memory cgroup, a step's processes are asked one by one: one step, and only so often. */
#define MEMWATCH_LIST_NS (2 * UINT64_C(1000000000))

struct memwatch;

/* -ENOMEM. */
int memwatch_create(struct memwatch **ret);
void memwatch_destroy(struct memwatch *w);

/*
 * The part of a tick: PAGE is the one to write, LINE[n] what ledger_book_collect() found at NOW. In the extern
 * step's account the peak becomes that of all steps of its job together.
 */
void memwatch_read(struct memwatch *w, struct ledger_page *page, const struct book_line *line, size_t n,
		   uint64_t now_mono_ns);

/* What the step in SLOT with that claim held last. NULL: not known. */
const struct memuse_parts *memwatch_find(const struct memwatch *w, unsigned int slot, uint32_t claim);

#endif
