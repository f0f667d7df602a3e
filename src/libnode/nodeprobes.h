/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nodeprobes.h - slurmd's part in the BPF programs. slurmd has them loaded, keeps the programs
 * attached that every step needs, cleans up after dead processes, and reads the counts of steps
 * whose slurmstepd was killed. If a program cannot be loaded, this is logged once, and its values
 * are missing. For the sampler's thread only. All functions accept NULL.
 */
#ifndef CEEMS_NODEPROBES_H
#define CEEMS_NODEPROBES_H

#include "bpf/probes.h"
#include "src/libcore/settings.h"
#include "src/libledger/ledger_book.h"

struct nodeprobes;

/* How often nodeprobes_look() looks for dead processes. */
#define NODEPROBES_LOOK_NS (30 * UINT64_C(1000000000))

/*
 * Loads the BPF programs, unless they are loaded. ceems-bpf does this in some 50 ms. If it takes longer than
 * 5 s, nodeprobes_look() takes over what it loads, and after 100 s kills it. S is borrowed until
 * nodeprobes_stop(). *RET is NULL if there is no memory.
 */
void nodeprobes_start(const struct settings *s, const char *helper_dir, struct nodeprobes **ret);

/*
 * Removes slurmd from the users of the BPF programs. The last user unloads them, so nothing stays
 * in the kernel unless steps still use them.
 */
void nodeprobes_stop(struct nodeprobes *np);

/*
 * Clean up after dead processes, in two halves around the booking of a tick. nodeprobes_look(),
 * before the tick's lines are collected, finds slots and cgroups (stepgroup.h) of dead steps.
 * nodeprobes_clear(), after booking, frees the slots. So the counts of a dead step are booked
 * before its slot is freed.
 */
void nodeprobes_look(struct nodeprobes *np, uint64_t now_ns);
void nodeprobes_clear(struct nodeprobes *np);

/* A running step; VALUES gets what is counted for it. */
struct nodeprobes_step {
	const struct ledger_slot *slot; /* the caller saw its cgroup_known set */
	struct values *values;
};

/*
 * Reads the counts so far of STEP[n]: tasks and TCP for all, packets for steps that asked for them.
 */
void nodeprobes_read_steps(struct nodeprobes *np, const struct nodeprobes_step *step, size_t n);

/* Events of the node since the programs were loaded: probes_lost() and probes_skipped() of each group. */
struct nodeprobes_lost {
	uint64_t lost[PROBES_GROUP_N], skipped[PROBES_GROUP_N];
};
/* False: no BPF programs are loaded. */
bool nodeprobes_lost(struct nodeprobes *np, struct nodeprobes_lost *ret);

/* Sets the metric values of those of LINE[n] whose slurmstepd was killed, from the BPF counts. */
void nodeprobes_salvage(struct nodeprobes *np, struct ledger_book *book, const struct book_line *line,
			size_t n);

#endif
