/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * logger.h - log lines go to a sink, which the adapter sets: Slurm's error() and info(), or stderr
 * for the CLI. The core returns errors, and logs at debug only. The layer that gives up logs one
 * line: object, action, cause, consequence.
 *
 * Not called log.h: Slurm has one, and its names would meet ours in the adapters.
 */
#ifndef CEEMS_LOGGER_H
#define CEEMS_LOGGER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "src/libutil/util.h"

enum logger_level {
	LOGGER_ERROR,
	LOGGER_INFO,
	LOGGER_DEBUG,
};

typedef void (*logger_sink_fn)(enum logger_level level, const char *line);

/* Process-wide; NULL (the initial state) drops everything. SINK may be called by any thread. */
void logger_set_sink(logger_sink_fn sink);

void logger_log(enum logger_level level, const char *fmt, ...) _printf_(2, 3);

#define logger_error(...) logger_log(LOGGER_ERROR, __VA_ARGS__)
#define logger_info(...) logger_log(LOGGER_INFO, __VA_ARGS__)
#define logger_debug(...) logger_log(LOGGER_DEBUG, __VA_ARGS__)

/*
 * For what may happen every second: the first time is logged, the rest is counted. One static
 * struct per message. Call logger_once_reset() when the trouble is over: the next message is then
 * logged again, and the function returns how many were not.
 */
struct logger_once {
	atomic_uint count;
};
void logger_log_once(struct logger_once *once, enum logger_level level, const char *fmt, ...)
	_printf_(3, 4);
unsigned int logger_once_reset(struct logger_once *once);

/*
 * For what fails and works again: its beginning and its end are to be told once each. Trouble that
 * comes and goes would fill the log of each node. So if trouble begins within LOGGER_QUIET_NS of
 * the trouble logged before, it is logged only if it lasts beyond that time. Starts as zeros; of
 * one thread.
 */
#define LOGGER_QUIET_NS UINT64_C(600000000000)
enum logger_news {
	LOGGER_NO_NEWS,
	LOGGER_BEGINS,
	LOGGER_ENDS,
};
struct logger_trouble {
	bool is_told;
	uint64_t told_ns; /* that it begins; 0: never */
};
enum logger_news logger_trouble_note(struct logger_trouble *t, bool is_there, uint64_t now_ns);

/* A sink for CLIs and tests. */
void logger_sink_stderr(enum logger_level level, const char *line);

#endif
