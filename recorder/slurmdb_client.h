/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurmdb_client.h - questions to slurmdbd with a deadline. libslurm waits for slurmdbd up to 900
 * s. So a child process asks (`ceems-recorder --ask-slurmdbd`), and is killed when it is late.
 *
 * The client takes any number of requests (struct slurmdb_want) and answers each of them exactly once. It
 * asks for at most SLURMDB_ASK_MAX jobs at a time. If a question fails, but slurmdbd answers a small one, the
 * same jobs are asked for in halves, down to one job. If a job fails alone SLURMDB_ALONE_MAX times, its request
 * is answered without steps. Meanwhile the other requests go on. If slurmdbd does not answer the small question
 * either, each waiting request is answered with SLURMDB_NO_ANSWER, and the caller decides when to ask again. The
 * halves and the failures are kept until then, so that a job that makes slurmdbd crash is also found. Jobs
 * without failures are asked for first.
 *
 * One thread; nothing here waits.
 */
#ifndef CEEMS_RECORDER_SLURMDB_CLIENT_H
#define CEEMS_RECORDER_SLURMDB_CLIENT_H

#include "recorder/slurmdb_rows.h"

#define SLURMDB_ALONE_MAX 3

struct slurmdb_client_options {
	/*
	 * The worker's command, NULL-terminated, such as { "/usr/sbin/ceems-recorder",
	 * "--ask-slurmdbd", NULL }; borrowed.
	 */
	char *const *argv;
	const char *cluster;  /* ClusterName; NULL: every cluster of that slurmdbd; borrowed */
	bool no_usage;	      /* JobAcctGatherType=none: no step has usage */
	uint64_t deadline_ns; /* time limit of a question; 0: 20 s */
	uint64_t memory_max;  /* address space of the worker in bytes; 0: 2 GiB */
};

struct slurmdb_client;
int slurmdb_client_create(const struct slurmdb_client_options *o, struct slurmdb_client **ret,
			  struct errmsg *err);
/* Kills the worker without waiting for its end. Questions that have no answer yet are forgotten. NULL: no-op. */
void slurmdb_client_destroy(struct slurmdb_client *c);

/* Asks for the one row with job_id and submit of WANT. The answer has the same TAG. -ENOMEM. */
int slurmdb_client_ask(struct slurmdb_client *c, const struct slurmdb_want *want, uint64_t tag);
/*
 * Asks for the jobs that ended from FROM to TO (slurmdb_rows_window()), in one question. Gives one
 * answer per job, then SLURMDB_WINDOW_END, SLURMDB_WINDOW_FAILED or SLURMDB_NO_ANSWER. After the
 * last two a job may come again.
 */
int slurmdb_client_ask_window(struct slurmdb_client *c, uint64_t from, uint64_t to, uint64_t tag);
struct slurmdb_client_stats {
	uint64_t questions, failures; /* include the small questions whether slurmdbd answers */
	uint64_t ns;  /* time of all questions */
	bool is_up;   /* the last question was answered */
};
void slurmdb_client_get_stats(const struct slurmdb_client *c, struct slurmdb_client_stats *ret);
/* The number of requests that are not answered yet. */
size_t slurmdb_client_pending(const struct slurmdb_client *c);

enum slurmdb_answer_kind {
	SLURMDB_JOB,	    /* job.state may be SLURMDB_ABSENT: no row */
	SLURMDB_JOB_ALONE,  /* the row without its steps, because slurmdbd did not answer with them */
	SLURMDB_NO_ANSWER,  /* see reason */
	SLURMDB_WINDOW_JOB, /* a job of a window */
	SLURMDB_WINDOW_END, /* the window is done */
	/* The question failed although slurmdbd was up: ask for a shorter window. See reason. */
	SLURMDB_WINDOW_FAILED,
};

struct slurmdb_answer {
	enum slurmdb_answer_kind kind;
	uint64_t tag;
	struct slurmdb_job job; /* the caller destroys job.record, which may be NULL */
	char reason[200];	/* of SLURMDB_NO_ANSWER and SLURMDB_WINDOW_FAILED */
};

/*
 * Returns 1 with the next answer, or 0 if there is none now. Starts, asks and kills the worker as needed.
 * Call it after asking, when the fd is readable, and when the time slurmdb_client_due() is over, each time
 * until it returns 0.
 */
int slurmdb_client_take(struct slurmdb_client *c, uint64_t now_mono_ns, struct slurmdb_answer *ret);
/* The descriptor to poll for POLLIN; -1: no worker runs. It may change with each call of this interface. */
int slurmdb_client_fd(const struct slurmdb_client *c);
/* When to call slurmdb_client_take() even if the fd is not readable, by CLOCK_MONOTONIC; UINT64_MAX: never. */
uint64_t slurmdb_client_due(const struct slurmdb_client *c);

#endif
