/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /proc/cpuinfo, for the model's table. */
#include "src/libmeter/sensor/model/model_table.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct model_cpu *cpu;
	uint32_t cpus = 0;
	char path[512];

	(void)snprintf(path, sizeof(path), "%s/proc", fuzz_dir());
	(void)mkdir(path, 0700);
	fuzz_write(path, "cpuinfo", data, size);
	cpu = model_cpu_find(fuzz_dir(), &cpus);
	assert(cpu && cpus && cpu->idle_mw < cpu->max_mw);
	return 0;
}
