/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobcomp/dbd_pace.h"

#include "src/libutil/clock.h"
#include "src/libutil/logger.h"

#define LIMIT_FIRST 64
#define LIMIT_MIN 4
/* Unless there is a backlog: each is a connection, and of 10 jobs it costs little more than of one. */
#define PAUSE_NS NSEC_PER_SEC
#define DOWN_NS (5 * NSEC_PER_SEC)
/* Some 2 kB each in slurmctld, until they are in their records. */
#define STEPS_MANY 20000
#define SLOW_NS (500 * NSEC_PER_MSEC)

static struct logger_once trouble;

void dbd_pace_init(struct dbd_pace *p, struct steps *steps)
{
	*p = (struct dbd_pace){ .steps = steps, .limit = LIMIT_FIRST };
}

static void adapt(struct dbd_pace *p, const struct steps_query *q, size_t n, uint64_t took_ns)
{
	size_t nsteps = 0;
	size_t i;

	for (i = 0; i < n; i++)
		nsteps += q[i].nsteps;
	if (took_ns > SLOW_NS || nsteps > STEPS_MANY)
		p->limit = p->limit / 2 > LIMIT_MIN ? p->limit / 2 : p->limit < LIMIT_MIN ? p->limit : LIMIT_MIN;
	else if (n == p->limit && took_ns < SLOW_NS / 2 && nsteps < STEPS_MANY / 2)
		p->limit = p->limit * 2 < DBD_PACE_MAX ? p->limit * 2 : DBD_PACE_MAX;
}

int dbd_pace_ask(struct dbd_pace *p, struct steps_query *q, size_t n)
{
	bool is_full = n == p->limit;
	uint64_t begin = clock_mono_ns();
	struct errmsg err = { 0 };
	int rc = steps_fetch(p->steps, q, n, &err);
	uint64_t now = clock_mono_ns();
	uint64_t pause = is_full ? 0 : PAUSE_NS;

	if (rc < 0) {
		if (!steps_is_stopping(p->steps))
			logger_log_once(&trouble, LOGGER_ERROR,
					"ceems: jobcomp: %s; records wait for their steps, at most "
					"StepDetailsWait", err.text);
		p->is_down = true;
		p->limit = p->limit > 1 ? p->limit / 2 : 1;
		p->next_mono_ns = now + DOWN_NS;
		return rc;
	}
	if (logger_once_reset(&trouble))
		logger_info("ceems: jobcomp: slurmdbd answers again");
	p->is_down = false;
	p->next_mono_ns = now + (now - begin > pause ? now - begin : pause);
	adapt(p, q, n, now - begin);
	return 0;
}
