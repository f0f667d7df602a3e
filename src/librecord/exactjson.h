/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * exactjson.h - jansson with exact decimals. jansson keeps a number with a fraction as a double,
 * which is too short for the nanoseconds of a large job. So a json_t tree from here keeps each
 * number with a fraction or exponent as a marked string: a NUL byte, then the number's text. Read
 * as a C string, it is empty. No other string in the tree may begin with a NUL byte.
 */
#ifndef CEEMS_EXACTJSON_H
#define CEEMS_EXACTJSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libutil/errmsg.h"

/*
 * Parses LEN bytes of JSON; the caller owns *RET. -EINVAL: not JSON, a duplicate member, or U+0000
 * in a text. -ENOMEM.
 */
int exactjson_load(const char *json, size_t len, json_t **ret, struct errmsg *err) _must_check_;

/*
 * Writes V on one line, NUL-ended; the caller frees the text. Doubles (ratios) get six
 * significant digits. Control characters, including DEL and C1, are escaped. *RET_LEN (may be NULL)
 * is the length. NULL: out of memory.
 */
char *exactjson_dump(const json_t *v, size_t *ret_len);

/*
 * Makes a string of TEXT, escaped by utf8_escape() if TEXT is not UTF-8. A TEXT of NULL gives JSON
 * null. Returns NULL if out of memory.
 */
json_t *exactjson_of_text(const char *text);

/* Whether V is a real string, not a marked decimal. */
bool exactjson_is_text(const json_t *v);

/* Whether V was written without fraction and exponent. */
static inline bool exactjson_is_whole(const json_t *v)
{
	return json_is_integer(v);
}

/*
 * Makes the number VALUE / SCALE, SCALE being a power of ten. A whole result is written as an
 * integer: 12, not 12.0. A whole result above 2^63 - 1, the limit of most readers, gives null.
 * Returns NULL if out of memory.
 */
json_t *exactjson_decimal(uint64_t value, uint64_t scale);

/*
 * Writes V * SCALE to *RET, rounded to nearest; SCALE is a power of ten. Exact for all digits that
 * 64 bits can hold. -EINVAL: V is not a number, or negative. -ERANGE: the result does not fit into
 * 64 bits.
 */
int exactjson_scaled(const json_t *v, uint64_t scale, uint64_t *ret) _must_check_;

/* Finds members by their paths; remembers the last object, so neighbours are found fast. */
struct exactjson_cursor {
	json_t *root; /* borrowed; so are all objects found */
	json_t *object;
	char path[64]; /* path of OBJECT, with a dot at the end: "energy.by_domain." */
	size_t len;
};

/*
 * Finds the object that contains member PATH: for "energy.by_domain.cpu_j" the object
 * energy.by_domain, and *RET_NAME is "cpu_j". A missing object is created if CREATE, else
 * *RET_OBJECT is NULL. -EINVAL: a member on the path is not an object. -ENOMEM.
 */
int exactjson_find(struct exactjson_cursor *c, const char *path, bool create, json_t **ret_object,
		   const char **ret_name) _must_check_;

#endif
