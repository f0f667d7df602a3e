/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurmdb_wire.h - the protocol between the recorder and its worker that asks slurmdbd: lines of
 * text over one socket. The worker's standard error is the same socket, so that complaints of
 * libslurm arrive.
 *
 * A question:
 *	ask VERSION N jobs|window|ping COUNT FROM TO NO_USAGE CLUSTER|-
 * and with "jobs" COUNT lines
 *	want JOB ARRAY TASK HET OFFSET SUBMIT FLAGS END NSTEPS
 * The answer:
 *	job STATE MISSING HALF ENERGY|- RECORD	in JSON; one line for each row
 *	done N COUNT				the question's number and how many rows there were
 *	failed N ERRNO TEXT			instead of done
 */
#ifndef CEEMS_RECORDER_SLURMDB_WIRE_H
#define CEEMS_RECORDER_SLURMDB_WIRE_H

#include <stdio.h>

#include "recorder/slurmdb_rows.h"

/* The worker may be of another version than the recorder, after a package was updated. */
#define SLURMDB_WIRE_VERSION 1
#define SLURMDB_WIRE_LINE_MAX 512 /* of a question */

enum slurmdb_wire_kind { SLURMDB_WIRE_JOBS, SLURMDB_WIRE_WINDOW, SLURMDB_WIRE_PING };

struct slurmdb_wire_ask {
	unsigned int version;
	uint64_t number;
	enum slurmdb_wire_kind kind;
	size_t count; /* of SLURMDB_WIRE_JOBS, at most SLURMDB_ASK_MAX */
	uint64_t from, to;
	bool no_usage;
	char cluster[256]; /* empty: all */
};

void slurmdb_wire_put_ask(FILE *f, const struct slurmdb_wire_ask *ask);
void slurmdb_wire_put_want(FILE *f, const struct slurmdb_want *want);
/* LINE has no newline. -EINVAL; -EPROTO: of another version. */
int slurmdb_wire_get_ask(const char *line, struct slurmdb_wire_ask *ret);
int slurmdb_wire_get_want(const char *line, struct slurmdb_want *ret);

/* -ENOMEM, -EINVAL: it has no record that JSON can carry; then nothing is written. */
int slurmdb_wire_put_job(FILE *f, const struct slurmdb_job *job);
void slurmdb_wire_put_done(FILE *f, uint64_t number, size_t count);
void slurmdb_wire_put_failed(FILE *f, uint64_t number, int rc, const char *text);

enum slurmdb_wire_answer {
	SLURMDB_WIRE_OTHER, /* none of these: of libslurm or the dynamic linker */
	SLURMDB_WIRE_JOB,
	SLURMDB_WIRE_DONE,
	SLURMDB_WIRE_FAILED,
};
/* What LINE, of LEN bytes, is. */
enum slurmdb_wire_answer slurmdb_wire_answer(const char *line, size_t len);
/* *ret's record is the caller's. -EINVAL, -ENOMEM. */
int slurmdb_wire_get_job(const char *line, size_t len, struct slurmdb_job *ret);
/* LINE ends in a zero, as the next one's. -EINVAL. */
int slurmdb_wire_get_done(const char *line, uint64_t *ret_number, size_t *ret_count);
int slurmdb_wire_get_failed(const char *line, uint64_t *ret_number, int *ret_rc,
			    const char **ret_text);

#endif
