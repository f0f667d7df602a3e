/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A step as the screen of ceems job shows it. */
#include "src/cmd/job/job_step.h"

#include "src/libledger/ledger.h"
#include "src/libutil/util.h"

#include "tap.h"

static void test_id(void)
{
	static const struct {
		uint32_t job_id, step_id;
		const char *id;
	} rows[] = {
		{ 7, LEDGER_STEP_BATCH, "7.batch" },
		{ 7, LEDGER_STEP_EXTERN, "7.extern" },
		{ 7, 0, "7.0" },
		{ UINT32_MAX, LEDGER_STEP_INTERACTIVE, "4294967295.interactive" },
	};
	char id[JOB_STEP_ID_MAX];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		memset(id, 'x', sizeof(id)); /* as another step's id, or what the stack held */
		is_str(job_step_id(rows[i].job_id, rows[i].step_id, id), rows[i].id, rows[i].id);
		is_str(id, rows[i].id, "  in the caller's buffer");
	}
}

int main(void)
{
	test_id();
	return done_testing();
}
