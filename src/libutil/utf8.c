/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libutil/utf8.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "src/libutil/util.h"

/*
 * Which bytes may follow a lead byte: table 3-7 of the Unicode Standard. The table excludes
 * surrogates, overlong forms and code points above U+10FFFF.
 */
static const struct lead {
	unsigned char first, last; /* range of the lead byte */
	unsigned char low2, high2; /* range of the second byte */
	unsigned char length;
} leads[] = {
	{ 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 }, { 0xe1, 0xec, 0x80, 0xbf, 3 },
	{ 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 }, { 0xf0, 0xf0, 0x90, 0xbf, 4 },
	{ 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
};

size_t utf8_bom(const char *text)
{
	return strncmp(text, "\xef\xbb\xbf", 3) ? 0 : 3;
}

size_t utf8_sequence(const char *p, size_t left)
{
	const unsigned char *u = (const unsigned char *)p;
	const struct lead *l = leads;
	size_t n;

	if (*u < 0x80)
		return 1;
	while (l < leads + ARRAY_SIZE(leads) && !(*u >= l->first && *u <= l->last))
		l++;
	if (l == leads + ARRAY_SIZE(leads) || left < l->length || u[1] < l->low2 || u[1] > l->high2)
		return 0;
	for (n = 2; n < l->length; n++)
		if ((u[n] & 0xc0) != 0x80)
			return 0;
	return l->length;
}

static bool utf8_is_valid(const char *s, size_t len)
{
	const uint64_t high = UINT64_C(0x8080808080808080);
	size_t n;

	for (; len; s += n, len -= n) {
		uint64_t eight;

		if (len >= sizeof(eight)) {
			memcpy(&eight, s, sizeof(eight));
			if (!(eight & high)) {
				n = sizeof(eight);
				continue;
			}
		}
		n = utf8_sequence(s, len);
		if (!n)
			return false;
	}
	return true;
}

int utf8_escape(const char *s, size_t len, char **ret, size_t *ret_len)
{
	static const char hex[] = "0123456789abcdef";
	const char *end = s + len;
	char *out;
	char *to;

	if (utf8_is_valid(s, len)) {
		*ret = NULL;
		return 0;
	}
	to = out = malloc(len * 4 + 1);
	if (!out)
		return -ENOMEM;
	while (s < end) {
		size_t n = utf8_sequence(s, (size_t)(end - s));

		if (!n) {
			*to++ = '\\';
			*to++ = 'x';
			*to++ = hex[(unsigned char)*s >> 4];
			*to++ = hex[(unsigned char)*s++ & 15];
			continue;
		}
		if (*s == '\\')
			*to++ = '\\';
		memcpy(to, s, n);
		to += n;
		s += n;
	}
	*to = '\0';
	*ret = out;
	*ret_len = (size_t)(to - out);
	return 0;
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int utf8_unescape(char *s)
{
	char *to = s;

	while (*s) {
		if (*s != '\\') {
			*to++ = *s++;
		} else if (s[1] == '\\') {
			*to++ = '\\';
			s += 2;
		} else {
			int high = s[1] == 'x' ? hex_digit(s[2]) : -1;
			int low = high < 0 ? -1 : hex_digit(s[3]);

			if (low < 0 || !(high | low))
				return -EINVAL;
			*to++ = (char)(high << 4 | low);
			s += 4;
		}
	}
	*to = '\0';
	return 0;
}
