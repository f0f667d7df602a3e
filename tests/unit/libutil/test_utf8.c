/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libutil/utf8.h"

#include <errno.h>
#include <stdlib.h>

#include "src/libutil/util.h"

#include "tap.h"

static const struct {
	const char *in;
	const char *out; /* NULL: as it is */
	const char *what;
} rows[] = {
	{ "", NULL, "empty" },
	{ "plain, with \\ and \\xff", NULL, "ASCII, also what looks like an escape" },
	{ "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", NULL, "two, three and four bytes" },
	{ "\xe2\x80\xa8\xef\xbf\xbf\xf4\x8f\xbf\xbf", NULL, "U+2028, U+FFFF, U+10FFFF" },
	{ "eight bytes \xc3\xa9 and more of them", NULL, "behind eight of ASCII" },
	{ "a\xffz", "a\\xffz", "a byte that never occurs" },
	{ "\\\xff\\x", "\\\\\\xff\\\\x", "then backslashes are doubled" },
	{ "\xc3", "\\xc3", "cut after the lead byte" },
	{ "\xe2\x82", "\\xe2\\x82", "two of three bytes" },
	{ "\xf0\x9f\x98.", "\\xf0\\x9f\\x98.", "three of four bytes" },
	{ "\x80", "\\x80", "a continuation without its lead" },
	{ "\xc0\xaf", "\\xc0\\xaf", "overlong, two bytes" },
	{ "\xe0\x9f\xbf", "\\xe0\\x9f\\xbf", "overlong, three" },
	{ "\xf0\x8f\xbf\xbf", "\\xf0\\x8f\\xbf\\xbf", "overlong, four" },
	{ "\xed\xa0\x80", "\\xed\\xa0\\x80", "a surrogate" },
	{ "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80", "above U+10FFFF" },
	{ "\xc3\xa9\xc3", "\xc3\xa9\\xc3", "what is well-formed stays" },
};

static void test_rows(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_free_ char *got = NULL;
		size_t len = 0;

		is_int(utf8_escape(rows[i].in, strlen(rows[i].in), &got, &len), 0, rows[i].what);
		if (!rows[i].out) {
			ok(!got, "stays as it is");
			continue;
		}
		ok(got && !strcmp(got, rows[i].out) && len == strlen(got), "is %s", rows[i].out);
		ok(got && utf8_unescape(got) == 0 && !strcmp(got, rows[i].in), "and comes back");
	}
}

static void test_refused(void)
{
	static const char *const bad[] = { "\\",    "a\\",   "\\x", "\\xf",  "\\xfg",
					   "\\xFF", "\\x00", "\\n", "\\\\\\" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		char text[16];

		(void)snprintf(text, sizeof(text), "%s", bad[i]);
		ok(utf8_unescape(text) == -EINVAL, "no escaped text: %s", bad[i]);
	}
}

int main(void)
{
	test_rows();
	test_refused();
	return done_testing();
}
