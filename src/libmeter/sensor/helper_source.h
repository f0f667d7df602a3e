/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * helper_source.h - a source whose sensors a helper program reads (helper.h). The caller gives only the
 * name and the arguments of the program. The helper sends raw values and their times. This module
 * computes the energy since the last value, from bases in the node ledger. So helper and slurmd may end
 * at any moment, and no joule is lost or counted twice.
 */
#ifndef CEEMS_HELPER_SOURCE_H
#define CEEMS_HELPER_SOURCE_H

#include "src/libmeter/sensor/source.h"
#include "src/libutil/clock.h"
#include "src/libutil/must_check.h"

/* How long slurmd's start waits for the first answer of a sensor; most answer in a tenth of that time. */
#define HELPER_FIRST_NS (2 * NSEC_PER_SEC)

/*
 * After so long without an answer, a helper is killed. Its own time limits are shorter; the
 * longest is for a BMC's SDR.
 */
#define HELPER_DEADLINE_NS (180 * NSEC_PER_SEC)

/* If a BMC misses some answers, power is interpolated, over a gap of at most so many intervals. */
#define HELPER_GAP_INTERVALS 4

struct helper_source_setup {
	enum source_id id;
	const char *program; /* name of the program in the helper folder */
	const char *args[8]; /* arguments, ended by NULL */
	bool keeps_env;	     /* slurmd's environment is passed on, because a vendor's library needs it */
	/*
	 * If true, each tick asks the helper, and waits some milliseconds for the answer. If false, the
	 * helper sends values by itself.
	 */
	bool is_asked;
	uint64_t fresh_ns;    /* an answer younger than this is used again, and the helper is not asked */
	uint64_t deadline_ns; /* the helper is killed if it sends nothing for this long */
	uint64_t first_ns;    /* how long open() waits for the list of sensors */
	uint64_t gap_ns;      /* the longest gap between two power samples over which energy is computed */
	uint64_t stale_ns;    /* an older sample is counted as late */
	uint64_t lag_ns;      /* the age that a value may have, unless the helper sends another limit */
};

/*
 * Starts the helper; see open() of struct source_ops. Returns 0, also if the helper has not yet
 * listed its sensors. -ENODEV: there is no sensor. -ENXIO: none of the sensors can be used.
 * -ENOENT: the program is missing.
 */
int helper_source_open(const struct helper_source_setup *setup, const struct source_env *env,
		       struct source **ret, struct errmsg *err) _must_check_;

/* The time between two requests to a BMC, as the helper's argument --interval-ms. */
struct helper_interval {
	char text[24];
};
struct helper_interval helper_source_interval(const struct source_env *env);

/* These are members of struct source_ops. */
int helper_source_read(struct source *s, uint64_t dt_ns, uint32_t busy_ppm, struct source_state *state,
		       struct reading *ret) _must_check_;
size_t helper_source_gpus(const struct source *s, struct gpu_reading *ret, size_t max);
size_t helper_source_instances(const struct source *s, const struct gpu_instance_reading **ret);
const struct gpu_slices *helper_source_slices(const struct source *s);
void helper_source_describe(const struct source *s, char *buf, size_t size);
const char *helper_source_why(const struct source *s);
const char *helper_source_notes(const struct source *s);
uint64_t helper_source_lag(const struct source *s);
void helper_source_close(struct source *s);

/* Defines source_NAME, which NAME_open() opens, with the members that it has beside these. */
#define HELPER_SOURCE(source, ...)                                                      \
	const struct source_ops source_##source = { .logs_failures = true,              \
						    .open = source##_open,              \
						    .read = helper_source_read,         \
						    .describe = helper_source_describe, \
						    .why = helper_source_why,           \
						    .notes = helper_source_notes,       \
						    .lag = helper_source_lag,           \
						    .close = helper_source_close,       \
						    __VA_ARGS__ }

#endif
