/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store_rig.h - short ways to open a store in a test and to put records into it.
 */
#ifndef CEEMS_STORE_RIG_H
#define CEEMS_STORE_RIG_H

#include <string.h>

#include "src/libstore/store.h"
#include "tap.h"

static inline struct store *store_rig_open(const char *dir)
{
	struct store_options o = { .dir = dir };
	struct store *s = NULL;
	struct errmsg err = { 0 };

	if (store_open(&o, &s, &err) < 0)
		diag("%s", err.text);
	return s;
}

/* One record, in a transaction of its own; returns its seq, 0: it failed. */
static inline uint64_t store_rig_put(struct store *s, enum store_kind kind, const char *key, const char *json,
				     size_t len)
{
	struct errmsg err = { 0 };
	uint64_t seq = 0;
	int rc = store_begin(s, &err);

	if (rc == 0) {
		rc = store_record_append(s, kind, key, json, len, /* ended= */ 0, &seq, &err);
		if (rc < 0)
			store_rollback(s);
		else
			rc = store_commit(s, &err);
	}
	if (rc < 0)
		diag("%s", err.text);
	return rc < 0 ? 0 : seq;
}

#endif
