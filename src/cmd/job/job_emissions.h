/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job_emissions.h - prints emissions for `ceems job --long`.
 */
#ifndef CEEMS_JOB_EMISSIONS_H
#define CEEMS_JOB_EMISSIONS_H

#include "src/librecord/record.h"

/* Prints the lines below the line of the emissions: by domain and by age of the factors. */
void job_emissions_print(const struct values *f, const struct record_emissions *e);

#endif
