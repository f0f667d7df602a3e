/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * factor_feed.h - EmissionSeriesFile as slurmd and slurmctld follow it. The file is on a shared
 * file system. A thread that waits for a dead server can neither be ended, nor be left behind when
 * the plugin is unloaded. So a helper process (helper.h) is asked to look, once a minute.
 *
 * Of one thread. Troubles are logged here, once each.
 */
#ifndef CEEMS_FACTOR_FEED_H
#define CEEMS_FACTOR_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include "src/libcore/settings.h"
#include "src/libemission/factor_series.h"

/* From one look to the next. */
#define FACTOR_FEED_INTERVAL_NS (60 * UINT64_C(1000000000))
/* For one look. */
#define FACTOR_FEED_TIMEOUT_NS (10 * UINT64_C(1000000000))

struct factor_feed;

struct factor_feed_options {
	const char *path;	/* borrowed, as the others: EmissionSeriesFile */
	const char *region;	/* whose points are wanted */
	const char *helper_dir; /* of ceems-series; empty: the one installed */
	const char *who;	/* begins log lines: "ceems: jobcomp: "; NULL: nothing does */
	uint64_t keep_s;	/* points that ended longer ago are left out; 0: none are */
	/* The second look comes so much later: a thousand nodes that start together do not look together. */
	uint64_t offset_ns;
};

/* Starts nothing yet. -EINVAL: no region; -ENOMEM, -ENAMETOOLONG. */
int factor_feed_open(const struct factor_feed_options *o, struct factor_feed **ret,
		     struct errmsg *err);
/* Kills the helper, whose end it does not wait for. NULL: no-op. */
void factor_feed_close(struct factor_feed *f);

/*
 * Starts a look when one is due, and takes in what came. Never blocks. True: the series is another
 * one than before.
 */
bool factor_feed_poll(struct factor_feed *f, uint64_t now_mono_ns);

/* If the last look began before SINCE_NS, the next one is due now. */
void factor_feed_expire(struct factor_feed *f, uint64_t since_mono_ns);

/*
 * The same, but waits until DEADLINE_NS for a look that is under way, unless the last one hung. Not for
 * threads that others wait for.
 */
bool factor_feed_wait(struct factor_feed *f, uint64_t deadline_mono_ns);

/* The last good one, borrowed until the next poll. NULL: there was none so far. */
const struct factor_series *factor_feed_series(const struct factor_feed *f);

/* Whether the first look has ended, in whatever way. */
bool factor_feed_is_settled(const struct factor_feed *f);

#endif
