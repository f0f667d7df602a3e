/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store_internal.h - struct store, for store.c and store_open.c.
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

	pthread_mutex_t lock; /* guards the connection and what follows, from begin to commit */
	sqlite3 *db;
	sqlite3_stmt *stmt[STMT_N]; /* made when first used */
	bool is_corrupt;
	bool wants_room;     /* the disk is full, perhaps of our own log */
	bool has_appended;   /* records, in this transaction */
	uint64_t append_seq; /* the last of them */
	uint64_t page_bytes, pages, free_pages;
	char sinks[128];
	struct logger_trouble trouble; /* writing fails */
	struct logger_trouble full;    /* max_bytes */

	_Atomic uint64_t used_bytes;
	_Atomic uint64_t busy_since_ns; /* 0: nobody is in a transaction */
	atomic_bool is_stuck_told;

	pthread_mutex_t wait_lock; /* guards the rest */
	pthread_cond_t has_records;
	uint64_t last_seq;
	bool no_waits;
};

/* The statement, reset; NULL: ERR and *RET_RC say why. Text and data are bound without a copy. */
sqlite3_stmt *store_stmt(struct store *s, enum store_stmt which, int *ret_rc, struct errmsg *err);
/* 1: a row, 0: done, -errno. */
int store_step(struct store *s, sqlite3_stmt *stmt, struct errmsg *err);

#endif
