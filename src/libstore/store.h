/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store.h - jobs that ceems-recorder has not finished, and records that it has not delivered: one
 * SQLite file "store.db" on a local disk. ceems-store(5) describes the tables.
 *
 * One process writes (flock on "lock"); all others read beside it (store_view.h). Each change is
 * one transaction in WAL mode with synchronous=FULL. After store_commit(), a power cut takes
 * nothing back.
 *
 * Any thread may write. store_begin() takes a mutex that store_commit() and store_rollback()
 * release. Calls between them, reads included, belong to that transaction. Functions that need no
 * store_begin() say so. The store owns the texts and data that it returns; they are valid until the
 * next call.
 *
 * Errors: -ENOSPC the disk or StoreMaxSize is full; -EROFS, -EACCES; -EIO the disk failed; -EBUSY another
 * program holds SQLite's lock; -EUCLEAN the file is corrupt; -ENOMEM; -EMSGSIZE the row is over STORE_ROW_MAX.
 * After an error the caller must call store_rollback(). The store itself logs when writing begins to fail and
 * when it works again, once each; callers retry and log nothing.
 *
 * No other code of the process may open and close store.db, because the close() drops SQLite's locks.
 */
#ifndef CEEMS_STORE_H
#define CEEMS_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libutil/errmsg.h"

#define STORE_FILE "store.db"
#define STORE_ROW_MAX ((size_t)64 << 20)
#define STORE_SINK_NAME_MAX 32

/* Of the table `record`. The numbers are in the file. */
enum store_kind {
	STORE_RECORD = 1, /* schema ceems.job.v1 */
	STORE_STEPS = 2,  /* steps for which the record had no room, ceems.steps.v1 */
	STORE_START = 3,  /* a job began, ceems.job_start.v1 */
};
#define STORE_MASK(kind) (1u << (kind))
/* "record", "steps", "start"; "unknown". */
const char *store_kind_name(enum store_kind kind);
/* 0: no such name. */
enum store_kind store_kind_by_name(const char *name);

/* Of the table `job`. */
enum store_job_state {
	STORE_JOB_ENDED = 1,	 /* no record yet */
	STORE_JOB_FINAL = 2,	 /* has a record; a correction may follow */
	STORE_JOB_CORRECTED = 3, /* no correction will follow; the row is deleted an hour after the end of the job */
};
const char *store_job_state_name(enum store_job_state state);

struct store;

struct store_options {
	const char *dir;    /* StoreDir; made if it is not there */
	uint64_t max_bytes; /* StoreMaxSize; 0: no limit */
	uint64_t (*now)(void); /* wall clock in seconds; NULL: time() */
};

/*
 * -EBUSY: another process has the store open (after a restart perhaps for a moment); -EREMOTE: DIR is on a
 * network file system; -EPROTO: the file has another layout. A corrupt file is renamed to
 * "store.db.corrupt-TIME", with one log line, and a new file is begun; store_is_new() is then true.
 */
int store_open(const struct store_options *o, struct store **ret, struct errmsg *err);
/* No other thread may be in a call. Renames the file, as store_open() does, if it was found corrupt meanwhile. */
void store_close(struct store *s);
/* This store_open() made the file, so it has no job of the time before. Needs no store_begin(). */
bool store_is_new(const struct store *s);

int store_begin(struct store *s, struct errmsg *err);
/*
 * Begins a transaction that only reads. Does not wait for another program that holds SQLite's lock. End the transaction
 * with store_rollback(). A write in it is an error.
 */
int store_begin_read(struct store *s, struct errmsg *err);
/* Wakes store_wait_records() if records were appended. After an error, the store is as after store_rollback(). */
int store_commit(struct store *s, struct errmsg *err);
void store_rollback(struct store *s);

/* --- jobs: the recorder's state machine --------------------------------------------------------- */

#define STORE_NEVER UINT64_MAX

struct store_job {
	const char *key; /* record_key() */
	enum store_job_state state;
	uint64_t next_try; /* seconds since the epoch; STORE_NEVER: nothing to do */
	uint64_t ended;    /* end of the job, seconds since the epoch; 0: unknown */
	const void *facts; /* struct job_facts, the used part; NULL: none */
	size_t facts_len;
};

/*
 * Inserts or replaces a job. -ENOSPC: the job is new and the store holds more than 3/4 of
 * max_bytes. The last quarter is kept for the records of the jobs that the store already has.
 */
int store_job_put(struct store *s, const struct store_job *job, struct errmsg *err);
/*
 * Returns 1, or 0 if there is no such job. RET's texts and facts are valid until the next call or the end of
 * the transaction.
 */
int store_job_get(struct store *s, const char *key, struct store_job *ret, struct errmsg *err);
/* Changes state and next_try only. -ENOENT: there is no such job. */
int store_job_set(struct store *s, const char *key, enum store_job_state state, uint64_t next_try,
		  struct errmsg *err);
