/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * deadletter.h - "<sink>.dead" in the spool's folder: what a sink will never take, as JSON lines
 *
 *	{"time":1700000000,"sink":"mariadb","key":"...","reason":"...","record":"..."}
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

/* Appends one line and syncs it. */
int deadletter_write(const char *dir, const char *sink, const struct sink_item *item,
		     const char *reason, struct errmsg *err);

#endif
