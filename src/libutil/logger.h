/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * logger.h - log lines of the core. The process sets a sink: error() and info() of Slurm in plugins, standard error or
 * syslog elsewhere. A function returns errors to its caller. A part that nobody calls, such as a thread, logs what it
 * gives up, once: object, action, cause, consequence.
 *
 * The file is not log.h, because Slurm has a log.h and adapters include both.
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
 * For a message that may come every second: the first is logged, the others are counted. Use one static struct per
 * message. logger_once_reset(), when the trouble is over, returns how many were not logged; the next is logged again.
 */
struct logger_once {
	atomic_uint count;
};
void logger_log_once(struct logger_once *once, enum logger_level level, const char *fmt, ...)
	_printf_(3, 4);
unsigned int logger_once_reset(struct logger_once *once);

/*
 * For trouble that begins and ends: each is logged once. Trouble that comes and goes would fill the log of every node.
 * So a beginning within LOGGER_QUIET_NS of the last logged one is logged after that time, if the trouble still lasts.
 * Initialise with zeros; for use by one thread.
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
