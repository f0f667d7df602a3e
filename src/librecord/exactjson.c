/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* mempcpy */
#include "src/librecord/exactjson.h"

#include <errno.h>
#include <string.h>

#include "src/libutil/utf8.h"
#include "src/libutil/util.h"

#define MARK "\"\\u0000" /* begins every marked decimal: a quote and an escaped NUL byte */
#define MARK_LEN (sizeof(MARK) - 1)
#define ESCAPED_LEN (sizeof("\\u0000") - 1)
#define GROWTH 4 /* a number can grow this much when marked: "1e1" becomes 11 bytes */

/* --- reading ----------------------------------------------------------------------------- */

static bool exactjson_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static const char *skip_digits(const char *p, const char *end)
{
	while (p < end && exactjson_is_digit(*p))
		p++;
	return p;
}

/*
 * Returns the end of the number at P if the number is well-formed and has a fraction or an
 * exponent; else NULL.
 */
static const char *decimal_end(const char *p, const char *end)
{
	const char *from = p += *p == '-';
	bool is_decimal = false;

	p = skip_digits(p, end);
	if (p == from || (*from == '0' && p - from > 1))
		return NULL;
	if (p < end && *p == '.') {
		from = p + 1;
		p = skip_digits(from, end);
		if (p == from)
			return NULL;
		is_decimal = true;
	}
	if (p < end && (*p == 'e' || *p == 'E')) {
		from = p + 1;
		from += from < end && (*from == '+' || *from == '-');
		p = skip_digits(from, end);
		if (p == from)
			return NULL;
		is_decimal = true;
	}
	return is_decimal ? p : NULL;
}

static char *exactjson_put(char *to, const char *from, const char *end)
{
	return (char *)mempcpy(to, from, (size_t)(end - from));
}

/*
 * Returns the position behind the string that begins with the quote at P. NULL: the string has
 * U+0000.
 */
static const char *string_end(const char *p, const char *end)
{
	for (p++; p < end && *p != '"'; p++) {
		if (*p != '\\')
			continue;
		if (end - p >= 6 && !memcmp(p, "\\u0000", 6))
			return NULL;
		p++;
	}
	return p < end ? p + 1 : end;
}

/*
 * Copies JSON to TO and turns each decimal into a marked string. Returns the length; 0: a string
 * has U+0000. Malformed JSON stays malformed, so the parser finds it.
 */
static size_t mark_decimals(char *to, const char *json, size_t len)
{
	const char *end = json + len;
	const char *p = json;
	char *begin = to;

	while (p < end) {
		const char *from = p;

		if (*p == '"') {
			p = string_end(p, end);
			if (!p)
				return 0;
			to = exactjson_put(to, from, p);
		} else if (!exactjson_is_digit(*p) && *p != '-') {
			*to++ = *p++;
		} else if ((p = decimal_end(from, end))) {
			to = exactjson_put(to, MARK, &MARK[MARK_LEN]);
			to = exactjson_put(to, from, p);
			*to++ = '"';
		} else {
			p = skip_digits(from + 1, end);
			to = exactjson_put(to, from, p);
		}
	}
	return (size_t)(to - begin);
}

int exactjson_load(const char *json, size_t len, json_t **ret, struct errmsg *err)
{
	_cleanup_free_ char *marked = len <= INT32_MAX ? malloc(len * GROWTH + 1) : NULL;
	json_error_t why;
	json_t *v;

	if (!marked)
		return errmsg_set(err, -ENOMEM, "out of memory");
	if (len) {
		len = mark_decimals(marked, json, len);
		if (!len)
			return errmsg_set(err, -EINVAL, "U+0000 in a text");
	}
	v = json_loadb(marked, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, &why);
	if (!v)
		return errmsg_set(err, json_error_code(&why) == json_error_out_of_memory ? -ENOMEM : -EINVAL,
				  "%s", why.text);
	*ret = v;
	return 0;
}

static bool is_decimal_text(const json_t *v)
{
	return json_is_string(v) && json_string_length(v) && !*json_string_value(v);
}

json_t *exactjson_of_text(const char *text)
{
	_cleanup_free_ char *escaped = NULL;
	size_t len = text ? strlen(text) : 0;

	if (!text)
		return json_null();
	if (utf8_escape(text, len, &escaped, &len) < 0)
		return NULL;
	return json_stringn_nocheck(escaped ? escaped : text, len);
}

bool exactjson_is_text(const json_t *v)
{
	return json_is_string(v) && !is_decimal_text(v);
}

/*
 * Parses the exponent at P. Caps it near 10000: with such an exponent a number is 0 or too large
 * anyway.
 */
static int take_exponent(const char *p)
{
	bool negative = *p == '-';
	int v = 0;

	p += *p == '-' || *p == '+';
	for (; exactjson_is_digit(*p); p++)
		v = v > 10000 ? v : v * 10 + *p - '0';
	return negative ? -v : v;
}

/* Computes DIGITS * 10^POWER, rounded half up. -ERANGE: the result does not fit. */
static int to_integer(uint64_t digits, int power, uint64_t *ret)
{
	uint64_t half = 0;

	for (; power < 0 && digits; power++) {
		half = digits % 10 >= 5;
		digits /= 10;
	}
	if (power < 0)
		half = 0;
	for (; power > 0 && digits; power--)
		if (__builtin_mul_overflow(digits, UINT64_C(10), &digits))
			return -ERANGE;
	*ret = digits + half;
	return 0;
}

