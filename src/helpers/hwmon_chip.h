/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hwmon_chip.h - what the sensors of known hwmon chips measure. Pure: names in, meaning out. hwmon
 * itself does not say whether "power1" is the machine, a socket, a fan or a rail of the board, so
 * a chip that is not in the table is not guessed at.
 */
#ifndef CEEMS_HWMON_CHIP_H
#define CEEMS_HWMON_CHIP_H

#include <stdbool.h>
#include <stdint.h>

struct hwmon_rail {
	uint8_t domain; /* enum domain */
	uint8_t unit;
	bool is_whole_node;
	bool is_summed;	   /* several of it add up: one meter per power supply */
	bool is_slow;	   /* its driver may ask a BMC: not to be read by who cannot wait */
	bool contains_cpu; /* shows the unit's DOMAIN_CPU as well: to be taken off */
	uint64_t max_w;	   /* more is a garbled reading */
};

/*
 * CHIP as the driver names it ("power_meter"), LABEL the sensor's own or, where it has none, its
 * name ("power1"); NTH of the chips of that name. 0; -ENOENT: such a chip or sensor is not known;
 * -ENODATA: known, and not to be counted. WHY is text of the program's in both of these cases.
 */
int hwmon_rail_of(const char *chip, const char *label, unsigned int nth,
		  struct hwmon_rail *ret, const char **ret_why);

#endif
