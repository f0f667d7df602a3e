/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Texts of any bytes, through a record and back. With an argument it prints them in hex, each with its
 * record, for test_record_python.
 */
#include "src/librecord/record.h"

#include <jansson.h>
#include <stdlib.h>

#include "src/libutil/util.h"

#include "tap.h"

#define ROUNDS 10000

/* clang-format off */
static const char *const hostile[] = {
	"plain", "\"", "\\", "\\\\xff", "\"}],[{\"", "'; DROP TABLE job; --", "${jndi:ldap://x}",
	"line\nline\r\n\ttab\b\f", "\x01\x02\x03\x1e\x1f\x7f", "/* */ <script>", "%s%n%p",
	"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\xe2\x80\xa8 \xe2\x80\xa9 \xef\xbb\xbf",
	"\xf4\x8f\xbf\xbf \xef\xbf\xbf \xed\x9f\xbf \xee\x80\x80", "\xed\xa0\x80\xed\xb0\x80",
	"\xc0\x80", "\xc0\xaf\xe0\x80\xaf\xf0\x80\x80\xaf", "\xf8\x88\x80\x80\x80", "\xfe\xff",
	"\xe2\x82", "\xf0\x9f\x98", "a\xc3", "\xff\\x41", "\\x41", "\\u0041", "\\ud800",
	"\xff\\", "\\\xff\\\\", "true", "null", "\xe2\x80\xae",
};
/* clang-format on */

/* Random bytes; every second time such as make sequences, quotes and backslashes likely. */
static void fill_random(char *buf, size_t size)
{
	static const unsigned char likely[] = { '\\', '"',  'x',  'u',	'0',  'f',  'a',  '\n',
						0xc2, 0xc3, 0xe0, 0xe2, 0xed, 0xf0, 0xf4, 0x80,
						0x82, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xff };
	size_t len = (size_t)random() % size;
	bool pick = random() % 2;
	size_t i;

	for (i = 0; i < len; i++)
		buf[i] = (char)(pick ? likely[(size_t)random() % sizeof(likely)] : 1 + random() % 255);
	buf[len] = '\0';
}

/* TEXT in the record, in an object of it and in a step; where it is cut if it does not fit. */
static struct record *make(const char *text)
{
	struct record *r = record_create();

	r->cluster = strdup("c");
	r->job_id = 1;
	r->job_name = strdup(text);
	r->comment = strdup(text);
	r->script = strdup(text);
	r->work_dir = strdup("/never/escaped/\\x41");
	(void)snprintf(r->energy.source, sizeof(r->energy.source), "%s", text);
	r->steps_known = true;
	r->nsteps = 2;
	r->steps = calloc(2, sizeof(*r->steps));
	r->steps[0].name = strdup(text);
	r->steps[1].nodes = strdup(text);
	r->steps[1].nnodes = 2;
	r->steps[1].energy.max = (struct maybe_u64){ 1, true };
	(void)snprintf(r->steps[1].energy.max_node, sizeof(r->steps[1].energy.max_node), "%s", text);
	values_init(&r->steps[0].values);
	values_init(&r->steps[1].values);
	values_set(&r->steps[1].values, METRIC_ENERGY, 1);
	return r;
}

static bool same(const char *a, const char *b)
{
	return a && *a ? b && !strcmp(a, b) : !b || !*b; /* an empty text is unknown */
}

static bool is_same(const struct record *a, const struct record *b)
{
	return same(a->job_name, b->job_name) && same(a->comment, b->comment) && same(a->script, b->script) &&
	       same(a->work_dir, b->work_dir) && same(a->energy.source, b->energy.source) && b->nsteps == 2 &&
	       same(a->steps[0].name, b->steps[0].name) && same(a->steps[1].nodes, b->steps[1].nodes) &&
	       same(a->steps[1].energy.max_node, b->steps[1].energy.max_node);
}

static bool jansson_reads(const char *json, size_t len)
{
	json_error_t where;
	json_t *o = json_loadb(json, len, JSON_REJECT_DUPLICATES, &where);

	json_decref(o);
	return o;
}

