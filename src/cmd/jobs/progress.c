/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/jobs/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "src/libutil/clock.h"

#define BAR_MIN 10
#define BAR_MAX 40

static void put_estimates(const struct progress *p, char *buf, size_t size)
{
	double share = (double)(p->done - p->empty) / (double)(p->all - p->empty);
	double s = (double)p->ns / (double)NSEC_PER_SEC;
	uint64_t left = (uint64_t)(s / share - s + 0.5);

	if (left < 3600)
		(void)snprintf(buf, size, " of about %.0f, %.0f/s, %" PRIu64 ":%02" PRIu64 " left",
			       (double)p->jobs / share, s > 0 ? (double)p->jobs / s : 0, left / 60,
			       left % 60);
	else
		(void)snprintf(buf, size, " of about %.0f, %.0f/s, %" PRIu64 ":%02" PRIu64 " h left",
			       (double)p->jobs / share, s > 0 ? (double)p->jobs / s : 0, left / 3600,
			       left / 60 % 60);
}

/* Writes a bar of at most ROOM columns, with its brackets and a blank; "" if it would be too short. */
static void put_bar(double share, size_t room, char *buf)
{
	size_t n = room > BAR_MAX + 3 ? BAR_MAX : room < BAR_MIN + 3 ? 0 : room - 3;
	size_t full = (size_t)(share * (double)n);

	buf[0] = '\0';
	if (!n)
		return;
	memset(buf + 1, ' ', n);
	memset(buf + 1, '=', full);
	if (full < n)
		buf[1 + full] = '>';
	buf[0] = '[';
	memcpy(buf + 1 + n, "] ", sizeof("] "));
}

void progress_text(const struct progress *p, size_t width, char *buf, size_t size)
{
	double share = p->all ? (double)p->done / (double)p->all : 1;
	char bar[BAR_MAX + 4];
	char rest[96] = "";
	char jobs[32];
	size_t used;

	(void)snprintf(jobs, sizeof(jobs), "%" PRIu64 " jobs", p->jobs);
	if (p->jobs && p->done > p->empty)
		put_estimates(p, rest, sizeof(rest));
	used = strlen("100 % ") + strlen(jobs) + strlen(rest);
	if (used > width) {
		rest[0] = '\0';
		used = strlen("100 % ") + strlen(jobs);
	}
	put_bar(share, width > used ? width - used : 0, bar);
	(void)snprintf(buf, size, "%3u %% %s%s%s", (unsigned int)(100 * share), bar, jobs, rest);
	if (width < strlen(buf))
		buf[width] = '\0';
}
