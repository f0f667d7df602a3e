/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job_emissions.h - emissions in `ceems job`: with what ceems.conf and the series of factors add to what
 * slurmdbd has.
 */
#ifndef CEEMS_JOB_EMISSIONS_H
#define CEEMS_JOB_EMISSIONS_H

#include <stdbool.h>

#include "src/librecord/record.h"

/*
 * Completes the emissions of N jobs as a record has them. Left as they are: the jobs of another cluster
 * than that of slurm.conf, whose grid is another; and all, where there is no ceems.conf.
 */
void job_emissions_fill(struct record *const *job, size_t n);

/* Rows below that of the emissions. ALL: also by domain and by age of the factors. */
void job_emissions_print(const struct figures *f, const struct record_emissions *e, bool all);

#endif
