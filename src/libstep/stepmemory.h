/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stepmemory.h - the memory metrics of a step that ends: the values that the sampler read while the step
 * ran (membook.h), and the kernel's peaks of the step's cgroup. For slurmstepd, while the cgroup
 * exists.
 */
#ifndef CEEMS_STEPMEMORY_H
#define CEEMS_STEPMEMORY_H

#include "src/libledger/ledger.h"

/*
 * Fills the memory metrics of F. SEEN has the sampler's readings; NULL: it never read the step. The
 * extern step gets the kernel's peaks of its job. Unknown values get their reason.
 */
void stepmemory_fill(const struct ledger_slot *s, const struct ledger_memory *seen, uint64_t now_mono_ns,
		     struct values *f);
/*
 * Fills only the values that the kernel itself keeps for the step's cgroup: the peaks and the OOM
 * kills. It may be called while the step runs.
 */
void stepmemory_fill_kept(const struct ledger_slot *s, struct values *f);

#endif
