/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hwevents_table.h - the default events of each microarchitecture, for hwevents.c and its test.
 */
#ifndef CEEMS_HWEVENTS_TABLE_H
#define CEEMS_HWEVENTS_TABLE_H

#include "src/libmeter/activity/hwevents.h"
#include "src/libmeter/sensor/cpuinfo.h"

/*
 * Has no pointers, because dlopen() would relocate each of them in every slurmstepd, sbatch and
 * srun.
 */
struct hwevents_row {
	/*
	 * Name of the event in libpfm4. If libpfm4 has no name, is_vendors is set, and
	 * this is the vendor's name.
	 */
	char name[128];
	char other_name[40]; /* its spelling in another version of libpfm4, or empty */
	bool is_vendors;
	uint8_t metric;
	uint8_t group;
	uint32_t factor;
	uint32_t type; /* type, config and config1 are what struct perf_event_attr needs */
	uint64_t config, config1;
	/*
	 * if not empty: a file in the PMU's sysfs folder events/, which exists only if this CPU has
	 * the event
	 */
	char sysfs[24];
};

#define HWEVENTS_MODELS 6

struct hwevents_machine {
	char name[16];
	/* name of libpfm4's table, with which a test compares; empty: libpfm4 4.13 has none */
	char pfm[24];
	char vendor; /* as in struct cpuinfo; 0: the entry fits every machine */
	uint16_t family;
	struct {
		uint16_t first, last;
	} model[HWEVENTS_MODELS];
	struct hwevents_row row[HWEVENTS_MAX]; /* ends at the first row without a name */
};

extern const struct hwevents_machine hwevents_table[];
extern const size_t hwevents_table_n; /* the last one is "generic" */

const struct hwevents_machine *hwevents_machine(const struct cpuinfo *cpu);

/* Fills RET with the machine's events. SYS_ROOT is the root that has sys/; "" for the real one. */
void hwevents_fill(const struct hwevents_machine *m, const char *sys_root, struct hwevents *ret);

/* Returns how many rows, that is events, machine M has. */
size_t hwevents_rows(const struct hwevents_machine *m);

#endif
