/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hwmon_chip.h - a table of what the sensors of known hwmon chips measure. hwmon does not tell
 * whether "power1" is the machine, a socket, a fan or a part of the board, so chips that are not in
 * the table are ignored. This module reads no file.
 */
#ifndef CEEMS_HWMON_CHIP_H
#define CEEMS_HWMON_CHIP_H

#include <stdbool.h>
#include <stdint.h>

#include "src/libutil/must_check.h"

struct hwmon_rail {
	uint8_t domain; /* enum domain */
	uint8_t unit;
	bool is_package; /* the unit is that of the physical package with the number UNIT */
	bool is_whole_node;
	bool is_module; /* the whole module of socket `unit`; enum part_scope */
	bool is_summed; /* several of this chip are added up, such as one per power supply */
	bool is_slow;	/* its driver may ask a BMC, so a reader that must not wait leaves it out */
	/*
	 * Its value includes the unit's DOMAIN_CPU, which is to be subtracted. Both are power at one
	 * instant, so ceems-hwmon does it sample by sample; remainder.h is for sensors that count over
	 * other times.
	 */
	bool contains_cpu;
	uint64_t max_w; /* more is a garbled reading */
};

/*
 * Finds what a sensor measures. CHIP is the driver's name ("power_meter"); LABEL the sensor's label
 * or, if it has none, its name ("power1"); NTH counts the chips of that name. Returns 0; -ENOENT:
 * the chip or sensor is unknown; -ENODATA: it is known, but must not be counted. In these cases WHY
 * is a static text.
 */
int hwmon_rail_of(const char *chip, const char *label, unsigned int nth, struct hwmon_rail *ret,
		  const char **ret_why) _must_check_;

#endif
