/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store_view.h - read access to the store on a connection of its own, beside the writer's. Sinks, the
 * recorder's metrics, `ceems store` and `ceems check` use it. Only store_view_refused_drop() writes. No call
 * leaves a transaction open, so no reader holds up the writer's checkpoints. Two threads must not use one view
 * at once.
 */
#ifndef CEEMS_STORE_VIEW_H
#define CEEMS_STORE_VIEW_H

#include "src/libstore/store.h"

struct store_view;

/*
 * -ENOENT: there is no store; -EPROTO: another layout; -EUCLEAN: corrupt. store_view_refused_drop() needs
 * WRITABLE.
 */
int store_view_open(const char *dir, bool writable, struct store_view **ret, struct errmsg *err);
void store_view_close(struct store_view *v);

struct store_row {
	uint64_t seq;
	enum store_kind kind;
	uint64_t time;	 /* when it was appended, seconds since the epoch */
	const char *key; /* NUL-ended; key and json are valid until FN returns */
	size_t key_len;
	const char *json;
	size_t json_len;
	const char *reason; /* why the sink refused the record; NULL: it did not */
};

/* Which rows to read; zeroed: all. */
struct store_pick {
	uint64_t after;	     /* only rows with a larger seq */
	unsigned int kinds;  /* STORE_MASK() */
	const char *key;     /* of a record, with its parts */
	uint64_t job_id;     /* of the key */
	const char *refused; /* only what this sink refused */
	size_t max_rows, max_bytes; /* the row that reaches max_bytes is the last */
};

/*
 * Calls FN for each row, in the order of seq. Returns 1 at max_rows or max_bytes, when more rows may follow, and 0
 * after the last row. A negative result of FN ends the walk and is returned; PICK->after is the caller's to move on.
 */
typedef int store_row_fn(void *ctx, const struct store_row *row);
int store_view_records(struct store_view *v, const struct store_pick *pick, store_row_fn *fn, void *ctx,
		       struct errmsg *err);

/* The cursor of SINK; 0: it has none, or nothing yet. */
int store_view_cursor(struct store_view *v, const char *sink, uint64_t *ret, struct errmsg *err);

struct store_sink_status {
	char name[STORE_SINK_NAME_MAX];
	uint64_t seq;
	uint64_t waiting, waiting_bytes; /* records of KINDS behind the cursor */
	uint64_t oldest;		 /* time of the first such record; 0: none */
	uint64_t refused;
};

/* The status of SINK, which takes records of KINDS. */
int store_view_sink(struct store_view *v, const char *sink, unsigned int kinds,
		    struct store_sink_status *ret, struct errmsg *err);
/* Every sink that has a cursor. */
typedef int store_sink_fn(void *ctx, const char *name);
int store_view_sinks(struct store_view *v, store_sink_fn *fn, void *ctx, struct errmsg *err);

struct store_status {
	uint64_t jobs[STORE_JOB_CORRECTED + 1]; /* by enum store_job_state */
	uint64_t overdue;	/* jobs whose next_try is before now */
	uint64_t oldest_due;	/* the earliest next_try of these jobs; 0: none */
	uint64_t records, record_bytes;
	uint64_t used_bytes, file_bytes;
	uint64_t layout;
};
int store_view_status(struct store_view *v, uint64_t now, struct store_status *ret, struct errmsg *err);

/* Counts that take hardly any time, however many records wait. */
struct store_counts {
	uint64_t jobs[STORE_JOB_CORRECTED + 1]; /* by enum store_job_state */
	uint64_t oldest_end; /* of jobs without a record; 0: there is none */
	uint64_t records;
	uint64_t file_bytes;
};
int store_view_counts(struct store_view *v, struct store_counts *ret, struct errmsg *err);

struct store_sink_lag {
	/* Records of any kind behind the cursor; 0 if none of them is of KINDS. */
	uint64_t waiting;
	uint64_t oldest; /* time of the first of KINDS; 0: none */
	uint64_t refused;
};
int store_view_sink_lag(struct store_view *v, const char *sink, unsigned int kinds, struct store_sink_lag *ret,
			struct errmsg *err);

/* As store_meta_get(). */
int store_view_meta(struct store_view *v, const char *name, void *buf, size_t size, size_t *ret_len,
		    struct errmsg *err);

/* 1: a process writes the store in DIR, 0: none does; -ENOENT: there is no store. */
int store_view_has_writer(const char *dir, struct errmsg *err);

/* SINK has taken record SEQ, which it had refused: the store may delete the record. */
int store_view_refused_drop(struct store_view *v, const char *sink, uint64_t seq, struct errmsg *err);

#endif
