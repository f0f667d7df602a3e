/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * smt.h - the weight of a CPU cycle while the sibling thread of the core is busy. Two busy threads
 * of a core draw r = 1.15 times the power of one, so a cycle of each then has the weight r / 2.
 * HaPPy (Zhai et al., USENIX ATC 2014) measured a ratio of that size. There, this weight reduced
 * the mean error of a job's CPU power from 20.5 % to 7.5 %.
 */
#ifndef CEEMS_SMT_H
#define CEEMS_SMT_H

#include <stdbool.h>
#include <stdint.h>

#include "src/libutil/must_check.h"

/* The weight of a cycle while the sibling is idle. */
#define SMT_ONE 1024u
/* /proc/stat counts in steps of 10 ms, so shorter windows would be noise. */
#define SMT_WINDOW_NS (100 * UINT64_C(1000000))

struct smt;

/*
 * Reads which CPUs are siblings, below SYS_ROOT. If sysfs does not tell, no CPU has one. -ENOMEM.
 */
int smt_open(const char *sys_root, uint32_t ncpus, struct smt **ret) _must_check_;
void smt_close(struct smt *s);

/* Returns true if any CPU has a sibling. */
bool smt_is_there(const struct smt *s);

/*
 * Updates the weights. CPU_NS[ncpus] is each CPU's busy time since boot, at NOW_NS. A weight
 * follows from how much of the last full window (SMT_WINDOW_NS or longer) the sibling was busy.
 */
void smt_update(struct smt *s, const uint64_t *cpu_ns, uint64_t now_ns);

/*
 * Returns the weight of a cycle on CPU: from SMT_ONE (the sibling is idle) down to
 * SMT_ONE x r / 2 (it is busy).
 */
uint32_t smt_worth(const struct smt *s, uint32_t cpu);

#endif