int exactjson_scaled(const json_t *v, uint64_t scale, uint64_t *ret)
{
	bool is_fraction = false;
	bool is_full = false;
	uint64_t digits = 0;
	uint64_t more;
	const char *p;
	int power = 0; /* the number is digits * 10^power */

	if (json_is_integer(v)) {
		json_int_t n = json_integer_value(v);

		if (n < 0)
			return -EINVAL;
		if (__builtin_mul_overflow((uint64_t)n, scale, &more))
			return -ERANGE;
		*ret = more;
		return 0;
	}
	if (!is_decimal_text(v))
		return -EINVAL;
	p = json_string_value(v) + 1;
	if (*p == '-')
		return -EINVAL;
	for (; exactjson_is_digit(*p) || *p == '.'; p++) {
		if (*p == '.') {
			is_fraction = true;
			continue;
		}
		is_full = is_full || __builtin_mul_overflow(digits, UINT64_C(10), &more) ||
			  __builtin_add_overflow(more, (uint64_t)(*p - '0'), &more);
		if (is_full && !is_fraction)
			return -ERANGE;
		if (is_full)
			continue; /* ignore digits beyond those that 64 bits can hold */
		digits = more;
		power -= is_fraction;
	}
	if (*p)
		power += take_exponent(p + 1);
	for (; scale > 1; scale /= 10)
		power++;
	return to_integer(digits, power, ret);
}

/* --- writing ----------------------------------------------------------------------------- */

json_t *exactjson_decimal(uint64_t value, uint64_t scale)
{
	char text[sizeof("\0"
			 "0.18446744073709551615")];
	char *end = text + sizeof(text);
	char *p = end;

	for (; scale > 1 && value % 10 == 0; scale /= 10)
		value /= 10;
	if (scale == 1)
		return value > INT64_MAX ? json_null() : json_integer((json_int_t)value);
	for (; scale > 1; scale /= 10, value /= 10)
		*--p = (char)('0' + value % 10);
	*--p = '.';
	do
		*--p = (char)('0' + value % 10);
	while (value /= 10);
	*--p = '\0';
	return json_stringn_nocheck(p, (size_t)(end - p));
}

/* Turns marked strings in TEXT back into plain decimals, in place. Returns the new length. */
static size_t unmark_decimals(char *text)
{
	char *to = text;
	char *from = text;
	char *p;

	/* MARK cannot occur inside a JSON string: a quote in there has a backslash before it */
	while ((p = strstr(from, MARK))) {
		size_t len = (size_t)(p - from);
		size_t digits = strcspn(p + MARK_LEN, "\"");

		memmove(to, from, len);
		memmove(to + len, p + MARK_LEN, digits);
		to += len + digits;
		from = p + MARK_LEN + digits + 1;
	}
	p = memmove(to, from, strlen(from) + 1);
	return (size_t)(p - text) + strlen(p);
}

/* Bytes of the control character DEL or C1 (in UTF-8) at P; 0: another character is there. */
static size_t obeyed_length(const char *p)
{
	if (*p == 0x7f)
		return 1;
	return (unsigned char)p[0] == 0xc2 && (unsigned char)p[1] < 0xa0 ? 2 : 0;
}

/*
 * Escapes DEL and C1, which terminals obey. Returns TEXT, or a copy in its place; NULL: out of
 * memory. Frees TEXT if it does not return it.
 */
static char *escape_obeyed(char *text, size_t *len)
{
	const char *from = text;
	size_t found = 0;
	size_t n;
	char *copy;
	char *to;

	while ((from = strpbrk(from, "\x7f\xc2"))) {
		found += obeyed_length(from) > 0;
		from++;
	}
	if (!found)
		return text;
	to = copy = malloc(*len + found * ESCAPED_LEN + 1);
	for (from = text; copy && *from; from += n ? n : 1) {
		n = obeyed_length(from);
		if (n)
			to += snprintf(to, ESCAPED_LEN + 1, "\\u%04x", (unsigned char)from[n - 1]);
		else
			*to++ = *from;
	}
	free(text);
	if (copy) {
		*to = '\0';
		*len = (size_t)(to - copy);
	}
	return copy;
}

char *exactjson_dump(const json_t *v, size_t *ret_len)
{
	char *text = json_dumps(v, JSON_COMPACT | JSON_REAL_PRECISION(6) | JSON_ENCODE_ANY);
	size_t len = text ? unmark_decimals(text) : 0;

	if (text)
		text = escape_obeyed(text, &len);
	if (ret_len)
		*ret_len = len;
	return text;
}

/* --- members of objects ------------------------------------------------------------------ */

/*
 * Returns member NAME of O, an object, and creates it if CREATE. NULL: missing, or out of memory.
 */
static json_t *child_of(json_t *o, const char *name, bool create)
{
	json_t *v = json_object_get(o, name);

	if (v || !create)
		return json_is_null(v) ? NULL : v;
	v = json_object();
	return json_object_set_new_nocheck(o, name, v) < 0 ? NULL : v;
}

int exactjson_find(struct exactjson_cursor *c, const char *path, bool create, json_t **ret_object,
		   const char **ret_name)
{
	const char *dot = strrchr(path, '.');
	size_t len = dot ? (size_t)(dot + 1 - path) : 0;
	char name[sizeof(c->path)];
	json_t *o = c->root;
	const char *p;

	if (len >= sizeof(c->path))
		return -EINVAL;
	if (len == c->len && !memcmp(path, c->path, len) && (c->object || !create)) {
		o = c->len ? c->object : c->root;
	} else {
		for (p = path; o && p < path + len; p = strchr(p, '.') + 1) {
			*exactjson_put(name, p, strchr(p, '.')) = '\0';
			o = child_of(o, name, create);
			if (!o && create)
				return -ENOMEM;
			if (o && !json_is_object(o))
				return -EINVAL;
		}
		memcpy(c->path, path, len);
		c->len = len;
		c->object = o;
	}
	*ret_object = o;
	*ret_name = path + len;
	return 0;
}
