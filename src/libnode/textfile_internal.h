/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * textfile_internal.h - the parts of ceems.prom that textfile.c does not write itself.
 */
#ifndef CEEMS_TEXTFILE_INTERNAL_H
#define CEEMS_TEXTFILE_INTERNAL_H

#include "src/libutil/prom.h"
#include "src/libnode/textfile.h"

/*
 * Writes the node's emissions: the factor in use with its age, the marginal factor, and the sums,
 * location-based and market-based.
 */
void textfile_emissions_put(struct prom *p, const struct ledger_page *page, const struct textfile_input *in);

/* Writes each GPU's energy, power, use and memory, and the jobs that hold it. */
void textfile_gpus_put(struct prom *p, const struct ledger_page *page, const struct textfile_input *in);

#endif
