/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurmdb_wire.h - the protocol between the recorder and its worker that asks slurmdbd: lines of
 * text on one socket. The socket is also the worker's standard error, so messages of libslurm
 * arrive on it, too.
 *
 * A question is the line
 *
 *	ask VERSION N jobs|window|ping COUNT FROM TO NO_USAGE CLUSTER|-
 *
 * With "jobs", COUNT lines follow:
 *
 *	want JOB ARRAY TASK HET OFFSET SUBMIT FLAGS END NSTEPS
 *
 * The answer has one line per row, with RECORD in JSON, and a last line with the question's number
 * N:
 *
 *	job STATE MISSING HALF ENERGY|- RECORD
 *	done N COUNT (the number of rows), or failed N ERRNO TEXT
 */
#ifndef CEEMS_SLURMDB_WIRE_H
#define CEEMS_SLURMDB_WIRE_H

#include <stdio.h>

#include "slurmdb/slurmdb_rows.h"
#include "src/libutil/must_check.h"

/*
 * Raise it when the protocol changes: after an update of the package, the worker may be newer than
 * the recorder.
 */
#define SLURMDB_WIRE_VERSION 1
#define SLURMDB_WIRE_LINE_MAX 512 /* longest line of a question */

enum slurmdb_wire_kind { SLURMDB_WIRE_JOBS, SLURMDB_WIRE_WINDOW, SLURMDB_WIRE_PING };

struct slurmdb_wire_ask {
	unsigned int version;
	uint64_t number;
	enum slurmdb_wire_kind kind;
	size_t count; /* number of "want" lines, at most SLURMDB_ASK_MAX */
	uint64_t from, to;
	bool no_usage;
	char cluster[256]; /* empty: all clusters */
};

void slurmdb_wire_put_ask(FILE *f, const struct slurmdb_wire_ask *ask);
void slurmdb_wire_put_want(FILE *f, const struct slurmdb_want *want);
/* Parse LINE, which has no newline. -EINVAL: malformed; -EPROTO: another version. */
int slurmdb_wire_get_ask(const char *line, struct slurmdb_wire_ask *ret) _must_check_;
int slurmdb_wire_get_want(const char *line, struct slurmdb_want *ret) _must_check_;

/*
 * Writes one row. -ENOMEM; -EINVAL: the record cannot be written as JSON. On error nothing is
 * written.
 */
int slurmdb_wire_put_job(FILE *f, const struct slurmdb_job *job);
void slurmdb_wire_put_done(FILE *f, uint64_t number, size_t count);
void slurmdb_wire_put_failed(FILE *f, uint64_t number, int rc, const char *text);

enum slurmdb_wire_answer {
	SLURMDB_WIRE_OTHER, /* other text, from libslurm or the dynamic linker */
	SLURMDB_WIRE_JOB,
	SLURMDB_WIRE_DONE,
	SLURMDB_WIRE_FAILED,
};
/* Returns what kind of line LINE[len] is. */
enum slurmdb_wire_answer slurmdb_wire_answer(const char *line, size_t len);
/* Parses a row; the caller destroys ret->record. -EINVAL, -ENOMEM. */
int slurmdb_wire_get_job(const char *line, size_t len, struct slurmdb_job *ret) _must_check_;
/* Parse LINE, which is NUL-ended. -EINVAL. */
int slurmdb_wire_get_done(const char *line, uint64_t *ret_number, size_t *ret_count) _must_check_;
int slurmdb_wire_get_failed(const char *line, uint64_t *ret_number, int *ret_rc,
			    const char **ret_text) _must_check_;

#endif
