/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * logger.h - writes log lines to a sink that the process sets: error() and info() of Slurm in
 * plugins, standard error or syslog elsewhere. A function that has a caller returns its error
 * instead. A thread, which has no caller, logs what it gives up, once: object, action, cause,
 * consequence.
 *
 * The file is not named log.h: Slurm has a log.h, and adapters include both.
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

/*
 * Sets the sink of the process. NULL, the initial state, drops all lines. SINK may be called by any
 * thread.
 */
void logger_set_sink(logger_sink_fn sink);

void logger_log(enum logger_level level, const char *fmt, ...) _printf_(2, 3);

#define logger_error(...) logger_log(LOGGER_ERROR, __VA_ARGS__)
#define logger_info(...) logger_log(LOGGER_INFO, __VA_ARGS__)
#define logger_debug(...) logger_log(LOGGER_DEBUG, __VA_ARGS__)

/*
 * For a message that may come every second: logs the first and counts the others. Use one static
 * struct per message. When the trouble is over, call logger_once_reset(): it returns how many lines
 * were not logged, and the next message is logged again.
 */
struct logger_once {
	atomic_uint count;
};
void logger_log_once(struct logger_once *once, enum logger_level level, const char *fmt, ...) _printf_(3, 4);
unsigned int logger_once_reset(struct logger_once *once);

/*
 * For trouble that begins and ends: tells the caller when to log each. BEGINS is returned at most
 * once in LOGGER_QUIET_NS, so trouble that comes and goes does not fill the log. If trouble begins
 * again earlier and lasts, BEGINS follows once that time has passed. ENDS follows a BEGINS only.
 * Initialise the struct with zeros; one thread may use it.
 */
#define LOGGER_QUIET_NS UINT64_C(600000000000)
enum logger_news {
	LOGGER_NO_NEWS,
	LOGGER_BEGINS,
	LOGGER_ENDS,
};
struct logger_trouble {
	bool is_told;
	uint64_t told_ns; /* when BEGINS was last returned; 0: never */
};
enum logger_news logger_trouble_note(struct logger_trouble *t, bool is_there, uint64_t now_ns);

/* A sink for commands and tests. */
void logger_sink_stderr(enum logger_level level, const char *line);

#endif
