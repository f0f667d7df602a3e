/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ceems-series - reads EmissionSeriesFile for slurmd and slurmctld, which must not wait for a file
 * system that is shared. Answers "look N SINCE STAMP" (helper.h) as factor_feed_line.h has it.
 */
#include <linux/capability.h>
#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "src/libemission/factor_feed_line.h"
#include "src/libemission/factor_series.h"
#include "src/libutil/confine.h"
#include "src/libutil/helper.h"
#include "src/libutil/parse.h"
#include "src/libutil/util.h"

/* For one look; beyond the daemon's patience: for the case that it ended meanwhile. */
#define LIFE_S 60

/* Another one for each rename onto PATH, and for a file that is written in place. */
static int series_stamp(const char *path, char *buf, size_t size)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return -errno;
	(void)snprintf(buf, size, "%ju:%ju:%jd:%jd.%09ld:%jd.%09ld", (uintmax_t)st.st_dev,
		       (uintmax_t)st.st_ino, (intmax_t)st.st_size, (intmax_t)st.st_mtim.tv_sec,
		       st.st_mtim.tv_nsec, (intmax_t)st.st_ctim.tv_sec, st.st_ctim.tv_nsec);
	return 0;
}

static void series_print(const struct factor_series *s, const char *region, uint64_t since_s,
			 const char *name)
{
	size_t i;

	(void)printf(FACTOR_FEED_STAMP "%s\n" FACTOR_SERIES_HEAD "\n", name);
	for (i = 0; i < s->n; i++)
		if (!strcasecmp(s->point[i].factor.region, region) && s->point[i].until_s >= since_s)
			factor_point_print(stdout, &s->point[i]);
}

static void series_look(const char *path, const char *region, uint64_t since_s, const char *known)
{
	struct factor_series series = { 0 };
	struct errmsg err = { 0 };
	char name[FACTOR_FEED_STAMP_MAX];
	int rc = series_stamp(path, name, sizeof(name));

	if (rc < 0) {
		helper_say("error - %s: %s", path, strerror(-rc));
		return;
	}
	if (!strcmp(name, known)) {
		helper_say(FACTOR_FEED_SAME);
		return;
	}
	/* the stamp is the older of the two: what comes between is seen the next time */
	if (factor_series_read(path, &series, &err) < 0) {
		helper_say("error - %s", err.text);
		return;
	}
	series_print(&series, region, since_s, name);
	factor_series_fini(&series);
	(void)malloc_trim(0); /* it is kept for a minute, in which nothing is needed */
}

int main(int argc, char **argv)
{
	char line[FACTOR_FEED_STAMP_MAX + 128];
	char number[24], since[24], known[FACTOR_FEED_STAMP_MAX];
	uint64_t since_s;

	if (argc != 3) {
		(void)fputs("usage: ceems-series FILE REGION\n", stderr);
		return 2;
	}
	helper_serve(/* is_nice= */ true);
	(void)confine_caps(CONFINE_CAP(CAP_DAC_READ_SEARCH));
	(void)setvbuf(stdout, NULL, _IOFBF, 65536); /* all of an answer is there at once */
	while (helper_listen(-1, line, sizeof(line)) == 1) {
		if (sscanf(line, "look %23s %23s %127s", number, since, known) != 3 ||
		    parse_u64(since, &since_s) < 0)
			return 1;
		(void)alarm(LIFE_S);
		series_look(argv[1], argv[2], since_s, known);
		helper_say("done %s", number);
		if (fflush(stdout))
			return 1;
		(void)alarm(0);
	}
	return 0;
}
