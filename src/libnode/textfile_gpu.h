/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * textfile_gpu.h - what ceems.prom has of GPUs: each one's energy, power, use and memory, and which
 * jobs hold it.
 */
#ifndef CEEMS_TEXTFILE_GPU_H
#define CEEMS_TEXTFILE_GPU_H

#include <stdio.h>

#include "src/libledger/ledger.h"
#include "src/libmeter/sensor/source.h"

struct textfile_gpus {
	FILE *out;
	const char *host; /* escaped */
	const struct ledger_page *page;
	const struct gpu_reading *gpu;
	size_t ngpus;
};

void textfile_gpus_put(const struct textfile_gpus *g);

#endif
