/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile.h - gives Slurm's profile plugins (acct_gather_profile/hdf5, influxdb) the metric values over time
 * of a step with --profile=energy. A row of a dataset has the increase since the row before, so the rows of a
 * column sum to the step's final value.
 */
#ifndef CEEMS_PROFILE_H
#define CEEMS_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "src/libcore/metric.h"

/*
 * Returns true if the step is profiled and Slurm takes rows. After the last task, Slurm may stop at any time.
 */
bool profile_is_wanted(void);

/*
 * Adds a row with F, the step's metric values at ELAPSED_NS, if profile_is_wanted(). The columns of a dataset
 * are the metrics that are known in its first row. HAS_ALL: a metric that F lacks will not become known
 * later.
 */
void profile_add(const struct values *f, uint64_t elapsed_ns, bool has_all);

#endif
