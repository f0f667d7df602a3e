/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * recorder_factors.h - the emission factors for records whose emissions the nodes did not compute.
 */
#ifndef CEEMS_RECORDER_FACTORS_H
#define CEEMS_RECORDER_FACTORS_H

#include "src/libcore/settings.h"
#include "src/libemission/factor_chain.h"
#include "src/libemission/factor_feed.h"

struct factors {
	struct factor_chain chain;
	bool has_chain;
	struct factor_feed *feed; /* owned; NULL: no EmissionSeriesFile */
};

/* What there is not is logged, and records do without. */
void factors_open(struct factors *f, const struct settings *s);
void factors_close(struct factors *f);

/*
 * Uses the series as it was within the last 5 seconds. Waits for the series at most two seconds, and
 * not again for a file system that hangs. NULL: no factor. Borrowed until the next call.
 */
const struct factor_chain *factors_now(struct factors *f);
/* The series without waiting for it; NULL: there is none. Borrowed as long. */
const struct factor_series *factors_look(struct factors *f);

#endif
