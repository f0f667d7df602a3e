/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libcore/trace_context.h"

#include <string.h>

#include "src/libutil/sha256.h"
#include "src/libutil/util.h"
#include "tap.h"

static char text[2 * SHA256_SIZE + 1];

static const char *as_hex(const uint8_t *p, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		(void)snprintf(text + 2 * i, 3, "%02x", p[i]);
	return text;
}

static const char *hash_of(const char *data, size_t len)
{
	uint8_t hash[SHA256_SIZE];

	sha256(data, len, hash);
	return as_hex(hash, sizeof(hash));
}

static void test_sha256(void)
{
	static const struct {
		size_t len; /* of 'a's */
		const char *hash;
	} lengths[] = {
		/* as sha256sum has them; 55, 56 and 64 are the borders of a block */
		{ 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
		{ 55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318" },
		{ 56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a" },
		{ 64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb" },
		{ 1000, "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3" },
	};
	char many[1000];
	size_t i;

	memset(many, 'a', sizeof(many));
	is_str(hash_of("abc", 3), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
	       "FIPS 180-4's example");
	for (i = 0; i < ARRAY_SIZE(lengths); i++)
		is_str(hash_of(many, lengths[i].len), lengths[i].hash, "a text of this length");
}

static void test_parse(void)
{
#define T "0af7651916cd43dd8448eb211c80319c"
#define S "b7ad6b7169203331"
	static const struct {
		const char *text, *back, *what;
	} rows[] = {
		{ NULL, NULL, "none" },
		{ "", NULL, "empty" },
		{ "00-" T "-" S, NULL, "no flags" },
		{ "00-" T "-" S "-0", NULL, "too short" },
		{ "00-" T "-" S "-01-", NULL, "version 00 has nothing behind" },
		{ "00-" T "-" S "-01 ", NULL, "  nor a blank" },
		{ "00-00000000000000000000000000000000-" S "-01", NULL, "a trace of zeros" },
		{ "00-" T "-0000000000000000-01", NULL, "a span of zeros" },
		{ "00-0AF7651916CD43DD8448EB211C80319C-" S "-01", NULL, "upper case" },
		{ "00-0af7651916cd43dd8448eb211c80319g-" S "-01", NULL, "not hex" },
		{ "00_" T "-" S "-01", NULL, "no dash" },
		{ "ff-" T "-" S "-01", NULL, "version ff" },
		{ "0x-" T "-" S "-01", NULL, "a version that is no number" },
		{ "01-" T "-" S "-01.more", NULL, "a later version without a dash" },
		{ "$(id)0000000000000000000000000000000000000000000000000000", NULL, "hostile" },
		{ "00-" T "-" S "-01", "00-" T "-" S "-01", "sampled" },
		{ "00-" T "-" S "-00", "00-" T "-" S "-00", "not sampled" },
		{ "00-" T "-" S "-ff", "00-" T "-" S "-01",
		  "flags that version 00 does not have are not passed on" },
		{ "cc-" T "-" S "-01-more", "00-" T "-" S "-01", "a later version is read as 00" },
	};
	struct trace_context c;
	char back[TRACE_PARENT_LEN + 1];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		bool valid = trace_context_parse(rows[i].text, /* may_begin= */ false, &c);

		ok(valid == (rows[i].back != NULL), "%s", rows[i].what);
		if (!valid)
			continue;
		trace_context_format(&c, back);
		is_str(back, rows[i].back, "  written");
	}
	ok(trace_context_parse("00-" T "-0000000000000000-01", /* may_begin= */ true, &c),
	   "a trace that begins with the job");
	ok(!trace_context_parse("00-00000000000000000000000000000000-" S "-01", /* may_begin= */ true, &c),
	   "not one of zeros");
}

/* As doc/traces.md tells others to compute them, with sha256sum. */
static void test_ids(void)
{
	static const char key[] = "c1/7,1700000000,2/0";
	uint8_t trace[TRACE_ID_SIZE], span[TRACE_SPAN_SIZE];

	trace_id_of_job(key, sizeof(key) - 1, trace);
	is_str(as_hex(trace, sizeof(trace)), "1fc30fbf9581acf5ca6e6041a83cf445", "the trace");
	trace_span_of_job(key, sizeof(key) - 1, "job", span);
	is_str(as_hex(span, sizeof(span)), "2947f33164d1feb2", "the job");
	trace_span_of_job(key, sizeof(key) - 1, "queue", span);
	is_str(as_hex(span, sizeof(span)), "52a42850ec8c83f3", "the queue");
	trace_span_of_step("c1", 7, 2, 4294967291u, 0, span);
	is_str(as_hex(span, sizeof(span)), "7e74902707664143", "the batch step");
	trace_span_of_step("c1", 7, 2, 0, 1, span);
	is_str(as_hex(span, sizeof(span)), "f1f8340e408d10bd", "the second component of a step");
}

int main(void)
{
	test_sha256();
	test_parse();
	test_ids();
	return done_testing();
}
