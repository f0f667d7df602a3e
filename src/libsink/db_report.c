/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libsink/db_report.h"

#include <errno.h>
#include <inttypes.h>
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

int db_report_schema(db_report_fn report, void *ctx, const char *database, uint64_t schema, uint64_t ours,
		     struct errmsg *err)
{
	db_report(report, ctx, "%-32s %s", "database", database);
	db_report(report, ctx, "%-32s %" PRIu64 "%s", "schema", schema,
		  schema < ours ? " (too old: ceems db migrate)" :
		  schema > ours ? " (of a later version: what it added stays empty)" :
				  "");
	return schema < ours ? errmsg_set(err, -EPROTO, "the schema is too old") : 0;
}
