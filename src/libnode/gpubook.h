/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpubook.h - books in each step how the GPUs that it holds are used. A reading of a GPU
 * (gpuvalue.h) covers the time since the last one. Each step gets a part of the reading, by the step's
 * share of the GPU and the time that the step was there. As with idle power, a GPU of a job that no srun
 * step holds goes to the batch step or, if there is none, to the extern step. The sums are in the
 * ledger's page (ledger_gpu.h). For the sampler's thread only.
 */
#ifndef CEEMS_GPUBOOK_H
#define CEEMS_GPUBOOK_H

#include "src/libnode/tick.h"
#include "src/libutil/must_check.h"

struct gpubook;

/* Makes the object without any reading. -ENOMEM. */
int gpubook_create(struct gpubook **ret) _must_check_;
void gpubook_destroy(struct gpubook *w);

/*
 * Books the new readings of GPUs and MIG instances of T in its page. A step that holds MIG instances gets
 * their use and memory instead of a part of the whole GPU's. For the time from the last reading to the end
 * of a step, the use is assumed to continue. A step that ends before any reading has no values.
 */
void gpubook_read(struct gpubook *w, struct ledger_book *b, const struct tick *t);

#endif
