/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sensor_row CONF: prints what `ceems check` says of the energy sources with the settings of CONF.
 * Without CONF, prints the metrics of the sources.
 */
#include <stdarg.h>
#include <stdio.h>

#include "src/cmd/check/check.h"
#include "src/cmd/cmd.h"
#include "src/libcore/metric.h"

static void print_finding(const char *level, const char *what, const char *fmt, va_list ap, const char *hint)
{
	printf("%s %s: ", level, what);
	(void)vprintf(fmt, ap);
	printf("%s%s\n", hint ? " -> " : "", hint ? hint : "");
}

/* of libcmd, which is built without the row of the test */
#define FINDING(level)                                                              \
	void check_##level(struct check *c, const char *what, const char *fmt, ...) \
	{                                                                           \
		va_list ap;                                                         \
                                                                                    \
		(void)c;                                                            \
		va_start(ap, fmt);                                                  \
		print_finding(#level, what, fmt, ap, NULL);                         \
		va_end(ap);                                                         \
	}
#define FINDING_WITH_HINT(level)                                                                            \
	void check_##level(struct check *c, const char *what, struct check_hint hint, const char *fmt, ...) \
	{                                                                                                   \
		va_list ap;                                                                                 \
                                                                                                            \
		(void)c;                                                                                    \
		va_start(ap, fmt);                                                                          \
		print_finding(#level, what, fmt, ap, hint.text);                                            \
		va_end(ap);                                                                                 \
	}
FINDING(ok)
FINDING(note)
FINDING_WITH_HINT(warn)
FINDING_WITH_HINT(error)

bool check_is_hung(const struct check *c, const char *path)
{
	(void)c;
	(void)path;
	return false;
}

void check_gpus(struct check *c, const struct gpu_slices *known)
{
	(void)c;
	(void)known;
}

void cmd_print(const char *fmt, ...)
{
	(void)fmt;
}

int main(int argc, char **argv)
{
	static struct check c;
	struct errmsg err = { 0 };
	unsigned int m;

	if (argc != 2) {
		metric_foreach(m)
			if (metric_table[m].kind == KIND_SOURCE)
				printf("%s %s %s\n", metric_source_name((enum metric)m), metric_table[m].tres,
				       metric_table[m].json);
		return 0;
	}
	if (settings_load(argv[1], &c.settings, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	check_sources(&c);
	return 0;
}
