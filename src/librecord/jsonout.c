/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/librecord/jsonout.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/libutil/util.h"

#define FIRST_SIZE 8192
#define DIGITS_MAX 20 /* of 2^64 */

/* Room for N more bytes; NULL: there is none. */
static char *room(struct jsonout *w, size_t n)
{
	size_t size = w->size ? w->size : FIRST_SIZE;
	char *text;

	if (w->failed)
		return NULL;
	if (w->size - w->len >= n)
		return w->text + w->len;
	while (size - w->len < n && size <= SIZE_MAX / 4)
		size *= 2;
	text = size - w->len < n ? NULL : realloc(w->text, size);
	if (!text) {
		w->failed = true;
		return NULL;
	}
	w->text = text;
	w->size = size;
	return text + w->len;
}

void jsonout_fini(struct jsonout *w)
{
	free(w->text);
	*w = (struct jsonout){ 0 };
}

char *jsonout_take(struct jsonout *w, size_t *ret_len)
{
	char *end = room(w, 1);
	char *text = w->text;

	if (!end) {
		jsonout_fini(w);
		return NULL;
	}
	*end = '\0';
	if (ret_len)
		*ret_len = w->len;
	*w = (struct jsonout){ 0 };
	return text;
}

void jsonout_raw(struct jsonout *w, const char *s, size_t len)
{
	char *to = len ? room(w, len) : NULL;

	if (!to)
		return;
	memcpy(to, s, len);
	w->len += len;
}

static void put(struct jsonout *w, char c)
{
	jsonout_raw(w, &c, 1);
}

void jsonout_next(struct jsonout *w)
{
	char last = w->len ? w->text[w->len - 1] : '[';

	if (last != '{' && last != '[' && last != ':')
		put(w, ',');
}

void jsonout_open(struct jsonout *w, char bracket)
{
	jsonout_next(w);
	put(w, bracket);
}

void jsonout_close(struct jsonout *w, char bracket)
{
	put(w, bracket);
}

void jsonout_name(struct jsonout *w, const char *name)
{
	size_t len = strlen(name);
	char *to;

	jsonout_next(w);
	to = room(w, len + 3);
	if (!to)
		return;
	*to++ = '"';
	memcpy(to, name, len);
	to[len] = '"';
	to[len + 1] = ':';
	w->len += len + 3;
}

void jsonout_null(struct jsonout *w)
{
	jsonout_raw(w, "null", 4);
}

void jsonout_bool(struct jsonout *w, bool v)
{
	if (v)
		jsonout_raw(w, "true", 4);
	else
		jsonout_raw(w, "false", 5);
}

static bool is_plain(char c)
{
	return (unsigned char)c >= 0x20 && c != '"' && c != '\\';
}

static void put_escape(struct jsonout *w, char c)
{
	static const char from[] = "\"\\\b\f\n\r\t";
	static const char to[] = "\"\\bfnrt";
	const char *at = c ? strchr(from, c) : NULL;
	char text[8];

	(void)snprintf(text, sizeof(text), at ? "\\%c" : "\\u%04X",
		       at ? to[at - from] : (unsigned char)c);
	jsonout_raw(w, text, strlen(text));
}

void jsonout_string(struct jsonout *w, const char *s, size_t len)
{
	const char *end = s + len;

	put(w, '"');
	while (s < end) {
		const char *from = s;

		while (s < end && is_plain(*s))
			s++;
		jsonout_raw(w, from, (size_t)(s - from));
		if (s < end)
			put_escape(w, *s++);
	}
	put(w, '"');
}

/* The digits of V end before END; returns where they begin. */
static char *digits(char *end, uint64_t v)
{
	do {
		*--end = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	return end;
}

void jsonout_u64(struct jsonout *w, uint64_t v)
{
	char text[DIGITS_MAX];
	char *from = digits(text + sizeof(text), v);

	if (v > INT64_MAX)
		jsonout_null(w);
	else
		jsonout_raw(w, from, (size_t)(text + sizeof(text) - from));
}

void jsonout_decimal(struct jsonout *w, uint64_t value, uint64_t scale)
{
	char text[DIGITS_MAX + 4];
	char *end = text + sizeof(text);
	char *from = end;
	uint64_t rest = value % scale;

	if (!rest) {
		jsonout_u64(w, value / scale);
		return;
	}
	for (; rest % 10 == 0; scale /= 10, value /= 10)
		rest /= 10;
	for (; scale > 1; scale /= 10, value /= 10)
		*--from = (char)('0' + value % 10);
	*--from = '.';
	from = digits(from, value);
	jsonout_raw(w, from, (size_t)(end - from));
}

void jsonout_ratio(struct jsonout *w, double v)
{
	char text[32];
	bool is_whole = true;
	char *p;

	if (!isfinite(v)) {
		jsonout_null(w);
		return;
	}
	(void)snprintf(text, sizeof(text) - 2, "%.6g", v);
	for (p = text; *p; p++) {
		if (strchr("0123456789+-", *p))
			continue;
		if (*p != 'e')
			*p = '.'; /* the locale's may be another */
		is_whole = false;
	}
	if (is_whole)
		(void)memcpy(p, ".0", 3);
	jsonout_raw(w, text, strlen(text));
}
