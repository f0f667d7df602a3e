/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * readers.h - the open files and counters of the steps on the node: CPU time, and the other measures of
 * activity (weights.h). They are opened when the step's cgroup is known, and closed when the step has left.
 */
#ifndef CEEMS_READERS_H
#define CEEMS_READERS_H

#include "src/libledger/ledger_book.h"
#include "src/libnode/weights.h"

struct readers;

/*
 * A younger step is not read. Most steps that are over so soon tell their CPU time themselves. The
 * CPU time of the others is caught up (cpuweights.c); /proc/stat shows it late as well. Hardware
 * counters count from their opening. So they are opened as soon as a step's cgroup is known; for
 * that the next tick waits READERS_COUNTED_NS at most.
 */
#define READERS_YOUNG_NS (50 * UINT64_C(1000000))
#define READERS_COUNTED_NS (20 * UINT64_C(1000000))

/* Borrows W until readers_destroy(). -ENOMEM. */
int readers_create(struct weights *w, struct readers **ret);
void readers_destroy(struct readers *r);

/*
 * Reads the CPU time of LINE[n]. A line whose end told its CPU time stays as it is. *RET has the
 * open files of each line, until readers_close_gone().
 */
void readers_read(struct readers *r, struct book_line *line, size_t n,
		  struct weights_step *const **ret);

/* CPU time of the step in SLOT with that claim, by mode (cputime.h). -ENOENT: it is not read. */
int readers_modes(struct readers *r, unsigned int slot, uint32_t claim, uint64_t *ret_user_ns,
		  uint64_t *ret_system_ns);

/* How soon there is to be another tick, for steps that are to be counted. UINT64_MAX: there were none. */
uint64_t readers_patience_ns(const struct readers *r);

/* Once the tick's lines are weighed: closes what none of them needs any more. */
void readers_close_gone(struct readers *r);

#endif
