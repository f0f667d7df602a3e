/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * unit.h - the units of metrics, from the rows of units.def, and the constants between units.
 */
#ifndef CEEMS_UNIT_H
#define CEEMS_UNIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UJ_PER_J UINT64_C(1000000)
#define UJ_PER_WH UINT64_C(3600000000)
#define UJ_PER_KWH UINT64_C(3600000000000)
#define UG_PER_G UINT64_C(1000000)
#define NG_PER_G UINT64_C(1000000000)

enum metric_unit {
#define UNIT(id, ...) UNIT_##id,
#include "src/libcore/units.def"
#undef UNIT
	UNIT_N
};

struct unit_info {
	const char *name;   /* suffix of a name whose value is in the unit itself: "_uj" */
	const char *suffix; /* suffix of a name whose value is in the base unit: "_j" */
	const char *base;   /* the base unit, in graphs: "J" */
	const char *rate;   /* the base unit per second, in graphs: "W" */
	const char *doc;    /* the base unit, in doc/metrics.md: "J" */
	/* so many make one of the base unit, in which JSON, SQL and Prometheus have values */
	uint64_t scale;
	bool is_decimal;  /* SQL has fractions of the base unit */
	int rate_digits;  /* decimals of a rate in traces */
	const char *tres; /* the unit in TRES: "J" */
	uint64_t tres_scale;
	const char *fast_tres; /* the same for a metric that is METRIC_FAST */
	uint64_t fast_tres_scale;
	/* Writes VALUE as people read it, such as "1.50 kJ". */
	void (*text)(uint64_t value, char *buf, size_t size);
};

extern const struct unit_info unit_table[UNIT_N];

/* Writes energy in uWh, mWh, Wh, kWh or MWh: "1.92 Wh", "12.3 kWh". */
void unit_text_watt_hours(uint64_t uj, char *buf, size_t size);

/* VALUE / SCALE, rounded half up. */
uint64_t unit_round(uint64_t value, uint64_t scale);

#endif
