/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/when.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "src/libutil/util.h"

#include "tap.h"

#define NOW UINT64_C(1795603505) /* Wed 25 Nov 2026 11:45:05 in Berlin, UTC+1 */
#define MIDNIGHT (NOW - 11 * 3600 - 45 * 60 - 5)

static const struct {
	const char *text;
	int rc;
	uint64_t want;
} cases[] = {
	{ "", -EINVAL, 0 },
	{ "nowt", -EINVAL, 0 },
	{ "now-", -EINVAL, 0 },
	{ "now-7fortnights", -EINVAL, 0 },
	{ "now-7daysx", -EINVAL, 0 },
	{ "now--7", -EINVAL, 0 },
	{ "now-999999999weeks", -EINVAL, 0 },
	{ "2026-02-31", -EINVAL, 0 },
	{ "2026-13-01", -EINVAL, 0 },
	{ "2026-00-01", -EINVAL, 0 },
	{ "2026-11-01T", -EINVAL, 0 },
	{ "2026-11-01T24:00", -EINVAL, 0 },
	{ "2026-11-01T10", -EINVAL, 0 },
	{ "2026-11-01 10:00", -EINVAL, 0 },
	{ "2026-11-01T10:00Z", -EINVAL, 0 },
	{ "1969-01-01", -EINVAL, 0 },
	{ "10:60", -EINVAL, 0 },
	{ "20261101", -EINVAL, 0 },
	{ "uts", -EINVAL, 0 },
	{ "uts-1", -EINVAL, 0 },
	{ "now", 0, NOW },
	{ "NOW", 0, NOW },
	{ "now-7days", 0, NOW - 7 * 86400 },
	{ "now-1d", 0, NOW - 86400 },
	{ "now+2hours", 0, NOW + 7200 },
	{ "now-90", 0, NOW - 90 },
	{ "now-5min", 0, NOW - 300 },
	{ "now-2weeks", 0, NOW - 14 * 86400 },
	{ "today", 0, MIDNIGHT },
	{ "midnight", 0, MIDNIGHT },
	{ "midnight-1day", 0, MIDNIGHT - 86400 },
	{ "noon", 0, MIDNIGHT + 12 * 3600 },
	{ "tomorrow", 0, MIDNIGHT + 86400 },
	{ "yesterday", 0, MIDNIGHT - 86400 },
	{ "10:00", 0, MIDNIGHT + 36000 },
	{ "9:05:07", 0, MIDNIGHT + 9 * 3600 + 307 },
	{ "2026-11-25", 0, MIDNIGHT },
	{ "2026-11-24T10:00", 0, MIDNIGHT - 86400 + 36000 },
	{ "2026-11-24T10:00:09", 0, MIDNIGHT - 86400 + 36009 },
	{ "2026-07-01", 0, UINT64_C(1782856800) }, /* summer time: 22:00 UTC the day before */
	{ "11/24", 0, MIDNIGHT - 86400 },
	{ "11/24/26-10:00", 0, MIDNIGHT - 86400 + 36000 },
	{ "uts1795603505", 0, NOW },
};

int main(void)
{
	size_t i;

	/* by its rule, so that no table of zones is needed */
	(void)setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t t = 1;
		int rc = when_parse(cases[i].text, NOW, &t);

		is_int(rc, cases[i].rc, cases[i].text);
		is_u64(t, rc < 0 ? 1 : cases[i].want, "  is that time");
	}
	return done_testing();
}
