/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * report.h - makes the report of a step on this node for --ceems-report: the rows of a job's
 * screen, and then the values that --ceems-perf asked for, or why they are missing.
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
	const struct values *values;	/* final, energy included */
	uint64_t elapsed_ns;
	uint64_t factor_ug_per_kwh, pue_milli; /* means in the emissions; 0: not known */
	const struct step_detail *detail; /* NULL: none was made */
	const struct perf_request *request;	  /* NULL: nothing was asked for */
};

/*
 * Writes the report, several lines, to BUF. If SIZE is too small, the smallest file systems are
 * left out and counted; then the text is cut. Returns its length.
 */
size_t report_format(const struct report_input *in, char *buf, size_t size);

#endif
