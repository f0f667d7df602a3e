/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/librecord/jsonin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/libutil/utf8.h"
#include "src/libutil/util.h"

#define DEPTH_MAX 16
#define MEMBERS_MAX 1000
#define BYTES_PER_VALUE 16 /* of a record, about */

struct jsonin {
	struct jsonin_value *value;
	size_t n, room;
	char *text; /* a copy, in which strings are decoded in place */
	char *at;
	const char *end;
};

static int parse_value(struct jsonin *j, const char *name, size_t name_len, unsigned int depth,
		       struct errmsg *err);

static int bad(const struct jsonin *j, const char *what, struct errmsg *err)
{
	return errmsg_set(err, -EINVAL, "%s at byte %zu", *j->at ? what : "an end too early",
			  (size_t)(j->at - j->text));
}

static void skip_blanks(struct jsonin *j)
{
	while (*j->at == ' ' || *j->at == '\n' || *j->at == '\t' || *j->at == '\r')
		j->at++;
}

/* --- strings ----------------------------------------------------------------------------- */

static int hex4(const char *p)
{
	int v = 0;
	int i;

	for (i = 0; i < 4; i++) {
		char c = p[i];
		int digit = c >= '0' && c <= '9' ? c - '0' :
			    c >= 'a' && c <= 'f' ? c - 'a' + 10 :
			    c >= 'A' && c <= 'F' ? c - 'A' + 10 :
						   -1;

		if (digit < 0)
			return -1;
		v = v << 4 | digit;
	}
	return v;
}

static char *put_code(char *to, int code)
{
	if (code < 0x80) {
		*to++ = (char)code;
	} else if (code < 0x800) {
		*to++ = (char)(0xc0 | code >> 6);
		*to++ = (char)(0x80 | (code & 0x3f));
	} else if (code < 0x10000) {
		*to++ = (char)(0xe0 | code >> 12);
		*to++ = (char)(0x80 | (code >> 6 & 0x3f));
		*to++ = (char)(0x80 | (code & 0x3f));
	} else {
		*to++ = (char)(0xf0 | code >> 18);
		*to++ = (char)(0x80 | (code >> 12 & 0x3f));
		*to++ = (char)(0x80 | (code >> 6 & 0x3f));
		*to++ = (char)(0x80 | (code & 0x3f));
	}
	return to;
}

/* What follows "\u": one code unit, or two that are a surrogate pair. */
static int take_code(struct jsonin *j, struct errmsg *err)
{
	int code = hex4(j->at);
	int low;

	if (code <= 0 || (code & 0xfc00) == 0xdc00)
		return bad(j, "no character", err);
	j->at += 4;
	if ((code & 0xfc00) != 0xd800)
		return code;
	low = j->at[0] == '\\' && j->at[1] == 'u' ? hex4(j->at + 2) : -1;
	if ((low & ~0x3ff) != 0xdc00)
		return bad(j, "half a surrogate pair", err);
	j->at += 6;
	return 0x10000 + ((code & 0x3ff) << 10) + (low & 0x3ff);
}

static int take_escape(struct jsonin *j, char **to, struct errmsg *err)
{
	static const char from[] = "\"\\/bfnrt";
	static const char is[] = "\"\\/\b\f\n\r\t";
	const char *p = *j->at ? strchr(from, *j->at) : NULL;
	int code;

	if (p) {
		*(*to)++ = is[p - from];
		j->at++;
		return 0;
	}
	if (*j->at != 'u')
		return bad(j, "no escape", err);
	j->at++;
	code = take_code(j, err);
	if (code < 0)
		return code;
	*to = put_code(*to, code);
	return 0;
}

/* The string at the quote; it ends with NUL where it was decoded. */
static int take_string(struct jsonin *j, char **ret, size_t *ret_len, struct errmsg *err)
{
	char *begin = ++j->at;
	char *to = begin;

	for (;;) {
		unsigned char c = (unsigned char)*j->at;
		size_t n = 1;
		int rc;

		if (c == '"')
			break;
		if (c < 0x20)
			return bad(j, "a control byte in a text", err);
		if (c == '\\') {
			j->at++;
			rc = take_escape(j, &to, err);
			if (rc < 0)
				return rc;
			continue;
		}
		if (c >= 0x80) {
			n = utf8_sequence(j->at, (size_t)(j->end - j->at));
			if (!n)
				return bad(j, "no UTF-8", err);
		}
		for (; n; n--)
			*to++ = *j->at++;
	}
	j->at++;
	*to = '\0';
	*ret = begin;
	*ret_len = (size_t)(to - begin);
	return 0;
}

