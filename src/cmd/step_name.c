/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <string.h>

#include "src/cmd/cmd.h"
#include "src/libledger/ledger.h"
#include "src/libutil/parse.h"

static const struct {
	uint32_t id;
	const char *name;
} special_steps[] = {
	{ LEDGER_STEP_BATCH, "batch" },
	{ LEDGER_STEP_EXTERN, "extern" },
	{ LEDGER_STEP_INTERACTIVE, "interactive" },
};

const char *cmd_step_name(uint32_t step_id, char *buf, size_t size)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(special_steps); i++)
		if (special_steps[i].id == step_id)
			return special_steps[i].name;
	(void)snprintf(buf, size, "%u", step_id);
	return buf;
}

bool cmd_step_number(const char *text, uint32_t *ret)
{
	uint64_t n;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(special_steps); i++) {
		if (strcmp(text, special_steps[i].name))
			continue;
		*ret = special_steps[i].id;
		return true;
	}
	if (parse_u64(text, &n) < 0 || n >= UINT32_MAX)
		return false;
	*ret = (uint32_t)n;
	return true;
}
