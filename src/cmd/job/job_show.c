/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/job/job_show.h"

#include "src/libcore/metric_text.h"

struct job_screen job_show_make(const struct job_answer *a, const struct record *const *part, size_t n,
				uint64_t now)
{
	const char *cluster = a->site->cluster;

	return (struct job_screen){
		.part = part,
		.n = n,
		.now = now,
		.cluster = *cluster ? cluster : NULL,
		.not_live = *a->not_live ? a->not_live : NULL,
	};
}

int job_show(const struct job_answer *a, const struct record *const *part, size_t n, uint64_t now,
	     bool colour, FILE *out)
{
	struct job_screen_advice line[JOB_SCREEN_ADVICE];
	struct advice advice[JOB_SCREEN_ADVICE];
	char saved[JOB_SCREEN_ADVICE][METRIC_TEXT_MAX];
	struct job_screen s = job_show_make(a, part, n, now);
	size_t i;

	s.colour = colour;
	s.advice = line;
	if (n == 1)
		s.nadvice = advice_find(part[0], &a->site->advice, now, advice, JOB_SCREEN_ADVICE);
	for (i = 0; i < s.nadvice; i++)
		line[i] = (struct job_screen_advice){
			.what = advice[i].what,
			.type = advice[i].type,
			.saved = advice_saving_text(&advice[i], /* with_co2e= */ false, saved[i],
						    sizeof(saved[i])),
		};
	return job_screen_print(out, &s);
}
