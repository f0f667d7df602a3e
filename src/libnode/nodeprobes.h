/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nodeprobes.h - slurmd's part of the BPF programs. slurmd has the programs loaded, keeps those attached
 * that every step needs, cleans up after dead processes, and reads the counts of steps whose slurmstepd
 * was killed. For the sampler's thread only. A program that cannot be loaded is logged once, and its
 * values are missing. All functions take NULL.
 */
#ifndef CEEMS_NODEPROBES_H
#define CEEMS_NODEPROBES_H

#include "src/libcore/settings.h"
#include "src/libledger/ledger_book.h"

struct nodeprobes;

/* How often it looks for the dead. */
#define NODEPROBES_LOOK_NS (30 * UINT64_C(1000000000))

/*
 * Loads what is not loaded yet, in a process of its own, some 50 ms; 20 s at most. S is borrowed until
 * nodeprobes_stop(). *RET is NULL when there is no memory.
 */
void nodeprobes_start(const struct settings *s, const char *helper_dir, struct nodeprobes **ret);

/*
 * The last user unloads. So this withdraws slurmd, and nothing stays in the kernel unless running
 * steps still need it.
 */
void nodeprobes_stop(struct nodeprobes *np);

/*
 * A tick's two halves, around the booking of it. Before its lines are collected: who is dead, slots
 * and cgroups of steps (stepgroup.h). When it is booked: their slots are freed. In this order no slot
 * is freed of which the tick did not know that its slurmstepd is dead.
 */
void nodeprobes_look(struct nodeprobes *np, uint64_t now_ns);
void nodeprobes_clear(struct nodeprobes *np);

/* A step that runs, and where to put what is counted for it. */
struct nodeprobes_step {
	const struct ledger_slot *slot; /* its cgroup_known was seen */
	struct values *values;
};

/* What was counted so far: tasks and TCP of all, packets of those that asked for them. */
void nodeprobes_read_steps(struct nodeprobes *np, const struct nodeprobes_step *step, size_t n);

/*
 * What was counted for LINE[n] whose slurmstepd was killed becomes their metric values, so that the job has
 * them.
 */
void nodeprobes_salvage(struct nodeprobes *np, struct ledger_book *book,
			const struct book_line *line, size_t n);

#endif
