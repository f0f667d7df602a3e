/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * refuge.h - where job ends go while the spool takes none (its disk is full, read-only or gone): a
 * small spool in StateSaveLocation. What is in it is moved to the spool when that takes records
 * again, by this process or the next. The intake's; not for two threads.
 */
#ifndef CEEMS_REFUGE_H
#define CEEMS_REFUGE_H

#include <limits.h>
#include <stdbool.h>

#include "jobcomp/store.h"
#include "src/libsink/spool.h"

#define REFUGE_MAX (UINT64_C(64) << 20) /* some 40,000 ends */

struct refuge {
	char dir[PATH_MAX];
	struct spool *spool; /* NULL: closed */
	struct spool_cursor *cursor;
	bool has_entries;    /* it may have some */
};

/* STATE_DIR: NULL or too long: there is no refuge. What an earlier process left is noticed. */
void refuge_init(struct refuge *r, const char *state_dir);
void refuge_close(struct refuge *r);

/* As spool_append() and spool_sync(); opens it when needed. -ENOENT: there is no refuge. */
int refuge_append(struct refuge *r, enum spool_kind kind, const char *key, const char *json,
		  size_t len, struct errmsg *err);
int refuge_sync(struct refuge *r, struct errmsg *err);

/*
 * Moves everything to the STORE, whose spool is open, and closes the refuge. Takes the store's lock.
 * An error is the store's; trouble of the refuge itself is logged, and what is in it waits.
 */
int refuge_move(struct refuge *r, struct store *store, struct errmsg *err);

#endif
