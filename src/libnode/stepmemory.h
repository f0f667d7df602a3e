/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stepmemory.h - the memory metrics of a step that ends: the values that the sampler read while the step
 * ran (memwatch.h), and the kernel's peaks of the step's cgroup. For slurmstepd, while the cgroup
 * exists.
 */
#ifndef CEEMS_STEPMEMORY_H
#define CEEMS_STEPMEMORY_H

#include "src/libledger/ledger.h"

/*
 * SEEN: NULL, the sampler never saw it. The kernel's peaks of the extern step are those of its job. What is not
 * known gets its reason.
 */
void stepmemory_fill(const struct ledger_slot *s, const struct ledger_memory *seen, uint64_t now_mono_ns,
		     struct values *f);
/* Fills in only what the kernel keeps in the cgroup: peaks and OOM kills. Also while the step runs. */
void stepmemory_fill_kept(const struct ledger_slot *s, struct values *f);

#endif
