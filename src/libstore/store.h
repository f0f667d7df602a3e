/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store.h - keeps the jobs that ceems-recorder has not finished and the records that it has not
 * delivered, in one SQLite file "store.db" on a local disk. ceems-store(5) describes the tables.
 *
 * One process writes (flock() on "lock"); others read beside it (store_view.h). Each change is one
 * transaction in WAL mode with synchronous=FULL: after store_commit(), a power cut loses nothing.
 *
 * Any thread may write. store_begin() takes a mutex; store_commit() and store_rollback() release
 * it. All calls in between, reads included, belong to that transaction. A function that needs no
 * store_begin() says so. Returned texts and data belong to the store and are valid until the next
 * call.
 *
 * Errors of all functions: -ENOSPC: the disk or StoreMaxSize is full; -EROFS, -EACCES: no
 * permission; -EIO: the disk failed; -EBUSY: another program holds SQLite's lock; -EUCLEAN: the
 * file is corrupt; -ENOMEM; -EMSGSIZE: the row is longer than STORE_ROW_MAX. After an error, call
 * store_rollback(). The store logs when writing begins to fail and when it works again; callers
 * retry and log nothing.
 *
 * No other code of the process may open and close store.db: by POSIX, that close() drops SQLite's
 * locks.
 */
#ifndef CEEMS_STORE_H
#define CEEMS_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <inttypes.h>
#include <stdint.h>

#include "src/libutil/errmsg.h"

#define STORE_FILE "store.db"
#define STORE_ROW_MAX ((size_t)64 << 20)
#define STORE_SINK_NAME_MAX 32

/* Kinds of rows in table `record`. The numbers are stored in the file. */
enum store_kind {
	STORE_RECORD = 1, /* schema ceems.job.v1 */
	STORE_STEPS = 2,  /* steps for which the record had no room, schema ceems.steps.v1 */
	STORE_START = 3,  /* a job started, schema ceems.job_start.v1 */
};
#define STORE_MASK(kind) (1u << (kind))
/* Returns "record", "steps" or "start"; "unknown" for another number. */
const char *store_kind_name(enum store_kind kind);
/* Returns the kind with this name; 0: there is none. */
enum store_kind store_kind_by_name(const char *name);

/* States of rows in table `job`. The numbers are stored in the file. */
enum store_job_state {
	STORE_JOB_ENDED = 1,	 /* has no record yet */
	STORE_JOB_FINAL = 2,	 /* has a record; a correction may follow */
	STORE_JOB_CORRECTED = 3, /* has a record; no correction will follow */
};
const char *store_job_state_name(enum store_job_state state);

struct store;

struct store_options {
	const char *dir;       /* StoreDir; created if missing */
	uint64_t max_bytes;    /* StoreMaxSize in bytes; 0: no limit */
	uint64_t (*now)(void); /* wall clock in seconds; NULL: time() */
};

/*
 * Opens or creates the store in o->dir; close it with store_close(). -EBUSY: another process has it
 * open. -EREMOTE: o->dir is on a network file system. -EPROTO: the file has another layout. A
 * corrupt file is renamed to "store.db.corrupt-TIME", which is logged, and a new file is created;
 * store_is_new() is then true.
 */
int store_open(const struct store_options *o, struct store **ret, struct errmsg *err) _must_check_;
/*
 * Frees the store; no other thread may be in a call. A file found corrupt since store_open() is
 * renamed. NULL: no-op.
 */
void store_close(struct store *s);
/* Whether store_open() created the file, so that it has no earlier jobs. Needs no store_begin(). */
bool store_is_new(const struct store *s);

/*
 * Begins a transaction and locks out other threads. Returns 0, or -errno with no transaction begun.
 */
int store_begin(struct store *s, struct errmsg *err);
/*
 * Begins a transaction that only reads, even while another program holds SQLite's lock. A write in
 * it is an error. End it with store_rollback().
 */
int store_begin_read(struct store *s, struct errmsg *err);
/*
 * Ends the transaction; wakes store_wait_records() if records were appended. On error nothing is
 * changed and the transaction has ended, as by store_rollback().
 */
int store_commit(struct store *s, struct errmsg *err);
/* Ends the transaction and undoes its changes. */
void store_rollback(struct store *s);

/*
 * --- jobs
 * -----------------------------------------------------------------------------------------
 */

#define STORE_NEVER UINT64_MAX

struct store_job {
	const char *key; /* see record_key() */
	enum store_job_state state;
	/* when to handle the job again, seconds since the epoch; STORE_NEVER: never */
	uint64_t next_try;
	uint64_t ended;	   /* end of the job, seconds since the epoch; 0: unknown */
	const void *facts; /* used part of struct job_facts; NULL: none */
	size_t facts_len;
};

/*
 * Inserts a job, or replaces the job with the same key. -ENOSPC: the job is new and more than 3/4
 * of max_bytes are used. The last quarter is kept for the records of jobs already in the store.
 */
int store_job_put(struct store *s, const struct store_job *job, struct errmsg *err);
/*
 * Finds a job by its key. Returns 1, or 0 if there is none. Texts and facts of RET are valid until
 * the next store_job_get() or the end of the transaction.
 */
int store_job_get(struct store *s, const char *key, struct store_job *ret, struct errmsg *err) _must_check_;
/* Changes only state and next_try of a job. -ENOENT: there is no such job. */
int store_job_set(struct store *s, const char *key, enum store_job_state state, uint64_t next_try,
		  struct errmsg *err);
/* Deletes a job; no error if there is none. */
int store_job_delete(struct store *s, const char *key, struct errmsg *err);

/*
 * Calls FN for at most MAX jobs whose next_try is NOW or earlier, in the order of next_try. FN may
 * change any job. A negative result of FN ends the walk and is returned.
 */
