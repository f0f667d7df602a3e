/* SPDX-License-Identifier: GPL-2.0-or-later */
/* own_ns.h - the CPU time of this thread, for the programs that the tests of profiles run. */
#include <time.h>

static inline long own_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000000000L + ts.tv_nsec;
}
