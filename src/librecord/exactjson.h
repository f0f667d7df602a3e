/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * exactjson.h - jansson with exact decimals. jansson has integers and doubles, but the nanoseconds
 * of a large job have more digits than a double. So in a json_t tree, a number with a fraction or
 * exponent is kept as its text: a string that begins with a NUL byte. No other string may begin so.
 * As a C string it is empty.
 */
#ifndef CEEMS_EXACTJSON_H
#define CEEMS_EXACTJSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libutil/errmsg.h"

/* Parses JSON. -EINVAL: not JSON, a duplicate member, or U+0000 in a text; -ENOMEM. */
int exactjson_load(const char *json, size_t len, json_t **ret, struct errmsg *err);

/*
 * Writes V on one line; the caller frees the text. Doubles (ratios) have six digits. Control
 * characters, also DEL and C1, are written as \u00xx. NULL: out of memory.
 */
char *exactjson_dump(const json_t *v, size_t *ret_len);

/*
 * Makes a string of TEXT, escaped by utf8_escape() if it is not UTF-8. NULL becomes null. Returns
 * NULL: out of memory.
 */
json_t *exactjson_of_text(const char *text);

/* A string that is not a decimal. */
bool exactjson_is_text(const json_t *v);

/* Written without point and exponent. */
static inline bool exactjson_is_whole(const json_t *v)
{
	return json_is_integer(v);
}

/*
 * Makes the number VALUE / SCALE; SCALE is a power of ten. Whole numbers are written as integers:
 * 12 J is 12, not 12.0. Above 2^63 - 1, the limit of most readers' integers, it is null. NULL: out
 * of memory.
 */
json_t *exactjson_decimal(uint64_t value, uint64_t scale);

/*
 * Reads the number V times SCALE, a power of ten, rounded; exact with all digits that 64 bits can
 * hold. -EINVAL: V is no number, or negative; -ERANGE: the result does not fit 64 bits.
 */
int exactjson_scaled(const json_t *v, uint64_t scale, uint64_t *ret);

/* Finds members by their paths; remembers the last object. */
struct exactjson_cursor {
	json_t *root; /* borrowed, as all are */
	json_t *object;
	char path[64]; /* of OBJECT: "energy.by_domain." */
	size_t len;
};

/*
 * Finds the object that has the member PATH, and the member's name: "cpu_j" of
 * "energy.by_domain.cpu_j". If an object on the way is missing, it is made if CREATE, else
 * *RET_OBJECT is NULL. -EINVAL: a member on the way is not an object. -ENOMEM.
 */
int exactjson_find(struct exactjson_cursor *c, const char *path, bool create, json_t **ret_object,
		   const char **ret_name);

#endif
