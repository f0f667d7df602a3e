/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "src/cmd/cmd.h"
#include "src/libledger/ledger.h"
#include "src/libutil/parse.h"

bool cmd_step_number(const char *text, uint32_t *ret)
{
	static const uint32_t special[] = { LEDGER_STEP_BATCH, LEDGER_STEP_EXTERN, LEDGER_STEP_INTERACTIVE };
	char name[16];
	uint64_t n;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(special); i++) {
		if (strcmp(text, ledger_step_name(special[i], name, sizeof(name))) != 0)
			continue;
		*ret = special[i];
		return true;
	}
	if (parse_u64(text, &n) < 0 || n >= UINT32_MAX)
		return false;
	*ret = (uint32_t)n;
	return true;
}
