/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jsonin.h - reads JSON (RFC 8259) into one array of values. Of a record of 7 kB jansson makes 400
 * allocations in 150 us; 7,500 of them a second have to go into a database. What a reader of records
 * does not want is refused: a member twice, \u0000, and nesting or objects beyond all reason.
 */
#ifndef CEEMS_JSONIN_H
#define CEEMS_JSONIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libutil/errmsg.h"

enum jsonin_type {
	JSONIN_NULL,
	JSONIN_TRUE,
	JSONIN_FALSE,
	JSONIN_NUMBER,
	JSONIN_STRING,
	JSONIN_ARRAY,
	JSONIN_OBJECT,
};

/* Of an object or array, its elements follow it, each with its own behind it. */
struct jsonin_value {
	enum jsonin_type type;
	uint32_t size;	    /* values from here to the next element of the same parent */
	uint32_t n;	    /* elements of an object or array */
	uint32_t hint;	    /* where jsonin_member() looks first; 0: at the first element */
	const char *name;   /* of a member: ends with NUL, as a string does */
	char *text;	    /* of a string, UTF-8; of a number, its digits, to what is none of it */
	uint32_t name_len;
};

struct jsonin;

/* -EINVAL, with what is wrong and the byte, or -ENOMEM. */
int jsonin_parse(const char *json, size_t len, struct jsonin **ret, struct errmsg *err);
void jsonin_destroy(struct jsonin *j);

/* Borrowed, as all values are. */
struct jsonin_value *jsonin_root(struct jsonin *j);

/* NULL: there is none, O is no object or is NULL. Quickest for members asked for in their order. */
struct jsonin_value *jsonin_member(struct jsonin_value *o, const char *name);

/* The elements: jsonin_first() to before jsonin_end(). */
static inline struct jsonin_value *jsonin_first(struct jsonin_value *v)
{
	return v + 1;
}

static inline struct jsonin_value *jsonin_next(struct jsonin_value *element)
{
	return element + element->size;
}

static inline struct jsonin_value *jsonin_end(struct jsonin_value *v)
{
	return v + v->size;
}

/*
 * A number times SCALE, a power of ten up to 10^9, rounded; exact with all the digits that 64 bits
 * can hold. -EINVAL: it is none, or negative; -ERANGE: 64 bits cannot hold it.
 */
int jsonin_scaled(const struct jsonin_value *v, uint64_t scale, uint64_t *ret);

/* Written without point and exponent. */
bool jsonin_is_whole(const struct jsonin_value *v);

#endif
