/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurmdb_child.h - the worker process of slurmdb_client.c. This module starts and kills it, writes
 * a question to it, and reads the lines of its answer. No function waits, except for a moment for
 * the end of a killed worker.
 */
#ifndef CEEMS_RECORDER_SLURMDB_CHILD_H
#define CEEMS_RECORDER_SLURMDB_CHILD_H

#include <sys/types.h>

#include "recorder/slurmdb_rows.h"

/* The most killed workers that may still exist. */
#define SLURMDB_DYING_MAX 4

struct slurmdb_child {
	char *const *argv; /* borrowed */
	uint64_t memory_max;
	int fd; /* -1: none runs */
	pid_t pid;
	uint64_t born_ns;
	pid_t dying[SLURMDB_DYING_MAX];
	/*
	 * The answer so far: USED bytes. Lines up to SCANNED were looked at, lines up to TAKEN were
	 * returned.
	 */
	uint64_t number; /* of the question */
	char *buf;	 /* owned */
	size_t used, scanned, taken, room;
	size_t rows;
	char complaint[160]; /* the worker's last line that is not part of an answer, such as an error of
				libslurm */
	char why[200];	     /* of the last failure */
};

/* Before the first use, set argv and memory_max, set fd to -1, and zero the rest. */
void slurmdb_child_fini(struct slurmdb_child *c);
/* -errno with c->why. */
int slurmdb_child_start(struct slurmdb_child *c, uint64_t now);
void slurmdb_child_stop(struct slurmdb_child *c);
/* Handles messages and the end of a worker that has no question. */
void slurmdb_child_look_at_idle(struct slurmdb_child *c, uint64_t now);

/* Forgets the last answer. The next answer is expected for question NUMBER. */
void slurmdb_child_begin(struct slurmdb_child *c, uint64_t number);
/*
 * Sends a question. One of 100 jobs has some 10 kB, which the socket takes at once. -EIO with
 * c->why.
 */
int slurmdb_child_send(struct slurmdb_child *c, const char *text, size_t len);
/*
 * Returns 1 if the answer is complete, 0 if there is nothing more to read now. Else the question
 * failed, with c->why. After -ECONNREFUSED and -EIO, which are the worker's own answers, the worker
 * can be asked again.
 */
int slurmdb_child_read(struct slurmdb_child *c);
/* Returns 1 with the next row of the answer; 0: there is no other; -EBADMSG with c->why. */
int slurmdb_child_next_row(struct slurmdb_child *c, struct slurmdb_job *ret);

#endif