static bool comes_back(const char *text)
{
	_cleanup_free_ char *json = NULL;
	_cleanup_free_ char *again = NULL;
	struct record *r = make(text);
	struct record *back = NULL;
	struct errmsg err = { 0 };
	size_t len = 0;
	bool good = record_to_json(r, &json, &len, &err) == 0 && jansson_reads(json, len) &&
		    record_from_json(json, len, &back, &err) == 0 && is_same(r, back) &&
		    record_to_json(back, &again, &len, &err) == 0 && !strcmp(json, again);

	if (!good)
		diag("%s %s", err.text, json);
	record_destroy(r);
	record_destroy(back);
	return good;
}

static void test_texts(void)
{
	char text[300];
	unsigned int seed = 1;
	int good = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(hostile); i++)
		ok(comes_back(hostile[i]), "row %zu", i);
	for (i = 1; i < 256; i++) {
		char byte[] = { (char)i, '\0' };
		char inside[] = { 'a', '\\', (char)i, 'z', '\0' };

		good += comes_back(byte) && comes_back(inside);
	}
	is_int(good, 255, "every byte, alone and within a text");
	srandom(seed);
	for (i = good = 0; i < ROUNDS; i++) {
		fill_random(text, sizeof(text));
		good += comes_back(text);
	}
	ok(good == ROUNDS, "%d of %d random texts, seed %u", good, ROUNDS, seed);
}

static void test_script(void)
{
	static char script[64 << 10];
	size_t i;

	for (i = 0; i < sizeof(script) - 1; i++)
		script[i] = "#!/bin/sh\n\"'\\$\xff\xc3\xa9"[i % 18];
	ok(comes_back(script), "a script of 64 kB");
}

/* A member "escaped" that does not match the texts beside it. */
static void test_wrong(void)
{
	static const struct {
		const char *json;
		bool good;
	} rows[] = {
		{ "\"escaped\":[]", true },
		{ "\"escaped\":null", true },
		{ "\"escaped\":[\"of_a_later_version\",\"energy.also\",\"a.b.c\",\"jobid\"]", true },
		{ "\"job_name\":\"\\\\x41\\\\\\\\\",\"escaped\":[\"job_name\"]", true },
		{ "\"escaped\":\"job_name\"", false },
		{ "\"escaped\":[7]", false },
		{ "\"job_name\":\"\\\\x4\",\"escaped\":[\"job_name\"]", false },
		{ "\"job_name\":\"\\\\x00\",\"escaped\":[\"job_name\"]", false },
		{ "\"job_name\":\"\\\\\",\"escaped\":[\"job_name\"]", false },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct record *r = NULL;
		struct errmsg err = { 0 };
		char json[300];

		(void)snprintf(json, sizeof(json),
			       "{\"schema\":\"ceems.job.v1\",\"cluster\":\"c\",\"jobid\":1,%s}",
			       rows[i].json);
		ok((record_from_json(json, strlen(json), &r, &err) == 0) == rows[i].good, "%s: %s",
		   rows[i].json, err.text);
		if (i == 3)
			is_str(r->job_name, "A\\", "what is escaped more than needed is read as well");
		record_destroy(r);
	}
}

static void print_one(const char *text)
{
	_cleanup_free_ char *json = NULL;
	struct record *r = make(text);

	if (record_to_json(r, &json, NULL, NULL) == 0) {
		for (; *text; text++)
			printf("%02x", (unsigned char)*text);
		printf(" %s\n", json);
	}
	record_destroy(r);
}

static void print_all(void)
{
	char text[50];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(hostile); i++)
		print_one(hostile[i]);
	for (i = 1; i < 256; i++)
		print_one((char[]){ (char)i, '\\', '\0' });
	for (i = 0; i < ROUNDS / 5; i++) {
		fill_random(text, sizeof(text));
		if (*text)
			print_one(text);
	}
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1) {
		print_all();
		return 0;
	}
	test_texts();
	test_script();
	test_wrong();
	return done_testing();
}
