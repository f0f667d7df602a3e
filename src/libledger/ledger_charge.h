/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ledger_charge.h - the emission charge of a tick. The joules of each line have the factors of the
 * time in which the line was there. The joules of a sensor that is slower than the tick have the
 * factors of the time in which they were used. Private to ledger_book.
 */
#ifndef CEEMS_LEDGER_CHARGE_H
#define CEEMS_LEDGER_CHARGE_H

#include "src/libledger/ledger_book.h"

struct ledger_charge {
	const struct book_tick *tick;
	uint64_t from_mono_ns; /* of the tick's window */
	struct factor_mix mix; /* of all of it */
	/* A slow sensor's joules were used over a longer time than the tick. */
	bool has_slow, is_slow[DOMAIN_N]; /* the factor changed in that longer time */
	struct factor_mix slow[DOMAIN_N]; /* the factors of that longer time */
};

/* Borrows TICK; sets page->factor_*. */
void ledger_charge_tick(struct ledger_page *page, const struct book_tick *tick,
			struct ledger_charge *ret);

/*
 * The emissions of A, which has nothing but energy of this tick, of LINE. NULL: of nobody or of the
 * system, who were there all the time.
 */
void ledger_charge_account(const struct ledger_page *page, const struct ledger_charge *p,
			   const struct book_line *line, struct account *a);

#endif
