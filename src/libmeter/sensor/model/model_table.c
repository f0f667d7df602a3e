/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The numbers are medians over published results of SPECpower_ssj2008 (spec.org/power_ssj2008),
 * results with 1 to 4 sockets, as Cloud Carbon Footprint collects them (github.com/
 * cloud-carbon-footprint/ccf-coefficients, data/SPECpower-2026-03-09.csv): average watts at 100 %
 * of the load and at active idle, divided by cores x threads per core. Orders of magnitude: the
 * results of one generation differ by a quarter (half of them lie within +/-15 to 25 % of the
 * median), the benchmark's machines are built to be frugal (little memory, one drive, no
 * accelerator), and its load is Java. Set ModelIdleWatts and ModelMaxWatts if you have a wattmeter.
 * A machine with hyper-threads off needs them, because its logical CPUs are whole cores.
 *
 * Keyed by family, model and stepping, not by the model name: names change with every product and
 * clouds mask them ("AMD EPYC"), the numbers are what the kernel itself goes by
 * (arch/x86/include/asm/intel-family.h; AMD's revision guides; for Arm the architecture and the part
 * of MIDR_EL1, arch/arm64/include/asm/cputype.h).
 */
#include "src/libmeter/sensor/model/model_table.h"

#include "src/libmeter/sensor/cpuinfo.h"
#include "src/libutil/util.h"

/*
 * For an unknown CPU: the means over all servers, as Cloud Carbon Footprint uses them for AWS
 * (methodology, "Compute": 0.74 W idle, 3.5 W at full load per vCPU; from SPECpower).
 */
const struct model_cpu model_cpu_default = { "per-core default", 740, 3500 };

struct entry {
	char vendor; /* 'I', 'A', or 'R' for Arm's own cores */
	uint16_t family;
	uint16_t model_min, model_max;
	uint16_t stepping_min, stepping_max;
	struct model_cpu cpu;
};

#define ANY_STEPPING 0, UINT16_MAX

static const struct entry entries[] = {
	/* results: 94, 13, 12, 49, 44, 32, 59, 33, 31, 20 */
	{ 'I', 6, 45, 45, ANY_STEPPING, { "Xeon Sandy Bridge", 1730, 7880 } },
	{ 'I', 6, 63, 63, ANY_STEPPING, { "Xeon Haswell", 650, 3780 } },
	{ 'I', 6, 79, 79, ANY_STEPPING, { "Xeon Broadwell", 510, 2960 } },
	{ 'I', 6, 85, 85, 0, 4, { "Xeon Skylake", 470, 4050 } },
	{ 'I', 6, 85, 85, 5, 7, { "Xeon Cascade Lake", 510, 3760 } },
	{ 'I', 6, 106, 106, ANY_STEPPING, { "Xeon Ice Lake", 820, 3920 } },
	{ 'I', 6, 143, 143, ANY_STEPPING, { "Xeon Sapphire Rapids", 870, 3960 } },
	{ 'I', 6, 207, 207, ANY_STEPPING, { "Xeon Emerald Rapids", 840, 3350 } },
	{ 'I', 6, 173, 173, ANY_STEPPING, { "Xeon Granite Rapids", 620, 2720 } },
	{ 'I', 6, 175, 175, ANY_STEPPING, { "Xeon Sierra Forest", 690, 2560 } },
	/*
	 * results: 10, 31, 25, 20 (9654), 52 (9754 and the 8004 series, which the model does not tell
	 * apart), 8 (9655, 9755), 33 (9845, 9965)
	 */
	{ 'A', 23, 1, 1, ANY_STEPPING, { "EPYC Naples", 740, 2320 } },
	{ 'A', 23, 49, 49, ANY_STEPPING, { "EPYC Rome", 430, 1670 } },
	{ 'A', 25, 1, 1, ANY_STEPPING, { "EPYC Milan", 420, 1840 } },
	{ 'A', 25, 17, 17, ANY_STEPPING, { "EPYC Genoa", 330, 1860 } },
	{ 'A', 25, 160, 175, ANY_STEPPING, { "EPYC Bergamo or Siena", 280, 1550 } },
	{ 'A', 26, 2, 2, ANY_STEPPING, { "EPYC Turin", 350, 1980 } },
	{ 'A', 26, 17, 17, ANY_STEPPING, { "EPYC Turin Dense", 210, 1170 } },
	/* results: 7, all Ampere Altra and Altra Max; without SMT, so that a CPU is a core */
	{ 'R', 8, 0xd0c, 0xd0c, ANY_STEPPING, { "Neoverse N1", 620, 1920 } },
};

const struct model_cpu *model_cpu_find(const char *sys_root, uint32_t *ret_cpus)
{
	struct cpuinfo c;
	size_t i;

	cpuinfo_read(sys_root, &c);
	*ret_cpus = c.cpus < UINT32_MAX ? (uint32_t)c.cpus : UINT32_MAX;
	for (i = 0; i < ARRAY_SIZE(entries); i++) {
		const struct entry *e = &entries[i];

		if (e->vendor == c.vendor && e->family == c.family && c.model >= e->model_min &&
		    c.model <= e->model_max && c.stepping >= e->stepping_min && c.stepping <= e->stepping_max)
			return &e->cpu;
	}
	return &model_cpu_default;
}
