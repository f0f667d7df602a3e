/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * steps.h - reads the steps of ended jobs from slurmdbd. They are nowhere else: slurmctld forgets a
 * step when it ends, and what the nodes measured beyond energy goes to slurmdbd only.
 *
 * Over a connection of our own: slurmctld's is the one its job starts go through, and a slow query
 * there would hold them up. (Slurm's own way to open a second one, slurmdb_connection_get(),
 * would take slurmctld's away from it: accounting_storage_slurmdbd knows one per process.)
 */
#ifndef CEEMS_STEPS_H
#define CEEMS_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "jobcomp/outcome.h"
#include "src/librecord/record.h"

enum steps_state {
	STEPS_ABSENT, /* slurmdbd has no row of this incarnation (yet) */
	STEPS_OPEN,   /* the job or a step has not ended there yet, as far as it was told */
	STEPS_ENDED,
};

struct steps_query {
	uint32_t job_id;
	uint64_t submit; /* with it, one row: of an incarnation, or of a part of it (job_facts.h) */
	uint64_t end;	 /* as it was told; 0: unknown */
	bool all_told;	 /* nothing more of it will come to slurmdbd (dbd_told.h) */
	bool is_relayed; /* nobody knows when that is (finality.h) */
	/*
	 * Borrowed, NULL: not needed. What it does not know of the job is filled from slurmdbd's row
	 * (job_refill.h): the hook's queue had room for its key only.
	 */
	struct record *refill;
	bool wants_script; /* RecordScript, of a batch job */
	/*
	 * the answer, in which all_told may have become false; the steps are the caller's to destroy, the
	 * script to free()
	 */
	enum steps_state state;
	bool is_saved; /* there are messages that may be about it and wait on disk (dbd_saved.h) */
	bool unsure; /* the job has ended there, but more may come, or its steps be of before */
	struct record_step *steps;
	size_t nsteps;
	struct maybe_u64 job_energy_j; /* sacct's job row */
	uint64_t db_index;
	struct outcome outcome; /* of a job that has ended there */
	char *script; /* NULL: there is none, or it was not asked for */
};

struct steps;

/*
 * Takes slurmdbd's address from slurm_conf, so call it where that is stable (the plugin's init()).
 * Connects to nothing yet. *STOP turns nonzero when the daemon ends: waiting ends then. -ENOENT:
 * accounting is not done with slurmdbd.
 */
int steps_create(const char *cluster, time_t *stop, struct steps **ret, struct errmsg *err);
void steps_destroy(struct steps *s);

/* Whether the daemon ends, so that a question that is underway has no answer. */
bool steps_is_stopping(const struct steps *s);

/*
 * Answers N queries with one question to slurmdbd, and one per STEPS_SCRIPTS scripts; at most about
 * STEPS_TIMEOUT_S each. -EAGAIN: slurmdbd does not answer. A job whose script it should have told
 * and did not is STEPS_OPEN.
 */
#define STEPS_TIMEOUT_S 10
#define STEPS_SCRIPTS 64
int steps_fetch(struct steps *s, struct steps_query *q, size_t n, struct errmsg *err);

#endif
