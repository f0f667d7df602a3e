/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * model_table.h - the power of a server when idle and at full load, per logical CPU, by CPU
 * generation.
 */
#ifndef CEEMS_MODEL_TABLE_H
#define CEEMS_MODEL_TABLE_H

#include <stdint.h>

#include "src/libutil/errmsg.h"

/* Power of the whole server (board, memory, fans, power supply) per logical CPU. */
struct model_cpu {
	const char *name;
	uint32_t idle_mw;
	uint32_t max_mw;
};

/*
 * Returns the table's entry for this CPU, or model_cpu_default if there is none; both are static. Reads
 * /proc/cpuinfo below SYS_ROOT, or the machine's own if a fake root has none. *RET_CPUS is the number of
 * CPUs, at least 1.
 */
const struct model_cpu *model_cpu_find(const char *sys_root, uint32_t *ret_cpus);

extern const struct model_cpu model_cpu_default;

#endif