/* --- numbers ----------------------------------------------------------------------------- */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static const char *skip_digits(const char *p)
{
	while (is_digit(*p))
		p++;
	return p;
}

/* Behind the number at P; NULL: there is none. */
static const char *number_end(const char *p)
{
	p += *p == '-';
	if (!is_digit(*p))
		return NULL;
	p = *p == '0' ? p + 1 : skip_digits(p);
	if (*p == '.') {
		if (!is_digit(*++p))
			return NULL;
		p = skip_digits(p);
	}
	if (*p == 'e' || *p == 'E') {
		p++;
		p += *p == '+' || *p == '-';
		if (!is_digit(*p))
			return NULL;
		p = skip_digits(p);
	}
	return p;
}

bool jsonin_is_whole(const struct jsonin_value *v)
{
	const char *p;

	if (v->type != JSONIN_NUMBER)
		return false;
	p = skip_digits(v->text + (*v->text == '-'));
	return *p != '.' && *p != 'e' && *p != 'E';
}

/* What follows the 'e', bounded: beyond that all are 0 or too large. */
static int take_exponent(const char *p)
{
	bool negative = *p == '-';
	int v = 0;

	p += *p == '-' || *p == '+';
	for (; is_digit(*p); p++)
		v = v > 10000 ? v : v * 10 + *p - '0';
	return negative ? -v : v;
}

int jsonin_scaled(const struct jsonin_value *v, uint64_t scale, uint64_t *ret)
{
	const char *p = v->text;
	bool is_fraction = false;
	bool is_full = false;
	uint64_t digits = 0;
	uint64_t more;
	int power = 0; /* the value is digits * 10^power */
	uint64_t half = 0;

	if (v->type != JSONIN_NUMBER || *p == '-')
		return -EINVAL;
	for (; is_digit(*p) || *p == '.'; p++) {
		if (*p == '.') {
			is_fraction = true;
			continue;
		}
		is_full = is_full || __builtin_mul_overflow(digits, UINT64_C(10), &more) ||
			  __builtin_add_overflow(more, (uint64_t)(*p - '0'), &more);
		if (is_full && !is_fraction)
			return -ERANGE;
		if (is_full)
			continue; /* nobody asks for the 20th digit */
		digits = more;
		power -= is_fraction;
	}
	if (*p == 'e' || *p == 'E')
		power += take_exponent(p + 1);
	for (; scale > 1; scale /= 10)
		power++;
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

/* --- values ------------------------------------------------------------------------------ */

static int add(struct jsonin *j, enum jsonin_type type, const char *name, size_t name_len,
	       struct errmsg *err)
{
	if (j->n == j->room) {
		size_t room = j->room * 2;
		struct jsonin_value *value = realloc(j->value, room * sizeof(*value));

		if (!value)
			return errmsg_set(err, -ENOMEM, "out of memory");
		j->value = value;
		j->room = room;
	}
	j->value[j->n++] = (struct jsonin_value){ .type = type, .size = 1, .name = name,
						  .name_len = (uint32_t)name_len };
	return 0;
}

/* A bit for most names of an object to tell that they are not there yet. */
static uint64_t name_bit(const char *name, size_t len)
{
	return UINT64_C(1) << ((len * 7 + (unsigned char)name[0] * 3 +
				(unsigned char)name[len / 2] * 5 +
				(unsigned char)name[len ? len - 1 : 0]) % 64);
}

static bool has_member(const struct jsonin_value *o, const struct jsonin_value *end,
		       const char *name, size_t len)
{
	const struct jsonin_value *v;

	for (v = o + 1; v < end; v += v->size)
		if (v->name_len == len && !memcmp(v->name, name, len))
			return true;
	return false;
}

static int parse_member(struct jsonin *j, size_t object, uint64_t *names, unsigned int depth,
			struct errmsg *err)
{
	uint64_t bit;
	char *name;
	size_t len;
	int rc;

	if (*j->at != '"')
		return bad(j, "no name of a member", err);
	rc = take_string(j, &name, &len, err);
	if (rc < 0)
		return rc;
	bit = name_bit(name, len);
	if ((*names & bit) &&
	    has_member(&j->value[object], &j->value[j->n], name, len))
		return bad(j, "a duplicate member", err);
	if (j->value[object].n == MEMBERS_MAX)
		return bad(j, "too many members", err);
	*names |= bit;
	skip_blanks(j);
	if (*j->at != ':')
		return bad(j, "no colon", err);
	j->at++;
	return parse_value(j, name, len, depth, err);
}

static int parse_elements(struct jsonin *j, size_t parent, unsigned int depth, struct errmsg *err)
{
	bool is_object = j->value[parent].type == JSONIN_OBJECT;
	char close = is_object ? '}' : ']';
	uint64_t names = 0;
	int rc = 0;

	if (depth == DEPTH_MAX)
		return bad(j, "too deep", err);
	j->at++;
	skip_blanks(j);
	while (*j->at != close) {
		if (j->value[parent].n) {
			if (*j->at != ',')
				return bad(j, "no comma", err);
			j->at++;
			skip_blanks(j);
		}
		rc = is_object ? parse_member(j, parent, &names, depth + 1, err) :
				 parse_value(j, NULL, 0, depth + 1, err);
		if (rc < 0)
			return rc;
		j->value[parent].n++;
		skip_blanks(j);
	}
	j->at++;
	j->value[parent].size = (uint32_t)(j->n - parent);
	return 0;
}

static int parse_word(struct jsonin *j, struct jsonin_value *v, struct errmsg *err)
{
	static const struct {
		const char *word;
		size_t len;
		enum jsonin_type type;
	} words[] = { { "null", 4, JSONIN_NULL }, { "true", 4, JSONIN_TRUE },
		      { "false", 5, JSONIN_FALSE } };
	const char *end;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(words); i++) {
		if (strncmp(j->at, words[i].word, words[i].len))
			continue;
		v->type = words[i].type;
		j->at += words[i].len;
		return 0;
	}
	end = number_end(j->at);
	if (!end)
		return bad(j, "no value", err);
	v->type = JSONIN_NUMBER;
	v->text = j->at;
	j->at += end - j->at;
	return 0;
}

