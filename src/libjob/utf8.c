/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libjob/utf8.h"

#include <stdbool.h>
#include <string.h>

#include "src/libutil/util.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */
#define REPLACEMENT_LEN 3

/* Table 3-7 of the Unicode Standard: what may follow a lead byte, so no surrogates, no overlong
 * forms, nothing above U+10FFFF. */
static const struct lead {
	unsigned char first, last;   /* range of the lead byte */
	unsigned char low2, high2;   /* range of the second byte */
	unsigned char length;
} leads[] = {
	{ 0x00, 0x7f, 0x00, 0x00, 1 }, { 0xc2, 0xdf, 0x80, 0xbf, 2 },
	{ 0xe0, 0xe0, 0xa0, 0xbf, 3 }, { 0xe1, 0xec, 0x80, 0xbf, 3 },
	{ 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
	{ 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 },
	{ 0xf4, 0xf4, 0x80, 0x8f, 4 },
};

/* Length of the sequence at P, or of its maximal subpart if it is not well-formed. */
static size_t sequence(const unsigned char *p, size_t left, bool *ret_good)
{
	const struct lead *l = leads;
	size_t n;

	*ret_good = false;
	while (l < leads + ARRAY_SIZE(leads) && !(*p >= l->first && *p <= l->last))
		l++;
	if (l == leads + ARRAY_SIZE(leads))
		return 1;
	for (n = 1; n < l->length; n++) {
		unsigned char low = n == 1 ? l->low2 : 0x80;
		unsigned char high = n == 1 ? l->high2 : 0xbf;

		if (n == left || p[n] < low || p[n] > high)
			return n;
	}
	*ret_good = true;
	return n;
}

char *utf8_clean(const char *s, size_t len, size_t *ret_len)
{
	const unsigned char *p = (const unsigned char *)s;
	size_t used = 0;
	size_t i = 0;
	char *out;

	out = malloc(len * REPLACEMENT_LEN + 1);
	if (!out)
		return NULL;
	while (i < len) {
		bool good;
		size_t n = sequence(p + i, len - i, &good);

		memcpy(out + used, good ? s + i : REPLACEMENT, good ? n : REPLACEMENT_LEN);
		used += good ? n : REPLACEMENT_LEN;
		i += n;
	}
	out[used] = '\0';
	if (ret_len)
		*ret_len = used;
	return out;
}
