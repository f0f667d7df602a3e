/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * report.h - makes the report of a step on this node for --ceems-report: the rows of `ceems job`,
 * then the values that --ceems-perf asked for, or why they are missing.
 */
#ifndef CEEMS_REPORT_H
#define CEEMS_REPORT_H

#include <stddef.h>

#include "src/libcore/detail.h"
#include "src/libcore/perf_request.h"
#include "src/libledger/ledger.h"

struct report_input {
	const char *node;
	const struct ledger_identity *id;
	const struct values *values; /* final, with energy */
	uint64_t elapsed_ns;
	uint64_t factor_ug_per_kwh, pue_milli; /* mean factor and PUE of METRIC_CO2E; 0: unknown */
	const struct step_detail *detail;      /* NULL: no detail was collected */
	const struct perf_request *request;    /* NULL: no --ceems-perf */
};

/*
 * Writes the report, several lines, to BUF. If SIZE is too small, the smallest file systems are
 * summed up in one line; if that is not enough, the text is cut. Returns its length.
 */
size_t report_format(const struct report_input *in, char *buf, size_t size);

#endif
