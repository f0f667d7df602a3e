/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/librecord/exactjson.h"

#include <errno.h>
#include <stdlib.h>

#include "src/libutil/util.h"

#include "tap.h"

/* clang-format off */
static const char *const bad[] = {
	"", " ", "{", "[", "\"", "\"a", "nul", "nulll", "tru e", "[1,]", "[,1]", "[1 2]", "{\"a\"}",
	"{\"a\":}", "{\"a\":1,}", "{a:1}", "{1:2}", "{\"a\":1 \"b\":2}", "1 2", "{}{}", "[1}", "01",
	"-", "+1", ".5", "1.", "1.e3", "1e", "1e+", "0x1", "NaN", "Infinity", "'a'", "\"\n\"",
	"\"\x01\"", "\"\\a\"", "\"\\\"", "\"\\u12\"", "\"\\u12g4\"", "\"\\u0000\"", "\"\\ud800\"",
	"\"\\ud800x\"", "\"\\ud800\\u0041\"", "\"\\udc00\"", "\"\\udc00\\ud800\"", "\"\xff\"",
	"\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"\xe2\x82\"", "{\"a\":1,\"a\":2}",
	"{\"a\":1,\"\\u0061\":2}", "{1.5:2}", "1.5.5", "1 1.5", "01.5", "-01.5", "nul1.5",
	"1.5\"\"", "1.5e", "1.5e+", "-1.", "-.5", "[1.5,]", "\"\\", "\"\\u0000", "\"1.5",
	"{\"a\":1.5,\"a\":2.5}",
	"9223372036854775808", "\"a\"\0x",
};
/* clang-format on */

static void test_bad(void)
{
	struct errmsg err = { 0 };
	json_t *v = NULL;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		size_t len = i == ARRAY_SIZE(bad) - 1 ? 5 : strlen(bad[i]);

		ok(exactjson_load(bad[i], len, &v, &err) == -EINVAL && !v && err.text[0],
		   "refused: row %zu: %s", i, err.text);
	}
}

/* What is read and written again. */
static void test_same(void)
{
	static const char *const rows[] = {
		"1.50",
		"[1e-9,-2.5E+10]",
		"{\"1.5\":\"1.5\",\"a\":[0.10,\"\\\\u0000 \\\" 1.5\",-3]}",
		"\"\\\"\\\\u00001.5\"",
		"[null,true,false,{},[]]",
		"{\"b\":1,\"a\":2}",
		"\"\\u0001\\n\xc3\xa9/\"",
		"[9223372036854775807,-9223372036854775808]",
	};
	struct errmsg err = { 0 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_free_ char *text = NULL;
		json_t *v = NULL;
		size_t len = 0;

		is_int(exactjson_load(rows[i], strlen(rows[i]), &v, &err), 0, rows[i]);
		text = v ? exactjson_dump(v, &len) : NULL;
		is_str(text, rows[i], "comes back");
		is_u64(len, strlen(rows[i]), "length");
		json_decref(v);
	}
}

/* Terminals obey DEL and C1. */
static void test_controls(void)
{
	static const char in[] = "[\"a\x7f\xc2\x80\xc2\x9f\xc2\xa0\xc3\x82z\",{\"k\xc2\x9b\":0.5}]";
	static const char out[] = "[\"a\\u007f\\u0080\\u009f\xc2\xa0\xc3\x82z\",{\"k\\u009b\":0.5}]";
	_cleanup_free_ char *text = NULL;
	struct errmsg err = { 0 };
	json_t *v = NULL;
	json_t *again = NULL;
	size_t len = 0;

	is_int(exactjson_load(in, strlen(in), &v, &err), 0, "raw DEL and C1 are read");
	text = exactjson_dump(v, &len);
	is_str(text, out, "and written escaped, letters as they are");
	is_u64(len, strlen(out), "length");
	is_int(exactjson_load(text, len, &again, &err), 0, "which is read");
	ok(json_equal(v, again), "as the same");
	json_decref(v);
	json_decref(again);
}

