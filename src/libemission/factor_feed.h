/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * factor_feed.h - follows EmissionSeriesFile for slurmd and slurmctld. The file is on a shared file
 * system. A thread that waits for a dead server cannot be ended, and must not be left behind when
 * the plugin is unloaded. So a helper process (helper.h) looks at the file once a minute.
 *
 * For use by one thread. Troubles are logged here, once each.
 */
#ifndef CEEMS_FACTOR_FEED_H
#define CEEMS_FACTOR_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include "src/libcore/settings.h"
#include "src/libemission/factor_series.h"
#include "src/libutil/must_check.h"

/* Time between two looks. */
#define FACTOR_FEED_INTERVAL_NS (60 * UINT64_C(1000000000))
/* Time allowed for one look. */
#define FACTOR_FEED_TIMEOUT_NS (10 * UINT64_C(1000000000))

struct factor_feed;

struct factor_feed_options {
	const char *path;	/* EmissionSeriesFile; copied, like the other texts */
	const char *region;	/* points of this region are wanted */
	const char *helper_dir; /* folder of ceems-series; empty: CEEMS_LIBEXECDIR */
	const char *who;	/* prefix of log lines: "ceems: jobcomp: "; NULL: none */
	uint64_t keep_s;	/* points that ended longer ago are left out; 0: none is left out */
	/*
	 * Delays the second look, so that a thousand nodes that start together do not look
	 * together.
	 */
	uint64_t offset_ns;
};

/*
 * Creates the feed; the first poll starts the helper. -EINVAL: no region; -ENOMEM; -ENAMETOOLONG.
 */
int factor_feed_open(const struct factor_feed_options *o, struct factor_feed **ret,
		     struct errmsg *err) _must_check_;
/* Kills the helper and frees F; waits for the helper's end only 0.1 s. NULL: no-op. */
void factor_feed_close(struct factor_feed *f);

/*
 * Starts a look when one is due, and reads the helper's answers. Never blocks. True: the series has
 * changed.
 */
bool factor_feed_poll(struct factor_feed *f, uint64_t now_mono_ns);

/* If the last look began before SINCE_MONO_NS, makes the next one due at SINCE_MONO_NS. */
void factor_feed_expire(struct factor_feed *f, uint64_t since_mono_ns);

/*
 * factor_feed_poll() that also waits until DEADLINE_MONO_NS for a look that has begun, unless the
 * last look hung. Not for threads that others wait for.
 */
bool factor_feed_wait(struct factor_feed *f, uint64_t deadline_mono_ns);

/* Returns the last good series, borrowed until the next poll. NULL: there was none yet. */
const struct factor_series *factor_feed_series(const struct factor_feed *f);

/* Whether the first look has ended, well or not. */
bool factor_feed_is_settled(const struct factor_feed *f);

#endif
