/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A TRES usage string as slurmdbd returns it, and the values in it. */
#include "src/libcore/tresmap.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct values values = { 0 };
	struct tresmap map;
	uint64_t value;

	tresmap_init(&map);
	tresmap_learn(&map, 1001, "fs", "ceems");
	tresmap_learn(&map, 1002, "ic", "ceems_co2e");
	tresmap_read(&map, text, text, SIDE_IN, &values);
	tresmap_read(&map, text, text, SIDE_OUT, &values);
	(void)tresmap_value(text, TRESMAP_MEM, &value);
	free(text);
	return 0;
}
