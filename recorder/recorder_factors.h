/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * recorder_factors.h - emission factors for records whose emissions the nodes did not compute.
 */
#ifndef CEEMS_RECORDER_FACTORS_H
#define CEEMS_RECORDER_FACTORS_H

#include "src/libcore/settings.h"
#include "src/libemission/factor_chain.h"
#include "src/libemission/factor_feed.h"

struct recorder_factors {
	struct factor_chain chain;
	bool has_chain;
	struct factor_feed *feed; /* owned; NULL: EmissionSeriesFile is not set */
};

/* Sets up the factors. A missing setting or file is logged, and records are made without it. */
void factors_open(struct recorder_factors *f, const struct settings *s);
void factors_close(struct recorder_factors *f);

/*
 * Returns the factors, with a series read at most 5 s ago, borrowed until the next call. Waits at
 * most 2 s for the series, and not again while its file system hangs. NULL: there is no factor.
 */
const struct factor_chain *factors_now(struct recorder_factors *f);
/*
 * Returns the series read last, without waiting; NULL: none. Borrowed until the next factors_now().
 */
const struct factor_series *factors_look(struct recorder_factors *f);

#endif
