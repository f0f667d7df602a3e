/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * errmsg.h - the text of an error, for people. The function that fills it returns the code, -errno.
 */
#ifndef CEEMS_ERRMSG_H
#define CEEMS_ERRMSG_H

#include "src/libutil/util.h"

/* A plain buffer on the caller's stack; needs no clean-up. Initialise with `= { 0 }`. */
struct errmsg {
	char text[512];
};

/*
 * Stores the formatted text in ERR and returns RC, so that a failure takes one line:
 * `return errmsg_set(err, -EINVAL, "%s:%d: ...", file, line);`
 * The text is cut at the buffer's end and masked by text_mask(). ERR may be NULL.
 */
int errmsg_set(struct errmsg *err, int rc, const char *fmt, ...) _printf_(3, 4);

/* errmsg_set() with ": <strerror(-rc)>" appended; RC is -errno. */
int errmsg_errno(struct errmsg *err, int rc, const char *fmt, ...) _printf_(3, 4);

#endif
