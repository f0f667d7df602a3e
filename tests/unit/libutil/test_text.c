/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libutil/text.h"

#include <stdio.h>
#include <string.h>

#include "src/libutil/errmsg.h"
#include "src/libutil/logger.h"

#include "tap.h"

static const struct {
	const char *in, *out, *what;
} masks[] = {
	{ "a\x1b[31mb", "a?[31mb", "an escape sequence" },
	{ "a\nb\rc\td", "a?b?c?d", "newline, carriage return, tab" },
	{ "a\x7f"
	  "b",
	  "a?b", "DEL" },
	{ "a\xc2\x9b"
	  "31mb",
	  "a?31mb", "CSI of C1, as UTF-8" },
	{ "a\x9b"
	  "31mb",
	  "a?31mb", "and as the bare byte" },
	{ "\xc2\x80\xc2\x9f", "??", "first and last of C1" },
	{ "\xe2\x80\xae"
	  "gpj.exe",
	  "?gpj.exe", "right-to-left override" },
	{ "\xe2\x81\xa6\xe2\x81\xa9", "??", "bidi isolates" },
	{ "\xd8\x9c\xe2\x80\x8e\xe2\x80\x8f", "???", "marks of direction" },
	{ "a\xe2\x80\xa8\xe2\x80\xa9", "a??", "line and paragraph separator" },
	{ "a\xe2\x80\x8b\xef\xbb\xbf", "a??", "zero width" },
	{ "\xf3\xa0\x81\x81", "?", "a tag character" },
	{ "a\xff\xfe", "a??", "bytes that never occur in UTF-8" },
	{ "a\xe2\x82", "a??", "a character that is cut off" },
	{ "\xed\xa0\x80", "???", "a surrogate" },
	{ "\xc0\x8a", "??", "an overlong newline" },
	{ "", "", "empty" },
	{ "plain 100 % [text]", "plain 100 % [text]", "ASCII" },
	{ "\xc2\xa0\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc2\xa0\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
	  "what can be printed stays, from U+00A0 on" },
};

static void test_mask(void)
{
	char text[64];
	size_t i;

	for (i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
		is_str(text_mask(masks[i].in, text, sizeof(text)), masks[i].out, masks[i].what);
		(void)snprintf(text, sizeof(text), "%s", masks[i].in);
		is_str(text_mask(text, text, sizeof(text)), masks[i].out, "  in place, too");
	}
}

static void test_size(void)
{
	static const char full[4] = { 'a', 'b', '\n', 'd' };
	char text[8];

	is_str(text_mask(full, text, sizeof(full)), "ab?", "an array without its NUL is read no further");
	is_str(text_mask("abcdefghij", text, sizeof(text)), "abcdefg", "cut to the buffer");
	is_str(text_mask("abcdef\xc3\xa9", text, sizeof(text)), "abcdef", "between characters");
	is_str(text_mask("abc", text, 1), "", "a buffer for the NUL only");
}

static void test_cell(void)
{
	static const struct {
		const char *in;
		size_t columns;
		const char *out, *what;
	} rows[] = {
		{ "sleep", 5, "sleep", "a text that fits" },
		{ "sleeps", 5, "slee+", "one that does not" },
		{ "x\ny", 5, "x?y", "is masked" },
		{ "x\ny", 2, "x+", "also when cut" },
		{ "\xc3\xa9\xc3\xa9\xc3\xa9", 3, "\xc3\xa9\xc3\xa9\xc3\xa9", "columns are not bytes" },
		{ "\xc3\xa9\xc3\xa9\xc3\xa9", 2, "\xc3\xa9+", "and no character is split" },
		{ "\xe6\x97\xa5\xe6\x9c\xac", 4, "\xe6\x97\xa5\xe6\x9c\xac", "wide characters take two" },
		{ "\xe6\x97\xa5\xe6\x9c\xac", 3, "\xe6\x97\xa5+", "one of them fits into three" },
		{ "e\xcc\x81t", 2, "e\xcc\x81t", "a combining mark takes none" },
		{ "ab", 1, "+", "one column" },
	};
	char text[4 * 8 + 1];
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		is_str(text_cell(rows[i].in, rows[i].columns, text, sizeof(text)), rows[i].out, rows[i].what);
	is_int((int)text_columns("a\xc3\xa9\xe6\x97\xa5"), 4, "columns of a text");
}

static void test_csv(void)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{ "", "" },
		{ "plain text", "plain text" },
		{ "a,b", "\"a,b\"" },
		{ "a\"b", "\"a\"\"b\"" },
		{ "\"", "\"\"\"\"" },
		{ "a\nb", "\"a\nb\"" },
		{ "a\r", "\"a\r\"" },
		/* formulas for a spreadsheet */
		{ "=1+1", "\"'=1+1\"" },
		{ "+cmd|x", "\"'+cmd|x\"" },
		{ "-2+3", "\"'-2+3\"" },
		{ "@SUM(A1)", "\"'@SUM(A1)\"" },
		{ "\t=1", "\"'\t=1\"" },
		{ "=A1&\"x\"", "\"'=A1&\"\"x\"\"\"" },
		/* not these */
		{ "-5", "-5" },
		{ "+1.5e3", "+1.5e3" },
		{ "-", "-" },
		{ "a=b", "a=b" },
	};
	char text[TEXT_CSV_SIZE(10)];
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		is_str(text_csv(rows[i].in, text, TEXT_CSV_SIZE(strlen(rows[i].in))), rows[i].out,
		       "a value of CSV");
	is_str(text_csv("\"\"\"\"", text, 7), "\"\"\"\"\"\"", "cut, and its quotes are in pairs");
}

static char logged[64];

static void keep(enum logger_level level, const char *line)
{
	(void)level;
	(void)snprintf(logged, sizeof(logged), "%s", line);
}

static void test_users(void)
{
	struct errmsg err = { 0 };

	(void)errmsg_set(&err, -1, "job '%s'",
			 "\xc2\x9b"
			 "2J\n");
	is_str(err.text, "job '?2J?'", "an error is masked");
	logger_set_sink(keep);
	logger_info("job '%s'", "\xe2\x80\xae"
				"x");
	is_str(logged, "job '?x'", "and so is a line of the log");
}

int main(void)
{
	test_mask();
	test_size();
	test_cell();
	test_csv();
	test_users();
	return done_testing();
}