typedef int store_job_fn(void *ctx, const struct store_job *job);
int store_jobs_due(struct store *s, uint64_t now, size_t max, store_job_fn *fn, void *ctx,
		   struct errmsg *err);
/*
 * Makes jobs due whose next_try is more than PAUSE_MAX seconds away: the clock was set back since
 * it was written.
 */
int store_jobs_pull(struct store *s, uint64_t now, uint64_t pause_max, struct errmsg *err);
/* Returns the earliest next_try; STORE_NEVER: no job has one. */
int store_jobs_next_due(struct store *s, uint64_t *ret, struct errmsg *err) _must_check_;
/*
 * Calls FN for the MAX jobs inserted last, newest first, without their facts. FN must not change
 * the store. A negative result of FN ends the walk and is returned.
 */
int store_jobs_last(struct store *s, size_t max, store_job_fn *fn, void *ctx, struct errmsg *err);
/*
 * Returns the earliest end of a job that has no record yet, or whose record a sink lacks; 0: none.
 */
int store_oldest_end(struct store *s, uint64_t *ret, struct errmsg *err) _must_check_;

/* --- records ------------------------------------------------------------------------------------ */

/*
 * Appends a record. *RET_SEQ (may be NULL) is its number; numbers grow and are never reused. ENDED
 * is the job's end (0: none). -ENOSPC: more than max_bytes are used.
 */
int store_record_append(struct store *s, enum store_kind kind, const char *key, const char *json, size_t len,
			uint64_t ended, uint64_t *ret_seq, struct errmsg *err) _must_check_;

/*
 * store_put.c: appends R, in parts if it is long. A script that is too long for a message is left out. KEY is
 * R's record_key().
 */
struct record;
int store_put_record(struct store *s, const char *key, struct record *r, struct errmsg *err);

/* --- sinks -------------------------------------------------------------------------------------- */

/*
 * Sets the sinks for which records are kept, by name, separated by commas: "file,kafka". A new sink
 * begins with the oldest record in the store. A sink that is no longer named keeps its cursor, but
 * records are not kept for it. Needs no store_begin().
 */
int store_set_sinks(struct store *s, const char *names, struct errmsg *err);

struct store_refusal {
	uint64_t seq;
	const char *reason;
};

/*
 * Notes that SINK has all records up to SEQ, except the N in REFUSAL (ascending). Needs no
 * store_begin(). A refused record stays in the store until it is replayed, or until SINK takes a
 * later record with the same key.
 */
int store_sink_settle(struct store *s, const char *sink, uint64_t seq, const struct store_refusal *refusal,
		      size_t n, struct errmsg *err);

/*
 * Waits at most TIMEOUT_NS for a record whose number is above *SEEN, and sets *SEEN to the newest
 * number. Needs no store_begin().
 */
void store_wait_records(struct store *s, uint64_t *seen, uint64_t timeout_ns);
/* Makes store_wait_records() return at once from now on; used when the process ends. */
void store_end_waits(struct store *s);

/*
 * --- values that the store keeps for its caller -------------------------------------------------
 */

/* name of a struct inbox_pos: the store has all entries of the inbox before this position */
#define STORE_META_INBOX "inbox"
/* uint64_t: when the store was made. Jobs that ended before are not the recorder's. */
#define STORE_META_BEGUN "begun"
/*
 * lines "TIME NODES": nodes whose jobs they charged with the world mean although the site has an emission
 * factor (record_emissions.default_nodes), and when the last record of such a job was made, in seconds since
 * the epoch
 */
#define STORE_META_DEFAULT_NODES "default_nodes"
#define STORE_DEFAULT_NODES_MAX 4096 /* bytes of all lines */
/* for sscanf() of a line: a uint64_t, char[128], and how long the line is */
#define STORE_DEFAULT_NODES_LINE "%" SCNu64 " %127[^\n]\n%n"

/*
 * Reads the value NAME (such as STORE_META_INBOX) into BUF. Returns 1 and the length in *RET_LEN,
 * or 0 if there is no such value. -EMSGSIZE: SIZE is too small.
 */
int store_meta_get(struct store *s, const char *name, void *buf, size_t size, size_t *ret_len,
		   struct errmsg *err) _must_check_;
/* Stores the LEN bytes of DATA as value NAME. */
int store_meta_set(struct store *s, const char *name, const void *data, size_t len, struct errmsg *err);

/* --- upkeep ------------------------------------------------------------------------------------- */

/*
 * Deletes records that every sink has and none refused. Deletes jobs that have a record, have
 * next_try STORE_NEVER and ended before JOBS_BEFORE. Returns the number of deleted rows; if it is
 * STORE_RECLAIM_MAX or more, call again soon. Needs no store_begin().
 */
#define STORE_RECLAIM_MAX 2000
int store_reclaim(struct store *s, uint64_t jobs_before, struct errmsg *err);
/* Deletes jobs as store_reclaim() does, the oldest first, but none of the KEPT jobs inserted last. */
int store_reclaim_jobs(struct store *s, uint64_t jobs_before, uint64_t kept, struct errmsg *err);

/*
 * Whether a call in a transaction of another thread has waited for the disk for more than 30 s; logs
 * that once. Never waits. Needs no store_begin().
 */
bool store_is_stuck(struct store *s);

struct store_size {
	uint64_t used_bytes; /* bytes of rows; the file may be larger */
	uint64_t max_bytes;
	bool is_full; /* new jobs are refused, see store_job_put() */
	bool is_over; /* records are refused, too, see store_record_append() */
};
/* Returns the sizes as of the last transaction. Needs no store_begin(). */
void store_get_size(struct store *s, struct store_size *ret);

#endif
