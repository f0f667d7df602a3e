/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * deadletter.h - "<sink>.dead" in the spool's folder: what a sink will never take, as JSON lines
 *
 *	{"time":1700000000,"sink":"mariadb","kind":"record","key":"...","reason":"...","record":"..."}
 *
 * The record is a JSON text inside a string, since a record may be there because it is not JSON:
 * `jq -r .record mariadb.dead` gives the records back.
 */
#ifndef CEEMS_DEADLETTER_H
#define CEEMS_DEADLETTER_H

#include <stdint.h>

#include "src/libsink/sink.h"

/* At this size the file becomes "<sink>.dead.1" and replaces the one there. */
#define DEADLETTER_FILE_MAX (UINT64_C(64) << 20)

/*
 * "kafka.dead", "kafka.dead.1" and what `ceems spool replay` took (DEADLETTER_TAKEN): the length of the
 * sink's name; 0: another file.
 */
#define DEADLETTER_TAKEN ".dead.taken"
size_t deadletter_sink_len(const char *file);

struct deadletter {
	const struct sink_item *item;
	const char *reason;
};

/*
 * Appends a line for each of N letters and syncs them, once: all or none. Another process may rename the
 * file at any time to take what is in it: a line that was written when it did is in the taken file, the new
 * one, or both.
 */
int deadletter_write(const char *dir, const char *sink, const struct deadletter *letter, size_t n,
		     struct errmsg *err);

#endif
