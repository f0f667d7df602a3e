/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store_cmd.h - shared by the parts of `ceems store`.
 */
#ifndef CEEMS_STORE_CMD_H
#define CEEMS_STORE_CMD_H

#include <stdbool.h>
#include <stdint.h>

#include "src/libcore/metric_text.h"
#include "src/libcore/settings.h"
#include "src/libstore/inbox.h"
#include "src/libstore/store_view.h"

struct store_args {
	struct settings settings;
	struct store_pick pick;
	const char *conf;
	const char *waiting; /* a sink: only what it does not have yet */
	const char *sink;    /* of replay */
	const char *file;
	const char *output;
	uint64_t since;	     /* of FILE: ended then or later */
	uint64_t timeout_ns; /* of replay, without any progress */
	bool json;
	bool is_long;
};

/* Each returns enum cmd_exit. */
int store_status(const struct store_args *a); /* store_status.c */
int store_ls(const struct store_args *a);     /* store_list.c */
int store_cat(const struct store_args *a);
int store_replay(struct store_args *a); /* store_replay.c */

/* --- store_status.c, for `ceems check`, too ------------------------------------------------------- */

/* What InboxDir holds and the store behind V (NULL: there is none) has not. */
int store_inbox_status(const struct settings *s, struct store_view *v, struct inbox_status *ret,
		       struct errmsg *err);
/* "3 h"; "n/a" for 0. BUF holds METRIC_TEXT_MAX. */
const char *store_age(uint64_t since, char *buf);
const char *store_bytes(uint64_t n, char *buf);
/* What SINK takes; all kinds if this build has no such sink. */
unsigned int store_sink_kinds(const char *sink);

/* --- cmd_store.c ---------------------------------------------------------------------------------- */

/* One line to stderr, and who may do this. Returns CMD_FAILED. */
int store_cmd_error(int rc, const struct errmsg *err);

#endif
