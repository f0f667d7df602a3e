/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libutil/parse.h"

#include <errno.h>

#include "src/libutil/util.h"
#include "tap.h"

static const struct {
	const char *text;
	int rc;
	uint64_t value;
} u64s[] = {
	{ "", -EINVAL, 0 },
	{ " 1", -EINVAL, 0 },
	{ "-1", -EINVAL, 0 },
	{ "+1", -EINVAL, 0 },
	{ "1x", -EINVAL, 0 },
	{ "1\n", -EINVAL, 0 },
	{ "18446744073709551616", -ERANGE, 0 },
	{ "18446744073709551615", 0, UINT64_MAX },
	{ "0", 0, 0 },
}, hexes[] = {
	{ "", -EINVAL, 0 },
	{ "41", -EINVAL, 0 },
	{ "0x", -EINVAL, 0 },
	{ "0x 1", -EINVAL, 0 },
	{ "0x-1", -EINVAL, 0 },
	{ "0x1g", -EINVAL, 0 },
	{ "0x10000000000000000", -ERANGE, 0 },
	{ "0x0", 0, 0 },
	{ "0xD0c", 0, 0xd0c },
}, durations[] = {
	{ "1w", -EINVAL, 0 },
	{ "1 s", -EINVAL, 0 },
	{ "s", -EINVAL, 0 },
	{ "1.5s", -EINVAL, 0 },
	{ "213504d", -ERANGE, 0 },
	{ "250ms", 0, 250000000 },
	{ "2", 0, 2000000000 },
	{ "3S", 0, 3000000000 },
	{ "1m", 0, 60000000000 },
}, sizes[] = {
	{ "1X", -EINVAL, 0 },
	{ "-1K", -EINVAL, 0 },
	{ "16777216T", -ERANGE, 0 },
	{ "512", 0, 512 },
	{ "2k", 0, 2048 },
	{ "1T", 0, UINT64_C(1) << 40 },
}, milli[] = {
	{ "", -EINVAL, 0 },
	{ ".5", -EINVAL, 0 },
	{ "1.", -EINVAL, 0 },
	{ "1.2.3", -EINVAL, 0 },
	{ "1e3", -EINVAL, 0 },
	{ "18446744073709552", -ERANGE, 0 },
	{ "1", 0, 1000 },
	{ "1.35", 0, 1350 },
	{ "1.3504", 0, 1350 },
	{ "1.3505", 0, 1351 },
	{ "0.9996", 0, 1000 },
};

static int parse_milli(const char *s, uint64_t *ret)
{
	return parse_decimal(s, 1000, ret);
}

#define RUN(table, fn)                                                                    \
	do {                                                                              \
		for (size_t i = 0; i < ARRAY_SIZE(table); i++) {                          \
			uint64_t got = 77;                                                \
			int rc = fn(table[i].text, &got);                                 \
			uint64_t want = table[i].rc < 0 ? 77 : table[i].value;            \
			ok(rc == table[i].rc && got == want, #fn " '%s'", table[i].text); \
		}                                                                         \
	} while (0)

int main(void)
{
	uint64_t v = 77;
	bool b = false;

	RUN(u64s, parse_u64);
	RUN(hexes, parse_hex);
	RUN(durations, parse_duration_ns);
	RUN(sizes, parse_size_bytes);
	RUN(milli, parse_milli);
	is_int(parse_u64_n("12\n", 3, &v), 0, "a kernel file's newline");
	is_u64(v, 12, "its value");
	is_int(parse_u64_n("12\n\n", 4, &v), -EINVAL, "two newlines");
	is_int(parse_bool("maybe", &b), -EINVAL, "maybe is no bool");
	ok(parse_bool("YES", &b) == 0 && b, "YES");
	ok(parse_bool("0", &b) == 0 && !b, "0");
	is_str(parse_find_line("nr_x 1\nx 2\n", "x "), "2\n",
	       "a line that begins with the key, and not one that has it");
	ok(!parse_find_line("", "x ") && !parse_find_line("x", "x ") && !parse_find_line("\n", "x "),
	   "no such line");
	return done_testing();
}
