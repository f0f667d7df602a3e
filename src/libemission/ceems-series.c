/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ceems-series - reads EmissionSeriesFile for slurmd and slurmctld, which must not wait for a file
 * system that is shared. Ends after one answer: factor_feed_line.h.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "src/libemission/factor_feed_line.h"
#include "src/libemission/factor_series.h"
#include "src/libutil/helper.h"
#include "src/libutil/parse.h"
#include "src/libutil/util.h"

/* Beyond the daemon's patience: for the case that it ended meanwhile. */
#define LIFE_S 60

/* Another one for each rename onto PATH, and for a file that is written in place. */
static int stamp(const char *path, char *buf, size_t size)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return -errno;
	(void)snprintf(buf, size, "%ju:%ju:%jd:%jd.%09ld:%jd.%09ld", (uintmax_t)st.st_dev,
		       (uintmax_t)st.st_ino, (intmax_t)st.st_size, (intmax_t)st.st_mtim.tv_sec,
		       st.st_mtim.tv_nsec, (intmax_t)st.st_ctim.tv_sec, st.st_ctim.tv_nsec);
	return 0;
}

static int print(const struct factor_series *s, const char *region, uint64_t since_s,
		 const char *name)
{
	size_t i;

	(void)printf(FACTOR_FEED_STAMP "%s\n" FACTOR_SERIES_HEAD "\n", name);
	for (i = 0; i < s->n; i++)
		if (!strcasecmp(s->point[i].factor.region, region) &&
		    s->point[i].until_s >= since_s)
			factor_point_print(stdout, &s->point[i]);
	(void)fputs(FACTOR_FEED_END, stdout);
	return fflush(stdout) ? 1 : 0;
}

int main(int argc, char **argv)
{
	struct factor_series series = { 0 };
	struct errmsg err = { 0 };
	char name[FACTOR_FEED_STAMP_MAX];
	uint64_t since_s;
	int rc;

	if (argc != 5 || parse_u64(argv[3], &since_s) < 0) {
		(void)fputs("usage: ceems-series FILE REGION SINCE STAMP\n", stderr);
		return 2;
	}
	helper_close_inherited();
	(void)alarm(LIFE_S);
	rc = stamp(argv[1], name, sizeof(name));
	if (rc < 0) {
		(void)printf("%s: %s\n", argv[1], strerror(-rc));
		return 1;
	}
	if (!strcmp(name, argv[4])) {
		(void)puts(FACTOR_FEED_SAME);
		return 0;
	}
	/* the stamp is the older of the two: what comes between is seen the next time */
	if (factor_series_read(argv[1], &series, &err) < 0) {
		(void)printf("%s\n", err.text);
		return 1;
	}
	rc = print(&series, argv[2], since_s, name);
	factor_series_fini(&series);
	return rc;
}
