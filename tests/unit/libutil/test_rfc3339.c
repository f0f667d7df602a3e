/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* timegm() */
#include "src/libutil/rfc3339.h"

#include <errno.h>
#include <time.h>

#include "tap.h"

static const struct {
	const char *text;
	int rc;
	uint64_t s;
} cases[] = {
	{ "", -EINVAL, 0 },
	{ "2026-11-22", -EINVAL, 0 },
	{ "2026-11-22T10:15:00", -EINVAL, 0 }, /* whose time? */
	{ "2026-11-22 10:15:00Z", -EINVAL, 0 },
	{ "2026-11-22T10:15:00Zx", -EINVAL, 0 },
	{ "2026-11-22T10:15:00 Z", -EINVAL, 0 },
	{ "2026-11-22T10Z", -EINVAL, 0 },
	{ "2026-11-22T10:15:0Z", -EINVAL, 0 },
	{ "2026-11-22T10:15:00.Z", -EINVAL, 0 },
	{ "2026-11-22T10:15:00+0100", -EINVAL, 0 },
	{ "2026-11-22T10:15:00+01", -EINVAL, 0 },
	{ "2026-11-22T10:15:00+24:00", -EINVAL, 0 },
	{ "2026-11-22T24:00:00Z", -EINVAL, 0 },
	{ "2026-11-22T10:60:00Z", -EINVAL, 0 },
	{ "2026-11-22T10:15:60Z", -EINVAL, 0 },
	{ "2026-13-22T10:15:00Z", -EINVAL, 0 },
	{ "2026-00-22T10:15:00Z", -EINVAL, 0 },
	{ "2026-11-31T10:15:00Z", -EINVAL, 0 },
	{ "2026-02-29T10:15:00Z", -EINVAL, 0 },
	{ "2100-02-29T00:00:00Z", -EINVAL, 0 },
	{ "2026-11-00T10:15:00Z", -EINVAL, 0 },
	{ "1969-12-31T23:59:59Z", -EINVAL, 0 },
	{ "1970-01-01T00:30:00+01:00", -EINVAL, 0 },
	{ "-026-11-22T10:15:00Z", -EINVAL, 0 },
	{ "1970-01-01T00:00:00Z", 0, 0 },
	{ "2026-11-22T10:15:00Z", 0, 1795342500 },
	{ "2026-11-22T10:15Z", 0, 1795342500 },
	{ "2026-11-22T10:15:00.000Z", 0, 1795342500 },
	{ "2026-11-22T10:15:00.999999Z", 0, 1795342500 },
	{ "2026-11-22T11:15:00+01:00", 0, 1795342500 },
	{ "2026-11-22T02:15:00-08:00", 0, 1795342500 },
	{ "2026-11-22T15:45+05:30", 0, 1795342500 },
	/* the hour that clocks in Paris show twice */
	{ "2026-10-25T02:30:00+02:00", 0, 1792888200 },
	{ "2026-10-25T02:30:00+01:00", 0, 1792891800 },
	{ "2024-02-29T00:00:00Z", 0, 1709164800 },
	{ "2000-03-01T00:00:00Z", 0, 951868800 },
	{ "9999-12-31T23:59:59Z", 0, UINT64_C(253402300799) },
};

int main(void)
{
	char text[RFC3339_SIZE];
	uint64_t s, day, wrong = 0;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		s = 0;
		is_int(rfc3339_parse(cases[i].text, &s), cases[i].rc, cases[i].text);
		if (cases[i].rc == 0)
			is_u64(s, cases[i].s, "its seconds");
	}
	/* every day until 2170, there and back, beside the C library */
	for (day = 0; day < 73000; day++) {
		time_t want = (time_t)(day * 86400 + day % 86400);
		struct tm tm;

		rfc3339_utc((uint64_t)want, text);
		wrong += rfc3339_parse(text, &s) < 0 || s != (uint64_t)want || !gmtime_r(&want, &tm) ||
			 timegm(&tm) != want;
	}
	is_u64(wrong, 0, "every day until 2169");
	rfc3339_utc(UINT64_MAX, text);
	is_str(text, "9999-12-31T23:59:59Z", "a time that no calendar has");
	return done_testing();
}
