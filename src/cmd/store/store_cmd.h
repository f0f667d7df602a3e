/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store_cmd.h - what the parts of `ceems store` share.
 */
#ifndef CEEMS_STORE_CMD_H
#define CEEMS_STORE_CMD_H

#include <stdbool.h>
#include <stdint.h>

#include "src/cmd/store/store_access.h"
#include "src/libcore/metric_text.h"
#include "src/libcore/settings.h"
#include "src/libstore/inbox.h"
#include "src/libstore/store_view.h"
#include "src/libutil/must_check.h"

struct store_args {
	struct settings settings;
	struct store_pick pick;
	const char *conf;
	const char *waiting; /* name of a sink: choose only records that this sink does not have yet */
	const char *sink;    /* replay: the sink to deliver to */
	const char *file;
	const char *output;
	uint64_t since;	     /* with FILE: only jobs that ended at this time or later */
	uint64_t timeout_ns; /* replay gives up after so long without progress */
	bool json;
	bool is_long;
};

/* Each returns enum cmd_exit. */
int store_status(const struct store_args *a); /* store_status.c */
int store_ls(const struct store_args *a);     /* store_list.c */
int store_cat(const struct store_args *a);
int store_replay(struct store_args *a); /* store_replay.c */

/* --- store_status.c, for `ceems check`, too ------------------------------------------------------- */

/* Reads what is in InboxDir and not yet in the store. V is the store; NULL: there is none. */
int store_inbox_status(const struct settings *s, struct store_view *v, struct inbox_status *ret,
		       struct errmsg *err) _must_check_;
/* Writes the time since SINCE, such as "3 h"; "n/a" for 0. BUF has METRIC_TEXT_MAX bytes. */
const char *store_age(uint64_t since, char *buf) _must_check_;
const char *store_bytes(uint64_t n, char *buf);
#endif
