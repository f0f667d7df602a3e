/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * as_owner.h - root uses a file of another account as that account only. Such a file may name commands,
 * libraries and files, or may be made to confuse a parser; what comes of it must not happen as root.
 */
#ifndef CEEMS_AS_OWNER_H
#define CEEMS_AS_OWNER_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "src/libutil/errmsg.h"
#include "src/libutil/must_check.h"

/*
 * Returns true if we are root, and another account can change what is at PATH: PATH belongs to it, the link
 * there, or the folder that PATH is in. *RET is that account.
 */
bool as_owner_is_other(const char *path, uid_t *ret);

/* Root becomes account UID for good, with its groups. 0, or -errno with the reason in ERR. */
int as_owner_become(uid_t uid, struct errmsg *err) _must_check_;

struct as_owner_task {
	/* In a child process that has become the account. What it writes to TO, TAKE reads. */
	int (*run)(void *ctx, FILE *to, struct errmsg *err);
	/* In the caller's process, once; NULL: nothing is read. What comes is not to be trusted. */
	int (*take)(void *ctx, FILE *from, struct errmsg *err);
	void *ctx;
};

/*
 * Runs TASK in a child that has become UID, and waits for its end. Returns the first of these that is
 * negative, with its reason in ERR: the result of TAKE; that of RUN; -EIO: the child was killed. RUN must
 * return 0 or -errno, and must leave no thread.
 */
int as_owner_run(uid_t uid, const struct as_owner_task *task, struct errmsg *err) _must_check_;

#endif