static void test_texts(void)
{
	json_t *v = NULL;

	require(exactjson_load("[\"\",\"a\",1.5,1,null]", 19, &v, NULL) == 0);
	ok(exactjson_is_text(json_array_get(v, 0)) && exactjson_is_text(json_array_get(v, 1)), "texts");
	ok(!exactjson_is_text(json_array_get(v, 2)) && !exactjson_is_text(json_array_get(v, 3)) &&
		   !exactjson_is_text(json_array_get(v, 4)) && !exactjson_is_text(NULL),
	   "a number is no text, nor is null");
	json_decref(v);
}

static const struct {
	uint64_t value, scale;
	const char *text;
} decimals[] = {
	{ 0, 1000000, "0" },
	{ 12000000, 1000000, "12" },
	{ 1, 1000000000, "0.000000001" },
	{ 100, 1000, "0.1" },
	{ 1234567, 1000, "1234.567" },
	{ UINT64_MAX, 1000000000, "18446744073.709551615" },
	{ INT64_MAX, 1, "9223372036854775807" },
	{ UINT64_MAX, 1, "null" },
};

static void test_decimals(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(decimals); i++) {
		json_t *v = exactjson_decimal(decimals[i].value, decimals[i].scale);
		_cleanup_free_ char *text = exactjson_dump(v, NULL);
		uint64_t back = 0;

		is_str(text, decimals[i].text, "written");
		ok(json_is_null(v) ||
			   (exactjson_scaled(v, decimals[i].scale, &back) == 0 && back == decimals[i].value),
		   "and read");
		json_decref(v);
	}
}

static void test_find(void)
{
	struct exactjson_cursor c = { .root = json_object() };
	_cleanup_free_ char *text = NULL;
	const char *name;
	json_t *o = NULL;

	ok(exactjson_find(&c, "a.b.x", false, &o, &name) == 0 && !o, "a.b.x is not there");
	ok(exactjson_find(&c, "a.b.x", true, &o, &name) == 0 && o && !strcmp(name, "x"),
	   "a.b.x: its object is made");
	(void)json_object_set_new(o, name, json_integer(1));
	ok(exactjson_find(&c, "a.b.y", true, &o, &name) == 0 && json_object_size(o) == 1,
	   "a.b.y: the same object");
	ok(exactjson_find(&c, "a.z", true, &o, &name) == 0 && json_object_size(o) == 1,
	   "a.z: the object above");
	ok(exactjson_find(&c, "z", true, &o, &name) == 0 && o == c.root, "z: the root");
	is_int(exactjson_find(&c, "a.b.x.y", false, &o, &name), -EINVAL, "a number is no object");
	text = exactjson_dump(c.root, NULL);
	is_str(text, "{\"a\":{\"b\":{\"x\":1}}}", "nothing else was made");
	json_decref(c.root);
}

static const struct {
	const char *text;
	uint64_t scale;
	int rc;
	uint64_t value;
} numbers[] = {
	{ "-1", 1, -EINVAL, 0 },
	{ "-0.0", 1, -EINVAL, 0 },
	{ "null", 1, -EINVAL, 0 },
	{ "\"1\"", 1, -EINVAL, 0 },
	{ "18446744073709551616.0", 1, -ERANGE, 0 },
	{ "18446744073710", 1000000, -ERANGE, 0 },
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
	{ "17000000000000000000.0", 1, 0, UINT64_C(17000000000000000000) },
};

static void test_numbers(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		json_t *v = NULL;
		uint64_t got = 0;
		int rc = exactjson_load(numbers[i].text, strlen(numbers[i].text), &v, NULL);

		if (rc == 0)
			rc = exactjson_scaled(v, numbers[i].scale, &got);
		ok(rc == numbers[i].rc && got == numbers[i].value, "%s times %d", numbers[i].text,
		   (int)numbers[i].scale);
		json_decref(v);
	}
}

int main(void)
{
	test_bad();
	test_same();
	test_controls();
	test_texts();
	test_decimals();
	test_find();
	test_numbers();
	return done_testing();
}
