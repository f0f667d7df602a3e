/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recorder/recorder_factors.h"

#include "src/libutil/clock.h"
#include "src/libutil/logger.h"

#define FRESH_NS (5 * NSEC_PER_SEC)
#define WAIT_NS (2 * NSEC_PER_SEC) /* slurmctld waits longer than this for its worker */

void factors_open(struct recorder_factors *f, const struct settings *s)
{
	struct errmsg err = { 0 };
	struct factor_feed_options o = { .path = s->emission_series_file,
					 .region = f->chain.region,
					 .helper_dir = s->helper_dir,
					 .who = "ceems: " };

	*f = (struct recorder_factors){ 0 };
	if (factor_chain_setup(s, &f->chain, &err) < 0) {
		logger_error("ceems: %s; records have emissions only where the nodes "
			     "computed them",
			     err.text);
		return;
	}
	f->has_chain = true;
	if (*o.path && factor_feed_open(&o, &f->feed, &err) < 0)
		logger_error("ceems: %s; emissions that the nodes did not compute are "
			     "by the yearly mean",
			     err.text);
}

void factors_close(struct recorder_factors *f)
{
	factor_feed_close(f->feed);
	*f = (struct recorder_factors){ 0 };
}

const struct factor_chain *factors_now(struct recorder_factors *f)
{
	if (!f->has_chain)
		return NULL;
	if (f->feed) {
		uint64_t now = clock_mono_ns();

		/* the nodes may have used a newer factor */
		factor_feed_expire(f->feed, now > FRESH_NS ? now - FRESH_NS : 0);
		(void)factor_feed_wait(f->feed, now + WAIT_NS);
		f->chain.series = factor_feed_series(f->feed);
	}
	return &f->chain;
}

const struct factor_series *factors_look(struct recorder_factors *f)
{
	if (!f->has_chain || !f->feed)
		return NULL;
	(void)factor_feed_poll(f->feed, clock_mono_ns());
	return f->chain.series = factor_feed_series(f->feed);
}
