/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job_copy.h - copies out of slurmctld's structs what the recorder is told. Called under slurmctld's job lock, but for
 * job_copy_site(): no allocation, no system call.
 */
#ifndef CEEMS_JOBCOMP_JOB_COPY_H
#define CEEMS_JOBCOMP_JOB_COPY_H

#include "src/libstore/job_facts.h"

struct job_record;

/*
 * Fills the used part of *RET. A resized job has a row in slurmdbd for each size, and so a record
 * for each size. The submit, eligible and start time of such a part are the time of the resize
 * before it. RESIZED is that of a job that is being resized now (resizes.h), 0: it never was.
 */
void job_copy_facts(const struct job_record *job, uint64_t resized, struct job_facts *ret);

void job_copy_key(const struct job_facts *f, struct job_key *ret);

/* What slurm.conf says. */
void job_copy_site(struct job_site *ret);

#endif
