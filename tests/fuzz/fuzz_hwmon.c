/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A sensor of hwmon: its chip, its label, then what its file shows second after second. */
#include "src/libutil/clock.h"
#include "src/sources/hwmon_chip.h"
#include "src/sources/hwmon_meter.h"
#include "src/sources/hwmon_scan.h"
#include "tests/fuzz/fuzz.h"

#define MAX_W 2500

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

static void read_all(struct fuzz_parts in, bool is_energy)
{
	const struct hwmon_rail rail = { .domain = DOMAIN_CPU, .max_w = MAX_W };
	struct hwmon_sensor sensor = { .chip = "c", .device = "hwmon0", .feature = "f1",
				       .is_energy = is_energy };
	struct source_state state = { 0 };
	struct errmsg err = { 0 };
	const struct source_env env = { .sys_root = "/" };
	struct hwmon_meter m;
	uint64_t seconds;

	(void)snprintf(sensor.path, sizeof(sensor.path), "%s", fuzz_file("", 0));
	assert(hwmon_meter_open(&m, &sensor, &rail, &env, &err) == 0);
	for (seconds = 1; in.size; seconds++) {
		struct reading r = { 0 };
		const uint8_t *part;
		size_t len;

		part = fuzz_next(&in, &len);
		(void)fuzz_file(part, len);
		hwmon_meter_sample(&m, seconds * NSEC_PER_SEC, /* zero_is_wrong= */ false);
		hwmon_meter_book(&m, NSEC_PER_SEC, &state, &r);
		assert(reading_energy_uj(&r, DOMAIN_CPU) <= (seconds + 1) * MAX_W * 1000000);
	}
	hwmon_meter_close(&m, /* deadline_ns= */ 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_parts in = { data, size };

	look_up(&in);
	read_all(in, /* is_energy= */ true);
	read_all(in, /* is_energy= */ false);
	return 0;
}
