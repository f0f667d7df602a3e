/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpuwatch.h - how the GPUs that running steps hold are used. Each reading of a GPU (gpuvalue.h) is of the time
 * since the one before; each step gets its part of it, by its share of the GPU and its presence, as idle power is
 * split: what no srun step of a job holds is its batch step's, else its extern step's. The sums are in the ledger's
 * page (ledger_gpu.h). For the sampler's thread only.
 */
#ifndef CEEMS_GPUWATCH_H
#define CEEMS_GPUWATCH_H

#include "src/libledger/ledger_book.h"

struct gpuwatch;

/* -ENOMEM. */
int gpuwatch_create(struct gpuwatch **ret);
void gpuwatch_destroy(struct gpuwatch *w);

/*
 * The part of a tick: PAGE is the one to write, LINE[n] what ledger_book_collect() found at NOW, GPU[ngpus] what
 * sources_gpus() did. A step's end lies behind the last reading: until then its GPUs are taken to go on as they were.
 * A step that no reading is of, because it was too short, knows nothing.
 */
void gpuwatch_read(struct gpuwatch *w, struct ledger_book *b, struct ledger_page *page, const struct book_line *line,
		   size_t n, const struct gpu_reading *gpu, size_t ngpus, uint64_t now_mono_ns);

#endif
