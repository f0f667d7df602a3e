/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * smt.h - the weight of a cycle on a CPU whose sibling thread is busy, too. Two busy threads of a core
 * draw r = 1.15 times the power of one. So a cycle of each thread has the weight r / 2. HaPPy (Zhai
 * et al., USENIX ATC 2014) measured a ratio of that size. There, this weight reduced the mean error of
 * CPU power per job from 20.5 % to 7.5 %.
 */
#ifndef CEEMS_SMT_H
#define CEEMS_SMT_H

#include <stdbool.h>
#include <stdint.h>

/* The worth of a cycle on a core of one's own. */
#define SMT_ONE 1024u
/* /proc/stat counts in 10 ms: shares of less time than this are noise. */
#define SMT_WINDOW_NS (100 * UINT64_C(1000000))

struct smt;

/* Reads who is whose sibling, below SYS_ROOT; nobody where that is not told. -ENOMEM. */
int smt_open(const char *sys_root, uint32_t ncpus, struct smt **ret);
void smt_close(struct smt *s);

/* Whether any CPU has a sibling. */
bool smt_is_there(const struct smt *s);

/*
 * CPU_NS[ncpus] is the CPU time of each since boot as of NOW_NS. Worths follow the last whole window
 * of SMT_WINDOW_NS or more; in proportion to how much of it the sibling was busy.
 */
void smt_update(struct smt *s, const uint64_t *cpu_ns, uint64_t now_ns);

/* Between SMT_ONE and r / 2 of it. */
uint32_t smt_worth(const struct smt *s, uint32_t cpu);

#endif
