/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * written.h - which of the jobs that wait for their record have it in the spool: after a start, what the
 * slurmctld before had written.
 */
#ifndef CEEMS_WRITTEN_H
#define CEEMS_WRITTEN_H

#include "jobcomp/waitlist.h"
#include "src/libsink/spool.h"

/*
 * Takes the job of a SPOOL_RECORD off the list, or, when there are parts to it, notes how many steps they
 * have to have: a crash may have taken them.
 */
void written_take_record(struct waitlist *l, const struct spool_entry *e);

/* The same for a SPOOL_STEPS. */
void written_take_part(struct waitlist *l, const struct spool_entry *e);

#endif
