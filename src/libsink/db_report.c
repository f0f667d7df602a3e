/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libsink/db_report.h"

#include <stdarg.h>
#include <stdio.h>

void db_report(db_report_fn report, void *ctx, const char *fmt, ...)
{
	char line[256];
	va_list ap;

	if (!report)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	report(ctx, line);
}
