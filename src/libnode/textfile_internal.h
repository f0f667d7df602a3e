/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * textfile_internal.h - the parts of ceems.prom that have a file of their own.
 */
#ifndef CEEMS_TEXTFILE_INTERNAL_H
#define CEEMS_TEXTFILE_INTERNAL_H

#include "src/libutil/prom.h"
#include "src/libnode/textfile.h"

/*
 * The node's emissions: the factor in force with its age, the marginal factor beside it, and the
 * sums, location-based and market-based.
 */
void textfile_emissions_put(struct prom *p, const struct ledger_page *page,
			    const struct textfile_input *in);

/* Each GPU's energy, power, use and memory, and which jobs hold it. */
void textfile_gpus_put(struct prom *p, const struct ledger_page *page,
		       const struct textfile_input *in);

#endif
