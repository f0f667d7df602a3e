/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * census.h - a slurmctld that is killed takes with it the job ends of its last milliseconds: they were
 * told, and not on disk yet. It may have saved before that these jobs are over, and then the next
 * slurmctld does not tell of them again. So this one compares, once, when it starts, the ended jobs
 * that slurmctld has with what the spool got last.
 *
 * Not to be had so: an earlier run of a job that was requeued in those milliseconds.
 */
#ifndef CEEMS_CENSUS_H
#define CEEMS_CENSUS_H

#include <stddef.h>
#include <stdint.h>

#include "jobcomp/store.h"

struct job_facts;

/* For so long the spool keeps what came in, so that it can be compared with. */
#define CENSUS_S 60

struct census {
	struct census_job {
		char *key;
		uint64_t end; /* the latest that was told; UINT64_MAX: not to be had, but its record is */
	} *job;		/* of the newest entries, sorted */
	size_t n, room;
	/* ends of the oldest and of the newest of these jobs that are known; 0: nothing to compare with */
	uint64_t since, until;
};

/*
 * Looks at the newest segments in SPOOL_DIR, before any of them is deleted, and at all of the refuge
 * (refuge.h), NULL: there is none. Trouble: none are known.
 */
void census_read(struct census *c, const char *spool_dir, const char *refuge_dir);

/*
 * Adds the jobs that are missing to the store and forgets the keys. Waits for slurmctld's lock, which
 * it has as it begins until its state is read.
 */
void census_run(struct census *c, struct store *store, const char *cluster);
void census_fini(struct census *c);

/*
 * Slurm's half, census_jobs.c: calls FN, under slurmctld's job read lock, for every job it has that
 * ended at SINCE or later.
 */
void census_jobs(uint64_t since, void (*fn)(void *arg, const struct job_facts *facts), void *arg);

#endif
