/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile.h - series over time for Slurm's profile plugins (acct_gather_profile/hdf5, influxdb), of
 * a step with --profile=energy. A row of a dataset has the step's gain since the row before. So a
 * column adds up to the step's final value.
 */
#ifndef CEEMS_PROFILE_H
#define CEEMS_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "src/libcore/metric.h"

/* True: the step is profiled, and Slurm takes rows. False at any time after its last task. */
bool profile_is_wanted(void);

/*
 * Adds a row for F, what the step has after ELAPSED_NS; drops it if none is wanted any more. A dataset has the metrics
 * that are known when it is created, with its first row. HAS_ALL: what F does not know will not be known later, either.
 */
void profile_add(const struct values *f, uint64_t elapsed_ns, bool has_all);

#endif
