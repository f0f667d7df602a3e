/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store_view.h - reads the store on a connection of its own, beside the writer. Sinks, the
 * recorder's metrics, `ceems store` and `ceems check` use it. Only store_view_refused_drop()
 * writes. No call leaves a transaction open, so readers do not block the writer's checkpoints. Two
 * threads must not use one view at the same time.
 */
#ifndef CEEMS_STORE_VIEW_H
#define CEEMS_STORE_VIEW_H

#include "src/libstore/store.h"
#include "src/libutil/must_check.h"

struct store_view;

/*
 * Opens the store in DIR; close with store_view_close(). -ENOENT: there is no store, or it has no
 * tables yet; -EPROTO: another layout; -EUCLEAN: corrupt. Only store_view_refused_drop() needs
 * WRITABLE.
 */
int store_view_open(const char *dir, bool writable, struct store_view **ret, struct errmsg *err) _must_check_;
void store_view_close(struct store_view *v);

struct store_row {
	uint64_t seq;
	enum store_kind kind;
	uint64_t time;	 /* when the row was appended, seconds since the epoch */
	const char *key; /* NUL-ended; key, json and reason are valid until FN returns */
	size_t key_len;
	const char *json;
	size_t json_len;
	const char *reason; /* why the sink refused the record; NULL: not refused */
};

/* Selects rows; all zero selects all. */
struct store_pick {
	uint64_t after;		    /* only rows with a larger seq */
	unsigned int kinds;	    /* STORE_MASK() of several kinds; 0: all kinds */
	const char *key;	    /* only the record with this key, and its parts */
	uint64_t job_id;	    /* only rows whose key has this job id */
	const char *refused;	    /* only rows that this sink refused */
	size_t max_rows, max_bytes; /* the row that reaches max_bytes is the last one */
};

/*
 * Calls FN for each selected row, in the order of seq. Returns 1 when it stopped at max_rows or
 * max_bytes, and 0 after the last row. A negative result of FN ends the walk and is returned. The
 * caller moves PICK->after.
 */
typedef int store_row_fn(void *ctx, const struct store_row *row);
int store_view_records(struct store_view *v, const struct store_pick *pick, store_row_fn *fn, void *ctx,
		       struct errmsg *err);

/*
 * Sets *RET to the cursor of SINK, the number of the last settled row. 0: no cursor, or nothing settled yet.
 */
int store_view_cursor(struct store_view *v, const char *sink, uint64_t *ret, struct errmsg *err) _must_check_;

struct store_sink_status {
	char name[STORE_SINK_NAME_MAX];
	uint64_t seq;
	uint64_t waiting, waiting_bytes; /* records of KINDS behind the cursor */
	uint64_t oldest;		 /* time of the first such record; 0: none */
	uint64_t refused;
};

/* Returns the status of SINK, which takes records of KINDS. */
int store_view_sink(struct store_view *v, const char *sink, unsigned int kinds, struct store_sink_status *ret,
		    struct errmsg *err) _must_check_;
/* Calls FN with the name of every sink that has a cursor; a non-zero result of FN ends the walk. */
typedef int store_sink_fn(void *ctx, const char *name);
int store_view_sinks(struct store_view *v, store_sink_fn *fn, void *ctx, struct errmsg *err);

struct store_status {
	uint64_t jobs[STORE_JOB_CORRECTED + 1]; /* indexed by enum store_job_state */
	uint64_t overdue;			/* jobs whose next_try is NOW or earlier */
	uint64_t oldest_due;			/* earliest next_try of these jobs; 0: none */
	uint64_t records, record_bytes;
	uint64_t used_bytes, file_bytes;
	uint64_t layout;
};
/* Counts all rows; reads every record, so it takes long when many wait. */
int store_view_status(struct store_view *v, uint64_t now, struct store_status *ret,
		      struct errmsg *err) _must_check_;

/* Counts that are fast, however many records wait. */
struct store_counts {
	uint64_t jobs[STORE_JOB_CORRECTED + 1]; /* indexed by enum store_job_state */
	uint64_t oldest_end;			/* earliest end of a job without a record; 0: none */
	uint64_t records;
	uint64_t file_bytes;
};
int store_view_counts(struct store_view *v, struct store_counts *ret, struct errmsg *err) _must_check_;

struct store_sink_lag {
	/* records of any kind behind the cursor; 0 if none of them is of KINDS */
	uint64_t waiting;
	uint64_t oldest; /* time of the first record of KINDS behind the cursor; 0: none */
	uint64_t refused;
};
/* Returns how far SINK is behind; fast, however many records wait. */
int store_view_sink_lag(struct store_view *v, const char *sink, unsigned int kinds,
			struct store_sink_lag *ret, struct errmsg *err) _must_check_;

/* Like store_meta_get(). */
int store_view_meta(struct store_view *v, const char *name, void *buf, size_t size, size_t *ret_len,
		    struct errmsg *err) _must_check_;

/* Whether a process writes the store in DIR: 1 or 0. -ENOENT: there is no store. */
int store_view_has_writer(const char *dir, struct errmsg *err);

/*
 * Notes that SINK has taken record SEQ, which it had refused; the store may then delete the record.
 */
int store_view_refused_drop(struct store_view *v, const char *sink, uint64_t seq, struct errmsg *err);

#endif
