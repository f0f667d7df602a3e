/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ledger_book.h - books one tick in the node ledger: finds which steps were there, gives each its
 * energy, and ends slots and jobs. All changes are made in the page of ledger_begin(), so a tick
 * without ledger_turn() changes nothing.
 *
 *	page = ledger_begin(l);
 *	now = clock_mono_ns();			(after ledger_begin(), see below)
 *	n = ledger_book_collect(b, page, now, &line);
 *	for each line without busy_is_final: line->busy_ns = CPU time of the step, as read now, and
 *		line->is_told
 *	for each line: its weights; if is_dead and counts are left: ledger_book_salvage()
 *	fill in page->state, domain_source, pue_milli, market_*, part, ...
 *	ledger_book_apply(b, page, &tick);
 *	ledger_turn(l);
 *
 * Take the time NOW after ledger_begin(). Then each step whose request this tick answers has closed
 * before NOW, and this tick books its end. A step that closes later is booked by the next tick.
 */
#ifndef CEEMS_LEDGER_BOOK_H
#define CEEMS_LEDGER_BOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libledger/ledger.h"
#include "src/libutil/must_check.h"

struct ledger_book; /* scratch memory of one sampler, so that a tick allocates nothing */

/* Borrows L until ledger_book_destroy(). -ENOMEM. */
int ledger_book_create(struct ledger *l, struct ledger_book **ret) _must_check_;
void ledger_book_destroy(struct ledger_book *b);

/* A step that existed in the window since the last tick, or in a part of that window. */
struct book_line {
	unsigned int slot; /* number for ledger_slot() */
	uint32_t claim;	   /* claim number: identifies the step that has the slot */
	const struct ledger_slot *s;
	/*
	 * CPU time of the step since its start. ledger_book_collect() sets it to booked_ns. If the
	 * caller cannot read the CPU time, it stays so, and the line gets no dynamic energy.
	 */
	uint64_t busy_ns;
	uint64_t booked_ns; /* CPU time that was booked already, up to since_ns */
	uint64_t since_ns;  /* when booked_ns was read; before the window if a reading failed since */
	/*
	 * The step's activity in the window, in the unit of the weights in struct book_tick. 0
	 * until the caller sets them.
	 */
	uint64_t cpu_weight[SOCKETS_MAX];
	uint64_t mem_weight;
	bool by_counters;   /* cpu_weight is from hardware counters, not from CPU time */
	bool is_told;	    /* busy_ns was read in this tick */
	bool busy_is_final; /* busy_ns is the slurmstepd's final_busy_ns; the caller must not read it again */
	bool is_last;	    /* the step has ended; this tick books its last energy */
	bool is_dead;	    /* its slurmstepd has ended */
	uint64_t from_ns, until_ns; /* when the step existed in the window */
	/* only for ledger_book.c */
	uint32_t state; /* enum ledger_state, as read by ledger_book_collect() */
};

/*
 * Lists the steps that existed between page->t_mono_ns and NOW, and opens accounts in PAGE for new
 * steps and their jobs. Returns the number of lines. *RET is valid until the next call. If the
 * cgroup_known of a slot is 0, its step has no CPU time to read yet.
 */
size_t ledger_book_collect(struct ledger_book *b, struct ledger_page *page, uint64_t now_mono_ns,
			   struct book_line **ret);

/*
 * Sets the metric values of the step in SLOT, whose slurmstepd was killed (is_dead), to VALUES. They are
 * added to the job when this tick is applied. Without this call, the job gets no metric values of that step,
 * because what the slurmstepd wrote may be incomplete.
 */
void ledger_book_salvage(struct ledger_book *b, unsigned int slot, const struct values *values);

/*
 * Writes to HELD[i] which share of GPU UNIT line i of ledger_book_collect() held from FROM_NS to UNTIL_NS,
 * by the rule that splits idle power. The value is a time: ns times the share in millionths
 * (LEDGER_GPU_PPM). HELD has room for LEDGER_STEPS + 1 values; the one after the last line is what no line
 * held. A step that ended before the last tick has no line.
 */
void ledger_book_gpu_held(struct ledger_book *b, const struct ledger_page *page, unsigned int unit,
			  uint64_t from_ns, uint64_t until_ns, uint64_t *held);

struct book_tick {
	uint64_t t_mono_ns; /* NOW of ledger_book_collect() */
	uint64_t t_wall_ns;
	uint64_t node_busy_ns; /* CPU time of all processes since boot */
	uint32_t node_cpus;
	uint64_t node_mem_mb;
	/* Activity of all processes in the window. */
	uint64_t cpu_weight[SOCKETS_MAX];
	uint64_t mem_weight;
	bool by_counters; /* cpu_weight is from hardware counters; if false, it is for no line */
	/* enum doubt of domains, beside those of the parts: a source is lost that has no part */
	uint8_t doubt[DOMAIN_N];
	uint64_t lag_ns;	 /* the largest lag of the sources in use */
	const struct part *part; /* PART[nparts], borrowed: the sensors' energy in the window */
	size_t nparts;
	const struct split_instance *instance; /* INSTANCE[ninstances], borrowed: as in struct split_input */
	size_t ninstances;
	const struct factor_chain *chain; /* NULL: emissions are not known */
};

/*
 * Splits the energy of the tick (split.h) and books the shares and their emissions, each with the factors
 * of the time in which the step existed. Adds ended steps to their jobs, and ended jobs to `retired`. Sets
 * factor_*, t_mono_ns, t_wall_ns, node_busy_ns, measured, slots_full, lost_steps and ticks of PAGE. If the
 * shares do not sum to the measured energy, the difference is added to conservation_error_uj. Slots change
 * state in ledger_turn(). The first tick of a ledger (page->t_mono_ns is 0) has no window and books no
 * energy. -EINVAL: t_mono_ns is before the last tick, or split_tick() failed; no energy is booked.
 */
int ledger_book_apply(struct ledger_book *b, struct ledger_page *page, const struct book_tick *tick);

/* Returns |measured - sum of all accounts|, summed over all domains. 0 if conservation holds in PAGE. */
uint64_t ledger_page_error_uj(const struct ledger_page *page);

#endif
