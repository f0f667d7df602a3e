/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * exactjson.h - jansson, and decimals to the last digit. jansson has integers and doubles, but the
 * nanoseconds of a large job have more digits than a double. So in the tree, a number with a
 * fraction or exponent is its own text: a string that begins with a NUL byte. No other string of a
 * tree may begin so. As a C string it is empty.
 */
#ifndef CEEMS_EXACTJSON_H
#define CEEMS_EXACTJSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libutil/errmsg.h"

/* -EINVAL: no JSON, a member twice, U+0000 in a text; or -ENOMEM. */
int exactjson_load(const char *json, size_t len, json_t **ret, struct errmsg *err);

/*
 * Compact, on one line, malloc'ed; doubles (ratios) with six digits; DEL and C1, which terminals obey, as \u00xx, as
 * JSON has it of C0. NULL: out of memory.
 */
char *exactjson_dump(const json_t *v, size_t *ret_len);

/* TEXT as utf8_escape() has it, if it is not UTF-8. NULL TEXT: null. Returns NULL: out of memory. */
json_t *exactjson_of_text(const char *text);

/* A string that is not a decimal. */
bool exactjson_is_text(const json_t *v);

/* Written without point and exponent. */
static inline bool exactjson_is_whole(const json_t *v)
{
	return json_is_integer(v);
}

/*
 * VALUE / SCALE, a power of ten. Whole numbers are integers, so 12 J is 12 and not 12.0. Above 2^63
 * - 1, where the integers of readers end, the value is null. NULL: out of memory.
 */
json_t *exactjson_decimal(uint64_t value, uint64_t scale);

/*
 * A number times SCALE, a power of ten, rounded; exact with all the digits that 64 bits can hold.
 * -EINVAL: V is no number, or negative; -ERANGE: 64 bits cannot hold the result.
 */
int exactjson_scaled(const json_t *v, uint64_t scale, uint64_t *ret);

/* The object that members are read from or written to, found by their paths; the last one is remembered. */
struct exactjson_cursor {
	json_t *root; /* borrowed, as all are */
	json_t *object;
	char path[64]; /* of OBJECT: "energy.by_domain." */
	size_t len;
};

/*
 * The object with the member PATH, and the member's name: "cpu_j" of "energy.by_domain.cpu_j". A
 * missing object is made if CREATE is set, else *RET_OBJECT is NULL. -EINVAL: a member on the way
 * is not an object. -ENOMEM.
 */
int exactjson_find(struct exactjson_cursor *c, const char *path, bool create, json_t **ret_object,
		   const char **ret_name);

#endif
