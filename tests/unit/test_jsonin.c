/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/librecord/jsonin.h"

#include <errno.h>
#include <stdlib.h>

#include "src/libutil/util.h"

#include "tap.h"

static const char *const bad[] = {
	"", " ", "{", "[", "\"", "\"a", "nul", "nulll", "tru e", "[1,]", "[,1]", "[1 2]", "{\"a\"}",
	"{\"a\":}", "{\"a\":1,}", "{a:1}", "{1:2}", "{\"a\":1 \"b\":2}", "1 2", "{}{}", "[1}", "01",
	"-", "+1", ".5", "1.", "1.e3", "1e", "1e+", "0x1", "NaN", "Infinity", "'a'", "\"\n\"",
	"\"\x01\"", "\"\\a\"", "\"\\\"", "\"\\u12\"", "\"\\u12g4\"", "\"\\u0000\"", "\"\\ud800\"",
	"\"\\ud800x\"", "\"\\ud800\\u0041\"", "\"\\udc00\"", "\"\\udc00\\ud800\"", "\"\xff\"",
	"\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"\xe2\x82\"", "{\"a\":1,\"a\":2}",
	"{\"a\":1,\"\\u0061\":2}", "[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]", "\"a\"\0x",
};

static void test_bad(void)
{
	static char many[20000] = "{";
	struct errmsg err = { 0 };
	struct jsonin *j = NULL;
	size_t used = 1;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		size_t len = i == ARRAY_SIZE(bad) - 1 ? 5 : strlen(bad[i]);

		ok(jsonin_parse(bad[i], len, &j, &err) == -EINVAL && !j && strstr(err.text, "at byte"),
		   "refused: row %zu: %s", i, err.text);
	}
	for (i = 0; i < 1001; i++)
		used += (size_t)snprintf(many + used, sizeof(many) - used, "\"%zu\":0%s", i,
					 i < 1000 ? "," : "}");
	is_int(jsonin_parse(many, used, &j, &err), -EINVAL, "more members than anything has");
}

static void test_structure(void)
{
	static const char json[] = " {\"a\" : [1, [], {}, \"x\"],\n\t\"\":null,\"b\":{\"c\":true, \"d\""
				   ":false},\"e\\n\":\"\\u00e9\\u20AC\\ud83d\\ude00\\/\\\"\" }\r\n";
	struct jsonin_value *a;
	struct jsonin_value *o;
	struct jsonin_value *v;
	struct errmsg err = { 0 };
	struct jsonin *j = NULL;
	unsigned int types = 0;
	int i;

	is_int(jsonin_parse(json, sizeof(json) - 1, &j, &err), 0, "parses");
	if (!j)
		return;
	o = jsonin_root(j);
	ok(o->type == JSONIN_OBJECT && o->n == 4, "an object");
	for (i = 0; i < 3; i++) { /* in order, again, in reverse */
		a = jsonin_member(o, "a");
		ok(a && a->type == JSONIN_ARRAY && a->n == 4, "a");
		v = jsonin_member(o, "");
		ok(v && v->type == JSONIN_NULL, "no name");
		v = jsonin_member(jsonin_member(o, "b"), "d");
		ok(v && v->type == JSONIN_FALSE, "a member of a member");
		v = jsonin_member(o, "e\n");
		ok(v && !strcmp(v->text, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80/\""), "decoded");
		ok(!jsonin_member(o, "c") && !jsonin_member(o, "aa") && !jsonin_member(a, "a") &&
			   !jsonin_member(NULL, "a"),
		   "not there");
	}
	for (v = jsonin_first(a); v < jsonin_end(a); v = jsonin_next(v))
		types = types * 10 + v->type;
	is_u64(types, JSONIN_NUMBER * 1000 + JSONIN_ARRAY * 100 + JSONIN_OBJECT * 10 + JSONIN_STRING,
	       "elements in order");
	jsonin_destroy(j);
	jsonin_destroy(NULL);
}

static const struct {
	const char *text;
	uint64_t scale;
	int rc;
	uint64_t value;
} numbers[] = {
	{ "-1", 1, -EINVAL, 0 },
	{ "-0", 1, -EINVAL, 0 },
	{ "null", 1, -EINVAL, 0 },
	{ "\"1\"", 1, -EINVAL, 0 },
	{ "18446744073709551616", 1, -ERANGE, 0 },
	{ "1e20", 1, -ERANGE, 0 },
	{ "1e99999999999", 1, -ERANGE, 0 },
	{ "0", 1000000000, 0, 0 },
	{ "0e9999", 1, 0, 0 },
	{ "1", 1000000000, 0, 1000000000 },
	{ "0.000000001", 1000000000, 0, 1 },
	{ "1e-9", 1000000000, 0, 1 },
	{ "1.5E1", 1, 0, 15 },
	{ "0.4999", 1, 0, 0 },
	{ "0.5", 1, 0, 1 },
	{ "0.05", 1, 0, 0 },
	{ "1e-99999999999", 1, 0, 0 },
	{ "9007199254.740993", 1000000, 0, UINT64_C(9007199254740993) },
	{ "1844674407370.955161", 1000000, 0, UINT64_C(1844674407370955161) },
	{ "1.00000000000000000000000000000000001", 1000000, 0, 1000000 },
	{ "18446744073.709551615", 1000000000, 0, UINT64_MAX },
	{ "18446744073.709551616", 1000000000, 0, UINT64_C(18446744073709551610) },
	{ "17000000000000000000", 1, 0, UINT64_C(17000000000000000000) },
};

static void test_numbers(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		struct jsonin *j = NULL;
		uint64_t got = 0;
		int rc = jsonin_parse(numbers[i].text, strlen(numbers[i].text), &j, NULL);

		if (rc == 0)
			rc = jsonin_scaled(jsonin_root(j), numbers[i].scale, &got);
		ok(rc == numbers[i].rc && got == numbers[i].value, "%s times %d", numbers[i].text,
		   (int)numbers[i].scale);
		jsonin_destroy(j);
	}
}

int main(void)
{
	test_bad();
	test_structure();
	test_numbers();
	return done_testing();
}
