/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job_copy.h - copies from slurmctld's structs what the recorder must know. All but job_copy_site() run under
 * slurmctld's job lock, and so allocate no memory and make no system call.
 */
#ifndef CEEMS_JOBCOMP_JOB_COPY_H
#define CEEMS_JOBCOMP_JOB_COPY_H

#include "src/libstore/job_facts.h"

struct job_record;

/*
 * Copies JOB to *RET. Of its texts, only the used part is written. A resized job has a row in slurmdbd, and
 * so a record, for each of its sizes. Submit, eligible and start time of such a record are the time of the
 * resize that began it. RESIZED is this time if the job is being resized now (resizes_note()), and 0 if it
 * was not resized before.
 */
void job_copy_facts(const struct job_record *job, uint64_t resized, struct job_facts *ret);

/* Copies those members of F by which the recorder finds the job in slurmdbd. */
void job_copy_key(const struct job_facts *f, struct job_key *ret);

/* Copies what the recorder must know of slurm.conf. */
void job_copy_site(struct cluster_facts *ret);

#endif
