/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/jobs/progress.h"

#include <string.h>

#include "src/libutil/clock.h"
#include "src/libutil/util.h"
#include "tap.h"

int main(void)
{
	static const struct {
		const char *what;
		struct progress p;
		size_t width;
		const char *line;
	} cases[] = {
		{ "the begin", { 0, 1000, 0, 0, NSEC_PER_SEC }, 30, "  0 % [>              ] 0 jobs" },
		{ "no period", { 0, 0, 0, 7, 0 }, 12, "100 % 7 jobs" },
		{ "a quarter",
		  { 250, 1000, 0, 5000, 50 * NSEC_PER_SEC },
		  79,
		  " 25 % [=======>                    ] 5000 jobs of about 20000, 100/s, 2:30 left" },
		{ "hours",
		  { 10, 1000, 0, 100, 100 * NSEC_PER_SEC },
		  60,
		  "  1 % [>         ] 100 jobs of about 10000, 1/s, 2:45 h left" },
		{ "no jobs until now", { 900, 1000, 900, 0, 0 }, 30, " 90 % [=============> ] 0 jobs" },
		{ "the first jobs after half of it",
		  { 600, 1000, 500, 100, NSEC_PER_SEC },
		  79,
		  " 60 % [==================>            ] 100 jobs of about 500, 100/s, 0:04 left" },
		{ "a narrow terminal",
		  { 250, 1000, 0, 5000, 50 * NSEC_PER_SEC },
		  30,
		  " 25 % [===>        ] 5000 jobs" },
		{ "no room", { 250, 1000, 0, 5000, 50 * NSEC_PER_SEC }, 8, " 25 % 50" },
	};
	char line[200];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		progress_text(&cases[i].p, cases[i].width, line, sizeof(line));
		is_str(line, cases[i].line, cases[i].what);
		ok(strlen(line) <= cases[i].width, "  fits");
	}
	return done_testing();
}
