/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * textfile_emissions.h - what ceems.prom has of the node's emissions: the factor in force with its age,
 * the marginal one beside it, and what both kinds of accounting come to.
 */
#ifndef CEEMS_TEXTFILE_EMISSIONS_H
#define CEEMS_TEXTFILE_EMISSIONS_H

#include <stdio.h>

#include "src/libemission/factor_series.h"
#include "src/libledger/ledger.h"

struct textfile_emissions {
	FILE *out;
	const char *host; /* escaped */
	const struct ledger_page *page;
	const struct factor_series *series; /* NULL: none */
	const char *region;
};

void textfile_emissions_put(const struct textfile_emissions *e);

#endif
