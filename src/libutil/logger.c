/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libutil/logger.h"

#include <stdarg.h>

#include "src/libutil/text.h"

static _Atomic(logger_sink_fn) current_sink;

void logger_set_sink(logger_sink_fn sink)
{
	atomic_store(&current_sink, sink);
}

static void _printf_(2, 0) log_va(enum logger_level level, const char *fmt, va_list ap)
{
	logger_sink_fn sink = atomic_load(&current_sink);
	char line[1024];

	if (!sink)
		return;
	(void)vsnprintf(line, sizeof(line), fmt, ap);
	sink(level, text_mask(line, line, sizeof(line))); /* a job name must not forge a log line */
}

void logger_log(enum logger_level level, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_va(level, fmt, ap);
	va_end(ap);
}

void logger_log_once(struct logger_once *once, enum logger_level level, const char *fmt, ...)
{
	va_list ap;

	if (atomic_fetch_add(&once->count, 1))
		return;
	va_start(ap, fmt);
	log_va(level, fmt, ap);
	va_end(ap);
}

unsigned int logger_once_reset(struct logger_once *once)
{
	unsigned int seen = atomic_exchange(&once->count, 0);

	return seen ? seen - 1 : 0;
}

enum logger_news logger_trouble_note(struct logger_trouble *t, bool is_there, uint64_t now_ns)
{
	bool is_quiet = t->told_ns && now_ns - t->told_ns < LOGGER_QUIET_NS;

	if (is_there == t->is_told || (is_there && is_quiet))
		return LOGGER_NO_NEWS;
	t->is_told = is_there;
	if (is_there)
		t->told_ns = now_ns;
	return is_there ? LOGGER_BEGINS : LOGGER_ENDS;
}

void logger_sink_stderr(enum logger_level level, const char *line)
{
	static const char *const prefix[] = { "error: ", "", "debug: " };

	(void)fprintf(stderr, "%s%s\n", prefix[level], line);
}
