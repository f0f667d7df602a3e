/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurmdb_child.h - the worker process of slurmdb_client.c: starts and kills the worker, writes a
 * question to it, and reads the lines of its answer. No function waits, except for a moment for the
 * end of a killed worker.
 */
#ifndef CEEMS_SLURMDB_CHILD_H
#define CEEMS_SLURMDB_CHILD_H

#include <sys/types.h>

#include "slurmdb/slurmdb_rows.h"
#include "src/libutil/must_check.h"

/* Most killed workers that may still exist. */
#define SLURMDB_DYING_MAX 4

struct slurmdb_child {
	char *const *argv; /* borrowed */
	uint64_t memory_max;
	int fd; /* -1: no worker runs */
	pid_t pid;
	uint64_t born_ns;
	pid_t dying[SLURMDB_DYING_MAX];
	/*
	 * The answer so far has USED bytes: those before SCANNED were scanned, those before TAKEN
	 * returned.
	 */
	uint64_t number; /* number of the question */
	char *buf;	 /* owned */
	size_t used, scanned, taken, room;
	size_t rows;
	/* the worker's last line that is no answer, such as an error of libslurm */
	char complaint[160];
	char why[200]; /* reason of the last failure */
};

/*
 * Kills the worker and frees the buffers. Before the first use, set argv and memory_max, set fd to
 * -1, and zero the rest.
 */
void slurmdb_child_fini(struct slurmdb_child *c);
/* Starts a worker. Returns 0, or -errno with the reason in c->why. */
int slurmdb_child_start(struct slurmdb_child *c, uint64_t now);
/* Kills the worker without waiting. No-op if none runs. */
void slurmdb_child_stop(struct slurmdb_child *c);
/*
 * Between two questions: frees the buffer of a large answer, drops messages of the worker, and stops
 * it if it has ended or is old.
 */
void slurmdb_child_look_at_idle(struct slurmdb_child *c, uint64_t now);

/* Forgets the last answer; the next answer must have the NUMBER of the question. */
void slurmdb_child_begin(struct slurmdb_child *c, uint64_t number);
/*
 * Sends a question without waiting. A question for 100 jobs has some 10 kB, which fits into the
 * socket's buffer. -EIO: the reason is in c->why.
 */
int slurmdb_child_send(struct slurmdb_child *c, const char *text, size_t len);
/*
 * Reads more of the answer. 1: it is complete; 0: nothing more to read now; -errno: the question
 * failed, and c->why has the reason. After -ECONNREFUSED and -EIO, which the worker itself sent,
 * the worker can be asked again.
 */
int slurmdb_child_read(struct slurmdb_child *c);
/*
 * Returns the next row of the answer. 1: there is one; 0: no more; -EBADMSG: malformed, see c->why.
 */
int slurmdb_child_next_row(struct slurmdb_child *c, struct slurmdb_job *ret) _must_check_;

#endif
