/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A sensor of hwmon: its chip and its label. */
#include "src/helpers/hwmon/hwmon_chip.h"
#include "src/libcore/domain.h"
#include "tests/fuzz/fuzz.h"

static void look_up(struct fuzz_parts *in)
{
	struct hwmon_rail rail;
	const char *why;
	const uint8_t *part;
	char *chip, *label;
	size_t len;

	part = fuzz_next(in, &len);
	chip = fuzz_text(part, len);
	part = fuzz_next(in, &len);
	label = fuzz_text(part, len);
	if (hwmon_rail_of(chip, label, 0, &rail, &why) < 0)
		assert(why);
	else
		assert(rail.domain < DOMAIN_N && rail.max_w);
	free(chip);
	free(label);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_parts in = { data, size };

	look_up(&in);
	return 0;
}
