/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/helpers/hwmon/hwmon_chip.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#include "src/libcore/domain.h"
#include "src/libmeter/sensor/counter.h"
#include "src/libutil/parse.h"
#include "src/libutil/util.h"

struct row {
	const char *chip;  /* fnmatch(3) */
	const char *label; /* '#' at its end: a number, the unit; NULL: any */
	struct hwmon_rail rail;
	bool is_nth_unit;
	const char *why; /* not counted */
};

#define NODE(...)                                                                                           \
	{                                                                                                   \
		.domain = DOMAIN_OTHER, .is_whole_node = true, .max_w = COUNTER_PLATFORM_MAX_W, __VA_ARGS__ \
	}
#define SOCKET(d, ...)                                                     \
	{                                                                  \
		.domain = (d), .max_w = COUNTER_PACKAGE_MAX_W, __VA_ARGS__ \
	}

/* The first row that fits. Sources: the drivers' pages in Documentation/hwmon/, if not named. */
static const struct row rows[] = {
	/*
	 * NVIDIA Grace, whose firmware (edk2-nvidia, "power meter" ACPI tables) puts the rail's
	 * name into the meter's OEM information: Module = the board with GPU and HBM contains
	 * Grace = the socket with its memory and regulators contains CPU = cores and SysIO = the
	 * rest of the chip. So the memory is Grace - CPU - SysIO, as NVIDIA's tuning guide and
	 * Alumet have it.
	 */
	{ "power_meter", "Module Power Socket #",
	  .rail = { .domain = DOMAIN_OTHER, .is_module = true, .max_w = COUNTER_PLATFORM_MAX_W } },
	{ "power_meter", "Grace Power Socket #", .rail = SOCKET(DOMAIN_DRAM, .contains_cpu = true) },
	{ "power_meter", "CPU Power Socket #", .rail = SOCKET(DOMAIN_CPU) },
	{ "power_meter", "SysIO Power Socket #", .rail = SOCKET(DOMAIN_CPU) },
	/*
	 * acpi_power_meter: ACPI 4.0 section 10.4; servers have one per machine or per supply,
	 * most by way of IPMI.
	 */
	{ "power_meter", NULL, .rail = NODE(.is_summed = true, .is_slow = true) },
	/* ibmaem: "an estimate of raw energy consumption since the last BMC reset". */
	{ "aem[12]", "energy1", .rail = NODE(.is_slow = true) },
	{ "aem[12]", NULL, .why = "energy1 has it" },
	/*
	 * ibmpowernv: OPAL's sensors, named by firmware (skiboot hw/occ-sensor.c). "Chip 0 Vdd"
	 * and the like are parts of "Chip 0". (The occ driver is for the BMC's side.)
	 */
	{ "ibmpowernv", "System", .rail = NODE() },
	{ "ibmpowernv", "Chip #", .rail = SOCKET(DOMAIN_CPU, .is_package = true) },
	{ "ibmpowernv", NULL, .why = "a part of its chip or of the system" },
	/* amd_energy (5.8 to 5.12): RAPL's MSRs, added up in 64 bits by the driver. */
	{ "amd_energy", "Esocket#", .rail = SOCKET(DOMAIN_CPU) },
	{ "amd_energy", NULL, .why = "a part of its socket" },
	/*
	 * fam15h_power: of a package with two nodes only one has the file. Its power1_average is
	 * not read: the driver sleeps for the time to average over in each read().
	 */
	{ "fam15h_power", "power1", .rail = SOCKET(DOMAIN_CPU), .is_nth_unit = true },
	/* xgene-hwmon: both are of the one chip, cores and the rest of it. */
	{ "apm_xgene", "CPU power", .rail = SOCKET(DOMAIN_CPU) },
	{ "apm_xgene", "IO power", .rail = SOCKET(DOMAIN_CPU) },
	/* Known not to be what is wanted. */
	{ "zenpower", NULL, .why = "regulators' telemetry, of unknown scale: not a meter" },
	{ "amdgpu", NULL, .why = "a GPU: the source rocm has it" },
	{ "i915", NULL, .why = "a GPU: the source intelgpu has it" },
	{ "xe", NULL, .why = "a GPU: the source intelgpu has it" },
	{ "ina[0-9]*", NULL, .why = "a rail of the board: what it feeds is not known" },
};

/* The label fits; its number, if it has one, goes to *ret_unit. */
static bool is_label(const char *pattern, const char *label, uint64_t *ret_unit)
{
	size_t len = pattern ? strlen(pattern) : 0;

	if (!pattern)
		return true;
	if (!len || pattern[len - 1] != '#')
		return !strcmp(pattern, label);
	return !strncmp(pattern, label, len - 1) && parse_u64(label + len - 1, ret_unit) == 0;
}

int hwmon_rail_of(const char *chip, const char *label, unsigned int nth, struct hwmon_rail *ret,
		  const char **ret_why)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *r = &rows[i];
		uint64_t unit = r->is_nth_unit ? nth : 0;

		if (fnmatch(r->chip, chip, 0) != 0 || !is_label(r->label, label, &unit))
			continue;
		if (r->why) {
			*ret_why = r->why;
			return -ENODATA;
		}
		*ret = r->rail;
		if (r->rail.is_package)
			ret->unit = (uint8_t)(unit < UINT8_MAX ? unit : UINT8_MAX);
		else
			ret->unit = (uint8_t)(unit < SOCKET_UNKNOWN ? unit : SOCKET_UNKNOWN);
		return 0;
	}
	*ret_why = "not known";
	return -ENOENT;
}