static int parse_value(struct jsonin *j, const char *name, size_t name_len, unsigned int depth,
		       struct errmsg *err)
{
	size_t me = j->n;
	size_t len;
	int rc;

	skip_blanks(j);
	rc = add(j, *j->at == '{' ? JSONIN_OBJECT : *j->at == '[' ? JSONIN_ARRAY : JSONIN_STRING,
		 name, name_len, err);
	if (rc < 0)
		return rc;
	if (*j->at == '{' || *j->at == '[')
		return parse_elements(j, me, depth, err);
	if (*j->at == '"')
		return take_string(j, &j->value[me].text, &len, err);
	return parse_word(j, &j->value[me], err);
}

static int parse(struct jsonin *j, struct errmsg *err)
{
	int rc = parse_value(j, NULL, 0, 0, err);

	if (rc < 0)
		return rc;
	skip_blanks(j);
	return j->at == j->end ? 0 : errmsg_set(err, -EINVAL, "more than one value at byte %zu",
						(size_t)(j->at - j->text));
}

int jsonin_parse(const char *json, size_t len, struct jsonin **ret, struct errmsg *err)
{
	struct jsonin *j = calloc(1, sizeof(*j));
	int rc;

	if (!j || len > INT32_MAX)
		goto no_memory;
	j->room = len / BYTES_PER_VALUE + 16;
	j->value = malloc(j->room * sizeof(*j->value));
	j->text = malloc(len + 1);
	if (!j->value || !j->text)
		goto no_memory;
	memcpy(j->text, json, len);
	j->text[len] = '\0';
	j->at = j->text;
	j->end = j->text + len;
	rc = parse(j, err);
	if (rc < 0)
		goto fail;
	*ret = j;
	return 0;
no_memory:
	rc = errmsg_set(err, -ENOMEM, "out of memory");
fail:
	jsonin_destroy(j);
	return rc;
}

void jsonin_destroy(struct jsonin *j)
{
	if (!j)
		return;
	free(j->value);
	free(j->text);
	free(j);
}

struct jsonin_value *jsonin_root(struct jsonin *j)
{
	return j->value;
}

static bool is_named(const struct jsonin_value *v, const char *name, size_t len)
{
	return v->name_len == len && !memcmp(v->name, name, len);
}

struct jsonin_value *jsonin_member(struct jsonin_value *o, const char *name)
{
	size_t len = strlen(name);
	struct jsonin_value *from;
	struct jsonin_value *v;

	if (!o || o->type != JSONIN_OBJECT)
		return NULL;
	from = o->hint ? o + o->hint : jsonin_first(o);
	for (v = from; v < jsonin_end(o); v = jsonin_next(v))
		if (is_named(v, name, len))
			goto found;
	for (v = jsonin_first(o); v < from; v = jsonin_next(v))
		if (is_named(v, name, len))
			goto found;
	return NULL;
found:
	o->hint = (uint32_t)(v + v->size - o);
	return v;
}
