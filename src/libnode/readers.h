/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * readers.h - what is open for the steps on the node: where their CPU time is read and what else
 * tells of their activity (weights.h). Opened when a step's cgroup is known, closed when it has
 * left.
 */
#ifndef CEEMS_READERS_H
#define CEEMS_READERS_H

#include "src/libledger/ledger_book.h"
#include "src/libnode/weights.h"

struct readers;

/*
 * A step that is younger is not read: most that are over so soon tell themselves what they used, and
 * what the others used so far is made up for (cpuweights.c), as /proc/stat shows it late, too. Counters
 * of events count from when they are opened: where there are any, they are opened as soon as a step's
 * cgroup is known, for which the next tick waits no longer than the second.
 */
#define READERS_YOUNG_NS (50 * UINT64_C(1000000))
#define READERS_COUNTED_NS (20 * UINT64_C(1000000))

/* Borrows W until readers_destroy(). -ENOMEM. */
int readers_create(struct weights *w, struct readers **ret);
void readers_destroy(struct readers *r);

/*
 * Reads the CPU time of LINE[n]; that of a line whose end told it is left as it is. *RET has what
 * is open of each line, until readers_close_gone().
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
