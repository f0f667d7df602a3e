/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libutil/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "src/libutil/utf8.h"
#include "src/libutil/util.h"

struct text_range {
	uint32_t first, last;
};

static const struct text_range masked[] = {
	{ 0x00, 0x1f },	      /* C0 */
	{ 0x7f, 0x9f },	      /* DEL, C1 */
	{ 0xad, 0xad },	      /* soft hyphen */
	{ 0x61c, 0x61c },     /* Arabic letter mark */
	{ 0x180e, 0x180e },   /* Mongolian vowel separator */
	{ 0x200b, 0x200f },   /* zero width, marks of direction */
	{ 0x2028, 0x202e },   /* separators of lines, bidi embeddings and overrides */
	{ 0x2060, 0x206f },   /* word joiner, bidi isolates */
	{ 0xfeff, 0xfeff },   /* byte order mark */
	{ 0xfff9, 0xfffb },   /* interlinear annotation */
	{ 0xe0000, 0xe0fff }, /* tags */
};

/*
 * The most common combining marks. With a mark that is missing here, a table cell comes out too
 * narrow.
 */
static const struct text_range no_width[] = {
	{ 0x300, 0x36f },   { 0x483, 0x489 },	{ 0x591, 0x5bd },   { 0x610, 0x61a },	{ 0x64b, 0x65f },
	{ 0x1ab0, 0x1aff }, { 0x1dc0, 0x1dff }, { 0x20d0, 0x20ff }, { 0xfe00, 0xfe0f }, { 0xfe20, 0xfe2f },
};

/* Blocks with East_Asian_Width W or F in Unicode; only whole blocks. */
static const struct text_range double_width[] = {
	{ 0x1100, 0x115f },   { 0x2e80, 0x303e },   { 0x3041, 0xa4cf },	  { 0xa960, 0xa97f },
	{ 0xac00, 0xd7a3 },   { 0xf900, 0xfaff },   { 0xfe30, 0xfe6f },	  { 0xff01, 0xff60 },
	{ 0xffe0, 0xffe6 },   { 0x1f300, 0x1f64f }, { 0x1f680, 0x1f6ff }, { 0x1f900, 0x1faff },
	{ 0x20000, 0x3fffd },
};

static bool is_in(uint32_t c, const struct text_range *r, size_t n)
{
	while (n && c > r->last) {
		r++;
		n--;
	}
	return n && c >= r->first;
}

/* Decodes the well-formed UTF-8 sequence of LEN bytes at P. */
static uint32_t code_point(const char *p, size_t len)
{
	uint32_t c = (unsigned char)*p;
	size_t i;

	if (len > 1)
		c &= 0x7fu >> len;
	for (i = 1; i < len; i++)
		c = c << 6 | ((unsigned char)p[i] & 0x3f);
	return c;
}

char *text_mask(const char *from, char *to, size_t size)
{
	size_t left = strnlen(from, size);
	char *out = to;
	size_t n;

	for (; left; from += n, left -= n) {
		bool is_bad;

		n = utf8_sequence(from, left);
		is_bad = !n || is_in(code_point(from, n), masked, ARRAY_SIZE(masked));
		n = n ? n : 1;
		if ((size_t)(out - to) + (is_bad ? 1 : n) >= size)
			break;
		if (is_bad) {
			*out++ = '?';
		} else {
			memmove(out, from, n);
			out += n;
		}
	}
	*out = '\0';
	return to;
}

void text_mask_controls(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			*text = '?';
}

/* Terminal columns of the character at S; its length in bytes goes to *RET_LEN. */
static size_t columns_of(const char *s, size_t left, size_t *ret_len)
{
	size_t n = utf8_sequence(s, left);
	uint32_t c = n ? code_point(s, n) : 0;

	*ret_len = n ? n : 1;
	if (is_in(c, no_width, ARRAY_SIZE(no_width)))
		return 0;
	return is_in(c, double_width, ARRAY_SIZE(double_width)) ? 2 : 1;
}

size_t text_columns(const char *s)
{
	size_t left = strlen(s);
	size_t columns = 0;
	size_t n;

	for (; left; s += n, left -= n)
		columns += columns_of(s, left, &n);
	return columns;
}

char *text_cell(const char *from, size_t columns, char *to, size_t size)
{
	size_t left, n, width;
	size_t used = 0;
	char *cut = to; /* where a '+' fits if the text must be cut */
	char *p;

	left = strlen(text_mask(from, to, size));
	for (p = to; left; p += n, left -= n) {
		width = columns_of(p, left, &n);
		if (used + width > columns)
			break;
		used += width;
		if (used < columns)
			cut = p + n;
	}
	if (left) {
		cut[0] = '+';
		cut[1] = '\0';
	}
	return to;
}

/* A lone sign is none, and neither is a number. */
static bool is_formula(const char *text)
{
	char *end;

	if (!*text || !strchr("=+-@\t\r", *text) || !text[1])
		return false;
	(void)strtod(text, &end);
	return *end != '\0';
}

char *text_csv(const char *text, char *to, size_t size)
{
	const bool is_text = is_formula(text);
	const bool is_quoted = is_text || text[strcspn(text, "\",\r\n")];
	size_t n = 0;

	if (is_quoted && size > 2)
		to[n++] = '"';
	if (is_text && size > 4)
		to[n++] = '\'';
	/* room for a doubled quote, the last quote and NUL */
	for (; *text && n + 3 < size; text++) {
		if (*text == '"')
			to[n++] = '"';
		to[n++] = *text;
	}
	if (is_quoted && n + 1 < size)
		to[n++] = '"';
	if (size)
		to[n] = '\0';
	return to;
}