int store_job_delete(struct store *s, const char *key, struct errmsg *err);

/*
 * Calls FN for at most MAX jobs whose next_try is not after NOW, earliest first. FN may change any job. A
 * negative result of FN ends the walk and is returned.
 */
typedef int store_job_fn(void *ctx, const struct store_job *job);
int store_jobs_due(struct store *s, uint64_t now, size_t max, store_job_fn *fn, void *ctx,
		   struct errmsg *err);
/* The earliest next_try; STORE_NEVER: there is none. */
int store_jobs_next_due(struct store *s, uint64_t *ret, struct errmsg *err);
/*
 * Calls FN for the MAX jobs that were inserted last, newest first, without their facts. FN must not change the store. A
 * negative result of FN ends the walk and is returned.
 */
int store_jobs_last(struct store *s, size_t max, store_job_fn *fn, void *ctx, struct errmsg *err);
/* The earliest end of a job that has no record yet, or whose record a sink lacks. 0: there is none. */
int store_oldest_end(struct store *s, uint64_t *ret, struct errmsg *err);

/* --- records ------------------------------------------------------------------------------------ */

/*
 * *RET_SEQ (may be NULL) gets the record's number, which grows with every record and is never used twice. -ENOSPC:
 * the store would be larger than max_bytes.
 */
int store_record_append(struct store *s, enum store_kind kind, const char *key, const char *json,
			size_t len, uint64_t ended, uint64_t *ret_seq, struct errmsg *err);

/*
 * store_put.c: appends R, in parts if it is long. A script that is too long for a message is left out. KEY is R's record_key().
 */
struct record;
int store_put_record(struct store *s, const char *key, struct record *r, struct errmsg *err);

/* --- sinks -------------------------------------------------------------------------------------- */

/*
 * Sets the sinks for which records are kept, separated by commas ("file,kafka"). A new sink starts at the oldest
 * record in the store. A sink that is no longer named keeps its cursor, but no record is kept for it. Needs no
 * store_begin().
 */
int store_set_sinks(struct store *s, const char *names, struct errmsg *err);

struct store_refusal {
	uint64_t seq;
	const char *reason;
};

/*
 * Notes that SINK has all records up to and including SEQ, except REFUSAL[n] (ascending). This is
 * one transaction of its own, without store_begin(). A refused record stays in the store until it
 * is replayed, or until that sink takes a later record with the same key.
 */
int store_sink_settle(struct store *s, const char *sink, uint64_t seq,
		      const struct store_refusal *refusal, size_t n, struct errmsg *err);

/*
 * Waits at most TIMEOUT_NS for a record with a number above *SEEN, and sets *SEEN to the newest number. Needs no
 * store_begin().
 */
void store_wait_records(struct store *s, uint64_t *seen, uint64_t timeout_ns);
/* From now on store_wait_records() returns at once; for the end of the process. */
void store_end_waits(struct store *s);

/* --- what is kept for the caller ---------------------------------------------------------------- */

/* struct inbox_pos: the store has all entries of the inbox before this position. */
#define STORE_META_INBOX "inbox"
/* uint64_t: when the store was made. Jobs that ended before are not the recorder's. */
#define STORE_META_BEGUN "begun"

/*
 * Reads the value NAME (such as STORE_META_INBOX). Returns 1 and sets *RET_LEN, at most SIZE, or returns 0 if there is no
 * such value. -EMSGSIZE: SIZE is too small.
 */
int store_meta_get(struct store *s, const char *name, void *buf, size_t size, size_t *ret_len,
		   struct errmsg *err);
int store_meta_set(struct store *s, const char *name, const void *data, size_t len,
		   struct errmsg *err);

/* --- upkeep ------------------------------------------------------------------------------------- */

/*
 * Deletes the records that every sink has and none refused, and the jobs that are STORE_JOB_CORRECTED and
 * ended before JOBS_BEFORE. Returns the number of deleted rows. If this is STORE_RECLAIM_MAX or more, call
 * the function again soon. Needs no store_begin().
 */
#define STORE_RECLAIM_MAX 2000
int store_reclaim(struct store *s, uint64_t jobs_before, struct errmsg *err);

/*
 * True while a call of another thread has waited for the disk for more than 30 s, which is logged once.
 * This function never waits. Needs no store_begin().
 */
bool store_is_stuck(struct store *s);

struct store_size {
	uint64_t used_bytes; /* of rows; the file may be larger */
	uint64_t max_bytes;
	bool is_full;	     /* new jobs are not taken */
};
/* As of the last transaction. Needs no store_begin(). */
void store_get_size(struct store *s, struct store_size *ret);

#endif
