/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurmdb_child.h - the worker process, for slurmdb_client.c: starts and kills it, writes a
 * question, reads the lines of the answer. Nothing here waits, except that it waits a moment for the end of
 * a process that it has killed.
 */
#ifndef CEEMS_RECORDER_SLURMDB_CHILD_H
#define CEEMS_RECORDER_SLURMDB_CHILD_H

#include <sys/types.h>

#include "recorder/slurmdb_rows.h"

/* At most so many killed workers may still exist. */
#define SLURMDB_DYING_MAX 4

struct slurmdb_child {
	char *const *argv; /* borrowed */
	uint64_t memory_max;
	int fd; /* -1: none runs */
	pid_t pid;
	uint64_t born_ns;
	pid_t dying[SLURMDB_DYING_MAX];
	/* The answer: USED bytes, of which lines up to SCANNED were looked at and up to TAKEN returned. */
	uint64_t number; /* of the question */
	char *buf;	 /* owned */
	size_t used, scanned, taken, room;
	size_t rows;
	char complaint[160]; /* what the worker said last that is no answer */
	char why[200];	     /* of the last failure */
};

/* All but argv and memory_max is zero and fd is -1 at first. */
void slurmdb_child_fini(struct slurmdb_child *c);
/* -errno with c->why. */
int slurmdb_child_start(struct slurmdb_child *c, uint64_t now);
void slurmdb_child_stop(struct slurmdb_child *c);
/* Of a worker that nobody has asked: what it complains of, and its end. */
void slurmdb_child_look_at_idle(struct slurmdb_child *c, uint64_t now);

/* Forgets the last answer; the next one is to question NUMBER. */
void slurmdb_child_begin(struct slurmdb_child *c, uint64_t number);
/* A question of 100 jobs has some 10 kB, which the socket holds at once. -EIO with c->why. */
int slurmdb_child_send(struct slurmdb_child *c, const char *text, size_t len);
/*
 * 1: the answer is complete. 0: nothing more for now. Else the question failed, with c->why; after
 * -ECONNREFUSED and -EIO, which the worker sent, the worker goes on.
 */
int slurmdb_child_read(struct slurmdb_child *c);
/* The next row of the answer: 1; 0: there is none; -EBADMSG with c->why. */
int slurmdb_child_next_row(struct slurmdb_child *c, struct slurmdb_job *ret);

#endif
