/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hwmon_scan.h - which power and energy sensors libsensors finds. The library is used for this
 * alone: it opens a file anew at each reading.
 */
#ifndef CEEMS_HWMON_SCAN_H
#define CEEMS_HWMON_SCAN_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "src/libutil/errmsg.h"

struct hwmon_sensor {
	char chip[32];	     /* the driver's name for it: "power_meter" */
	char device[32];     /* "hwmon3" */
	char feature[32];    /* "power1" */
	char label[64];	     /* the sensor's own, or else its feature */
	char path[PATH_MAX]; /* the file, in microjoules or microwatts */
	unsigned int nth;    /* of the chips of that name, by address */
	bool is_energy;
	bool is_battery;
};

/*
 * All of them, energy first, in an order that does not depend on the folder's; *ret is to be
 * freed. 0, also for none; -ENOMEM; -EIO: libsensors cannot be had, ERR has its reason.
 */
int hwmon_scan(struct hwmon_sensor **ret, size_t *ret_n, struct errmsg *err);

#endif
