/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * db_report.h - one line for each thing that `ceems db migrate` or `maintain` has done.
 */
#ifndef CEEMS_DB_REPORT_H
#define CEEMS_DB_REPORT_H

#include "src/libutil/util.h"

typedef void (*db_report_fn)(void *ctx, const char *line);

/* REPORT may be NULL. Lines are cut after 255 bytes. */
void db_report(db_report_fn report, void *ctx, const char *fmt, ...) _printf_(3, 4);

#endif
