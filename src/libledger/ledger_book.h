/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ledger_book.h - the sampler's bookkeeping of one tick: which steps were there, which energy each
 * gets, which slots and jobs end. All changes are made in the page of ledger_begin(). So a tick
 * without ledger_turn() changes nothing.
 *
 *	page = ledger_begin(l);
 *	now = clock_mono_ns();			(after ledger_begin(), see below)
 *	n = ledger_book_collect(b, page, now, &line);
 *	for each line without busy_is_final: line->busy_ns = CPU time of the step, as read now, and
 *		line->is_told
 *	for each line: its weights; for one that is_dead: ledger_book_salvage(), if there is something
 *	fill in page->state, domain_source, pue_milli, market_*, part, ...
 *	ledger_book_apply(b, page, &tick);
 *	ledger_turn(l);
 *
 * Take the time after ledger_begin(). Then a step that asked before ledger_begin() has closed
 * before that time, and this tick answers it. The next tick books a step that closes later.
 */
#ifndef CEEMS_LEDGER_BOOK_H
#define CEEMS_LEDGER_BOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libledger/ledger.h"

struct ledger_book; /* scratch memory of one sampler, so that a tick allocates nothing */

/* Borrows L until ledger_book_destroy(). -ENOMEM. */
int ledger_book_create(struct ledger *l, struct ledger_book **ret);
void ledger_book_destroy(struct ledger_book *b);

/* A step that was there for some of the window since the last tick. */
struct book_line {
	unsigned int slot;	      /* ledger_slot() */
	uint32_t claim;		      /* tells the steps of a reused slot apart */
	const struct ledger_slot *s;
	/*
	 * CPU time of the step since its start. Set to what is booked already. So a line whose CPU
	 * time cannot be read stays as it is and gets no dynamic share.
	 */
	uint64_t busy_ns;
	uint64_t booked_ns; /* the part of busy_ns that is booked already, up to since_ns */
	uint64_t since_ns;  /* before the window, if busy_ns could not be read meanwhile */
	/* Activity in the window; 0 until the caller fills it in. Its unit must be that of the node's activity. */
	uint64_t cpu_weight[SOCKETS_MAX];
	uint64_t mem_weight;
	bool by_counters;   /* cpu_weight is of hardware counters */
	bool is_told;	    /* busy_ns is of this tick */
	bool busy_is_final; /* busy_ns is the slurmstepd's final_busy_ns: do not read it again */
	bool is_last;	    /* this tick closes the step */
	bool is_dead;	    /* its slurmstepd is gone and has written no final values */
	uint64_t from_ns, until_ns; /* its part of the window */
	/* ledger_book's own: */
	uint32_t state; /* enum ledger_state, as collected */
};

/*
 * Lists the lines of the window from page->t_mono_ns to NOW, and opens entries in PAGE for new
 * steps and their jobs. *RET is valid until the next call. Slots whose cgroup_known is 0 have no
 * CPU time to read yet.
 */
size_t ledger_book_collect(struct ledger_book *b, struct ledger_page *page,
			   uint64_t now_mono_ns, struct book_line **ret);

/*
 * Gives the counts of the step in SLOT up to the kill of its slurmstepd; for a line with is_dead. VALUES
 * become the step's metric values when this tick is applied. Without this call, such a step has no metric
 * values, because those that its slurmstepd began to write may be incomplete.
 */
void ledger_book_salvage(struct ledger_book *b, unsigned int slot, const struct values *values);

/*
 * Writes which share of GPU UNIT each line of ledger_book_collect() held from FROM_NS to UNTIL_NS,
 * by the rule that splits idle power. The unit is a nanosecond of a millionth of the GPU
 * (LEDGER_GPU_PPM). HELD has room for LEDGER_STEPS + 1. Steps that ended before the last tick have
 * no line.
 */
void ledger_book_gpu_held(struct ledger_book *b, const struct ledger_page *page, unsigned int unit, uint64_t from_ns,
			  uint64_t until_ns, uint64_t *held);

struct book_tick {
	uint64_t t_mono_ns; /* NOW of ledger_book_collect() */
	uint64_t t_wall_ns;
	uint64_t node_busy_ns; /* raw, since boot */
	uint32_t node_cpus;
	uint64_t node_mem_mb;
	/* Activity of all processes in the window. */
	uint64_t cpu_weight[SOCKETS_MAX];
	uint64_t mem_weight;
	bool by_counters; /* cpu_weight is of hardware counters; else no line's is */
	bool is_lost;	  /* a source that is used or configured is lost */
	uint64_t lag_ns;  /* the largest lag of the sources in use */
	size_t nparts;
	struct split_part part[READING_PARTS_MAX]; /* the sensors' energy in the window */
	const struct factor_chain *chain; /* NULL: emissions are not known */
};

/*
 * Splits the tick (split.h). Books the shares and their emissions, each by the factors of the time
 * in which the line was there. Adds ended steps to their jobs, and ended jobs to `retired`. Sets
 * factor_*, t_mono_ns, t_wall_ns, node_busy_ns, measured, slots_full, lost_steps, ticks. What the
 * shares miss of the measured energy is added to conservation_error_uj. Slots change state when the
 * page is turned. The first tick of a ledger (page->t_mono_ns 0) has no window and books nothing.
 * Its parts must be 0, as source.h says. -EINVAL: t_mono_ns is before the last tick; nothing is
 * booked.
 */
int ledger_book_apply(struct ledger_book *b, struct ledger_page *page,
		      const struct book_tick *tick);

/* |measured - sum of all accounts| over all domains; what conservation_error_uj must agree with. */
uint64_t ledger_page_error_uj(const struct ledger_page *page);

#endif
