/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much slurmdbd is asked at once: less after each question without an answer, more when answers are quick. */
#include "jobcomp/dbd_pace.h"

#include <errno.h>

#include "src/libutil/util.h"
#include "tap.h"

static size_t asked;
static size_t slow_above; /* more jobs than that have no answer */

int steps_fetch(struct steps *s, struct steps_query *q, size_t n, struct errmsg *err)
{
	(void)s;
	(void)q;
	asked = n;
	return n > slow_above ? errmsg_set(err, -EAGAIN, "slurmdbd does not answer") : 0;
}

bool steps_is_stopping(const struct steps *s)
{
	(void)s;
	return false;
}

int main(void)
{
	static struct steps_query q[DBD_PACE_MAX];
	struct dbd_pace p;
	size_t before;
	int i;

	dbd_pace_init(&p, NULL);
	ok(p.limit > 1 && p.limit <= DBD_PACE_MAX, "it begins with %zu jobs", p.limit);
	slow_above = 1;
	for (i = 0; i < 10 && p.limit > 1; i++) {
		before = p.limit;
		ok(dbd_pace_ask(&p, q, p.limit) < 0 && p.is_down, "no answer for %zu", asked);
		ok(p.limit <= before / 2, "then half as many: %zu", p.limit);
	}
	is_u64(p.limit, 1, "down to one job");
	is_int(dbd_pace_ask(&p, q, p.limit), 0, "which has an answer");
	ok(!p.is_down, "slurmdbd is there");
	slow_above = 0;
	ok(dbd_pace_ask(&p, q, p.limit) < 0, "one job has none");
	is_u64(p.limit, 1, "and is asked for alone");
	slow_above = DBD_PACE_MAX;
	for (i = 0; i < 20; i++)
		ok(dbd_pace_ask(&p, q, p.limit) == 0, "a quick answer of %zu", asked);
	is_u64(p.limit, DBD_PACE_MAX, "as many as slurmdbd finds by its index, no more");
	return done_testing();
}
