/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ceems.conf, and with it kvconf's and all parsers of values. */
#include "src/libcore/settings.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct errmsg err = { 0 };
	struct settings s;
	int rc = settings_load(fuzz_file(data, size), &s, &err);

	fuzz_check_error(rc, &err);
	if (rc < 0)
		return 0;
	assert(s.pue_milli >= 1000 && s.pue_milli <= 5000);
	assert(s.sample_interval_ns >= 50000000);
	assert(!s.ledger_dir[0] || s.ledger_dir[0] == '/');
	rc = settings_for_node(&s, "node1", &err);
	fuzz_check_error(rc, &err);
	return 0;
}
