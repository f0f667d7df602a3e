/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * errmsg.h - the human half of an error; the machine half is the -errno a function returns.
 */
#ifndef CEEMS_ERRMSG_H
#define CEEMS_ERRMSG_H

#include "src/libutil/util.h"

/* Plain buffer, lives on the caller's stack; needs no clean-up. Start with `= { 0 }`. */
struct errmsg {
	char text[512];
};

/*
 * Stores the text, cut at the buffer's end and masked by text_mask(), and returns RC. So a failure
 * is one line: `return errmsg_set(err, -EINVAL, "%s:%d: ...", file, line);` ERR may be NULL.
 */
int errmsg_set(struct errmsg *err, int rc, const char *fmt, ...) _printf_(3, 4);

/* The same with ": <strerror(-rc)>" appended. */
int errmsg_errno(struct errmsg *err, int rc, const char *fmt, ...) _printf_(3, 4);

#endif
