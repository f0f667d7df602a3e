/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * report.h - the short table of --ceems-report: what the step used on this node.
 */
#ifndef CEEMS_REPORT_H
#define CEEMS_REPORT_H

#include <stddef.h>

#include "src/libjob/ledger.h"

struct report_input {
	const char *node;
	const struct ledger_identity *id;
	const struct figures *figures;	/* final, energy included */
	uint64_t elapsed_ns;
};

/* Writes the table, several lines, into BUF; cut at SIZE. Returns its length. */
size_t report_format(const struct report_input *in, char *buf, size_t size);

#endif
