/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store_internal.h - struct store; private to store.c and store_open.c.
 */
#ifndef CEEMS_STORE_INTERNAL_H
#define CEEMS_STORE_INTERNAL_H

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>

#include "src/libstore/store_db.h"
#include "src/libstore/store_sql.h"
#include "src/libutil/logger.h"

#define STORE_ENUM(name, text) STMT_##name,
enum store_stmt { STORE_STATEMENTS(STORE_ENUM) STMT_N };
#undef STORE_ENUM

struct store {
	char path[PATH_MAX];
	int lock_fd;
	uint64_t (*now)(void);
	uint64_t max_bytes;
	bool is_new;

	/* guards the members down to `full`, from store_begin() to store_commit() */
	pthread_mutex_t lock;
	sqlite3 *db;
	sqlite3_stmt *stmt[STMT_N]; /* prepared at first use */
	bool is_corrupt;
	bool wants_room;     /* the disk is full, maybe of SQLite's own log: make a checkpoint */
	bool has_appended;   /* this transaction appended records */
	uint64_t append_seq; /* number of the last record appended */
	uint64_t page_bytes, pages, free_pages;
	char sinks[128];
	struct logger_trouble trouble; /* whether writing fails */
	struct logger_trouble full;    /* whether max_bytes is reached */

	_Atomic uint64_t used_bytes;
	_Atomic uint64_t busy_since_ns; /* start of the transaction, or its last answer; 0: no transaction */
	atomic_bool is_stuck_told;

	pthread_mutex_t wait_lock; /* guards the members below */
	pthread_cond_t has_records;
	uint64_t last_seq;
	bool no_waits;
};

/*
 * Returns the statement, reset. NULL: ERR and *RET_RC have the error. Bind texts and data without a
 * copy.
 */
sqlite3_stmt *store_stmt(struct store *s, enum store_stmt which, int *ret_rc, struct errmsg *err);
/* Steps the statement. 1: there is a row; 0: done; else -errno. */
int store_step(struct store *s, sqlite3_stmt *stmt, struct errmsg *err);

#endif
