/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hwmon_scan.h - lists the power and energy sensors with libsensors. ceems-hwmon reads the sensors
 * itself, because libsensors opens a file anew at each reading.
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
	/* number among the chips with the same `chip`, in the order of their addresses, from 0 */
	unsigned int nth;
	bool is_energy;
	bool is_battery;
};

/*
 * Lists all sensors, those of energy first, in an order that does not depend on the folder's. The
 * caller frees *ret. Returns 0 also if there are none; -ENOMEM; -EIO: libsensors cannot be used,
 * ERR says why.
 */
int hwmon_scan(struct hwmon_sensor **ret, size_t *ret_n, struct errmsg *err) _must_check_;

#endif
