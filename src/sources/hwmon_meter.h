/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hwmon_meter.h - one sensor of hwmon that counts: its file, or the process that reads it, and
 * what it used since the tick before.
 */
#ifndef CEEMS_HWMON_METER_H
#define CEEMS_HWMON_METER_H

#include "src/libmeter/sensor/counter_state.h"
#include "src/libmeter/sensor/integrate.h"
#include "src/libmeter/sensor/source.h"
#include "src/sources/hwmon_chip.h"
#include "src/sources/hwmon_scan.h"

struct hwmon_slow;

/* Plain data, but for FD and SLOW, which the meter owns. */
struct hwmon_meter {
	char name[40]; /* in the state: "power_meter:hwmon3:power1" */
	char chip[32];
	struct hwmon_rail rail;
	bool is_energy;
	int fd;			    /* -1: slow */
	struct hwmon_slow *slow;    /* NULL: read in the tick */
	struct counter counter;	    /* is_energy */
	struct integrate integrate; /* else */
	uint64_t good_ns;	    /* the last sample; 0: none yet */
	bool is_failing;	    /* as the log knows */
	bool is_told_bad;	    /* a slow one: its last answer, maybe of an earlier tick */
	/* of this tick */
	int rc;
	uint64_t value; /* uJ or mW */
	uint64_t t_ns;
};

/*
 * A slow one is read by ceems-meter, every second or, if one reading takes long, up to every
 * slow_interval_ns of ENV.
 */
int hwmon_meter_open(struct hwmon_meter *m, const struct hwmon_sensor *sensor,
		     const struct hwmon_rail *rail, const struct source_env *env,
		     struct errmsg *err);
/* What a slow one has to wait for begins: for several, before each is closed. */
void hwmon_meter_stop(struct hwmon_meter *m);
void hwmon_meter_close(struct hwmon_meter *m, uint64_t deadline_ns);

/* Waits for a slow one's first answer, which the next sample then takes. */
void hwmon_meter_wait(const struct hwmon_meter *m, uint64_t deadline_ns);

/*
 * Reads it at NOW_NS: rc, value and t_ns, which for a slow one is earlier. -EAGAIN: no new value
 * yet; -ERANGE: none that can be.
 */
void hwmon_meter_sample(struct hwmon_meter *m, uint64_t now_ns, bool zero_is_wrong);

/* Books the sample to its part of OUT; what is wrong with it is counted there. */
void hwmon_meter_book(struct hwmon_meter *m, uint64_t dt_ns, struct source_state *state,
		      struct reading *out);

/* Whether the last sample says that the meter can be read, be the value bad or yet to come. */
bool hwmon_meter_is_read(const struct hwmon_meter *m);

#endif
