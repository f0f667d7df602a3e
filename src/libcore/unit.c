/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libcore/unit.h"

#include <inttypes.h>
#include <stdio.h>

#include "src/libutil/clock.h"

/* The steps of a unit, largest first; the last step takes what is left. */
struct unit_step {
	uint64_t size;
	const char *name;
};

static const struct unit_step energy[] = { { UINT64_C(3600000000000), "kWh" },
					   { 1000000000, "kJ" },
					   { 1000000, "J" },
					   { 1000, "mJ" },
					   { 1, "uJ" } };
static const struct unit_step watt_hours[] = { { UINT64_C(3600000000000000), "MWh" },
					       { UINT64_C(3600000000000), "kWh" },
					       { UINT64_C(3600000000), "Wh" },
					       { 3600000, "mWh" },
					       { 3600, "uWh" },
					       { 1, "uWh" } };
static const struct unit_step mass[] = {
	{ UINT64_C(1000000000000), "kg" }, { 1000000000, "g" }, { 1000000, "mg" }, { 1000, "ug" }, { 1, "ng" }
};
static const struct unit_step bytes[] = { { UINT64_C(1) << 50, "PiB" }, { UINT64_C(1) << 40, "TiB" },
					  { 1 << 30, "GiB" },		{ 1 << 20, "MiB" },
					  { 1 << 10, "KiB" },		{ 1, "B" } };
static const struct unit_step seconds[] = {
	{ NSEC_PER_SEC, "s" }, { 1000000, "ms" }, { 1000, "us" }, { 1, "ns" }
};
static const struct unit_step large[] = { { UINT64_C(1000000000000), "T" },
					  { 1000000000, "G" },
					  { 1000000, "M" } };

static void unit_scaled(const struct unit_step *s, uint64_t value, char *buf, size_t size)
{
	double v;

	while (s->size > 1 && value < s->size)
		s++;
	v = (double)value / (double)s->size;
	/* 9.996 is shown as 10.0, not as 10.00 */
	(void)snprintf(buf, size, "%.*f %s", s->size == 1 ? 0 : v < 9.995 ? 2 : 1, v, s->name);
}

static void unit_text_energy(uint64_t uj, char *buf, size_t size)
{
	unit_scaled(energy, uj, buf, size);
}

static void unit_text_mass(uint64_t ng, char *buf, size_t size)
{
	if (ng)
		unit_scaled(mass, ng, buf, size);
	else
		(void)snprintf(buf, size, "0 g");
}

static void unit_text_bytes(uint64_t n, char *buf, size_t size)
{
	unit_scaled(bytes, n, buf, size);
}

static void unit_text_count(uint64_t value, char *buf, size_t size)
{
	if (value >= 1000000)
		unit_scaled(large, value, buf, size);
	else if (value >= 1000)
		(void)snprintf(buf, size, "%" PRIu64 ",%03" PRIu64, value / 1000, value % 1000);
	else
		(void)snprintf(buf, size, "%" PRIu64, value);
}

static void unit_text_duration(uint64_t ns, char *buf, size_t size)
{
	uint64_t s = ns / NSEC_PER_SEC;

	if (s >= 3600)
		(void)snprintf(buf, size, "%" PRIu64 "h%02" PRIu64 "m%02" PRIu64 "s", s / 3600, s / 60 % 60,
			       s % 60);
	else if (s >= 120)
		(void)snprintf(buf, size, "%" PRIu64 "m%02" PRIu64 "s", s / 60, s % 60);
	else
		unit_scaled(seconds, ns, buf, size);
}

void unit_text_watt_hours(uint64_t uj, char *buf, size_t size)
{
	if (uj && uj < UJ_PER_WH / 1000000)
		(void)snprintf(buf, size, "<1 uWh");
	else
		unit_scaled(watt_hours, uj, buf, size);
}

const struct unit_info unit_table[UNIT_N] = {
#define UNIT(id, ...) [UNIT_##id] = { __VA_ARGS__ },
#include "src/libcore/units.def"
#undef UNIT
};

uint64_t unit_round(uint64_t value, uint64_t scale)
{
	return value / scale + (value % scale >= scale - value % scale && scale > 1);
}
