/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Plugins, as ceems check looks at them. */
#include "src/cmd/check/elfsym.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct errmsg err = { 0 };
	uint32_t version;

	fuzz_check_error(elfsym_read_u32(fuzz_file(data, size), "plugin_version", &version, &err), &err);
	return 0;
}
