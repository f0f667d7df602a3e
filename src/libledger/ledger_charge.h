/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ledger_charge.h - the emission charge of a tick. The energy of a line gets the factors of the time in
 * which the step existed. The energy of a sensor that is slower than the tick gets the factors of the
 * time in which it was used. For ledger_book.c only.
 */
#ifndef CEEMS_LEDGER_CHARGE_H
#define CEEMS_LEDGER_CHARGE_H

#include "src/libledger/ledger_book.h"

struct ledger_charge {
	const struct book_tick *tick;
	uint64_t from_mono_ns; /* begin of the tick's window */
	struct factor_mix mix; /* the factors of the whole window */
	/* The energy of a slow sensor was used over a longer time than the window. */
	bool has_slow, is_slow[DOMAIN_N]; /* set if the factor changed in that longer time */
	struct factor_mix slow[DOMAIN_N]; /* the factors of that longer time */
};

/* Finds the factors of TICK, and sets page->factor_*. *RET borrows TICK. */
void ledger_charge_tick(struct ledger_page *page, const struct book_tick *tick, struct ledger_charge *ret);

/*
 * Sets the emissions of A, which has the energy of LINE in this tick and nothing else. If LINE is NULL, A
 * is `unallocated` or `system` and gets the factors of the whole window.
 */
void ledger_charge_account(const struct ledger_page *page, const struct ledger_charge *p,
			   const struct book_line *line, struct account *a);

#endif
