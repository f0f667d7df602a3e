/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/cmd/jobs/idle_told_node.h"

#include "src/libledger/ledger.h"

void idle_told_node(const struct account *a, struct values *f)
{
	static struct ledger_page page; /* too large for the stack */
	unsigned int d;

	page.ticks = 1;
	for (d = 0; d < DOMAIN_N; d++)
		page.domain_source[d] = SOURCE_N;
	values_init(f);
	ledger_account_values(&page, a, f);
}
