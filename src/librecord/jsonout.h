/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jsonout.h - writes JSON, compact, into a buffer that grows. jansson builds a tree first, and takes
 * ten times as long for it. Memory that is not there is remembered, so that one look at the end
 * (jsonout_take) does.
 */
#ifndef CEEMS_JSONOUT_H
#define CEEMS_JSONOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jsonout { /* zeroed: empty */
	char *text; /* owned; not NUL-ended */
	size_t len;
	size_t size;
	bool failed;
};

void jsonout_fini(struct jsonout *w);

/* Gives the text away, NUL-ended. NULL: memory ran out somewhere. */
char *jsonout_take(struct jsonout *w, size_t *ret_len);

/* As it is. */
void jsonout_raw(struct jsonout *w, const char *s, size_t len);

/* '{' or '[', with the comma before it where one is due; '}' or ']'. */
void jsonout_open(struct jsonout *w, char bracket);
void jsonout_close(struct jsonout *w, char bracket);

/* "name":, with the comma. The next call gives its value. */
void jsonout_name(struct jsonout *w, const char *name);

/* Values; an element of an array calls jsonout_next() before. */
void jsonout_next(struct jsonout *w);
void jsonout_null(struct jsonout *w);
void jsonout_bool(struct jsonout *w, bool v);
void jsonout_string(struct jsonout *w, const char *s, size_t len); /* UTF-8 */

/* null above 2^63 - 1, where readers' integers end. */
void jsonout_u64(struct jsonout *w, uint64_t v);

/*
 * VALUE / SCALE, a power of ten up to 10^9, to its last digit. Whole numbers stay integers, so that
 * 12 J is 12 and not 12.0.
 */
void jsonout_decimal(struct jsonout *w, uint64_t value, uint64_t scale);

/* Six digits; what is not finite is null. */
void jsonout_ratio(struct jsonout *w, double v);

#endif
