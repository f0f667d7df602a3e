/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurmdb_client.h - asks slurmdbd with a deadline. libslurm may wait 900 s for slurmdbd. So a
 * child process (`ceems-recorder --ask-slurmdbd`) asks, and is killed when it is late.
 *
 * The client takes any number of requests (struct slurmdb_want) and answers each exactly once. It
 * asks for at most SLURMDB_ASK_MAX jobs at a time. If a question fails, but slurmdbd answers a
 * small question, the same jobs are asked for in halves, down to one job. A job that fails
 * SLURMDB_ALONE_MAX times alone is answered without steps. Other requests go on meanwhile.
 *
 * If slurmdbd does not answer the small question either, all waiting requests are answered with
 * SLURMDB_NO_ANSWER, and the caller decides when to ask again. Halves and failures are remembered
 * until then, so that a job that crashes slurmdbd is found. Jobs without failures are asked for
 * first.
 *
 * For use by one thread; no function waits.
 */
#ifndef CEEMS_SLURMDB_CLIENT_H
#define CEEMS_SLURMDB_CLIENT_H

#include "slurmdb/slurmdb_rows.h"
#include "src/libutil/must_check.h"

#define SLURMDB_ALONE_MAX 3

struct slurmdb_client_options {
	/*
	 * The worker's command, NULL-terminated and borrowed: { "/usr/sbin/ceems-recorder",
	 * "--ask-slurmdbd", NULL }.
	 */
	char *const *argv;
	const char *cluster;  /* ClusterName; NULL: all clusters of that slurmdbd; borrowed */
	bool no_usage;	      /* JobAcctGatherType=none: no step has usage */
	uint64_t deadline_ns; /* time limit of a question; 0: 20 s */
	uint64_t memory_max;  /* address space of the worker, in bytes; 0: 2 GiB */
};

struct slurmdb_client;
int slurmdb_client_create(const struct slurmdb_client_options *o, struct slurmdb_client **ret,
			  struct errmsg *err) _must_check_;
/* Kills the worker without waiting for its end, and forgets unanswered requests. NULL: no-op. */
void slurmdb_client_destroy(struct slurmdb_client *c);

/* Requests the one row with the job_id and submit of WANT; its answer has the same TAG. -ENOMEM. */
int slurmdb_client_ask(struct slurmdb_client *c, const struct slurmdb_want *want, uint64_t tag);
/*
 * Requests the jobs that ended from FROM to TO (slurmdb_rows_window()), in one question. There is
 * one answer per job, then SLURMDB_WINDOW_END, SLURMDB_WINDOW_FAILED or SLURMDB_NO_ANSWER. After
 * one of the last two, a repeated request may return a job again.
 */
int slurmdb_client_ask_window(struct slurmdb_client *c, uint64_t from, uint64_t to, uint64_t tag);
struct slurmdb_client_stats {
	/* include the small questions that test whether slurmdbd answers */
	uint64_t questions, failures;
	uint64_t ns; /* total time of all questions */
	bool is_up;  /* the last question was answered */
};
void slurmdb_client_get_stats(const struct slurmdb_client *c, struct slurmdb_client_stats *ret);
/* Returns the number of requests whose answer has not been taken yet. */
size_t slurmdb_client_pending(const struct slurmdb_client *c);

enum slurmdb_answer_kind {
	SLURMDB_JOB,	    /* the job's row; job.state may be SLURMDB_ABSENT: there is none */
	SLURMDB_JOB_ALONE,  /* the row without steps, because slurmdbd did not answer with them */
	SLURMDB_NO_ANSWER,  /* slurmdbd does not answer; see reason */
	SLURMDB_WINDOW_JOB, /* one job of a window */
	SLURMDB_WINDOW_END, /* the window is complete */
	/* the question failed although slurmdbd is up: ask for a shorter window; see reason */
	SLURMDB_WINDOW_FAILED,
};

struct slurmdb_answer {
	enum slurmdb_answer_kind kind;
	uint64_t tag;
	struct slurmdb_job job; /* the caller destroys job.record, which may be NULL */
	char reason[200];	/* for SLURMDB_NO_ANSWER and SLURMDB_WINDOW_FAILED */
};

/*
 * Returns 1 with the next answer in *RET, or 0: none now. Starts, asks and kills the worker as
 * needed. Call it after a request, when the fd is readable, and when slurmdb_client_due() is
 * reached; each time until it returns 0.
 */
int slurmdb_client_take(struct slurmdb_client *c, uint64_t now_mono_ns,
			struct slurmdb_answer *ret) _must_check_;
/*
 * Returns the fd to poll for POLLIN; -1: no worker runs. Any call of this interface may change it.
 */
int slurmdb_client_fd(const struct slurmdb_client *c);
/*
 * Returns when to call slurmdb_client_take() even if the fd is not readable, CLOCK_MONOTONIC;
 * UINT64_MAX: never.
 */
uint64_t slurmdb_client_due(const struct slurmdb_client *c);

#endif
