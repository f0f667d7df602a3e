/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hwevents_table.h - the default events of each microarchitecture, for hwevents.c and its test.
 */
#ifndef CEEMS_HWEVENTS_TABLE_H
#define CEEMS_HWEVENTS_TABLE_H

#include "src/libmeter/activity/hwevents.h"
#include "src/libmeter/sensor/cpuinfo.h"

/* No pointers, which dlopen() would write into the table in every slurmstepd, sbatch and srun. */
struct hwevents_row {
	/*
	 * libpfm4's, the second where another of its tables says it in other words, else empty. Where
	 * libpfm4 has none (is_vendors), the vendor's.
	 */
	char name[2][128];
	bool is_vendors;
	uint8_t metric;
	uint8_t group;
	uint32_t factor;
	uint32_t type; /* what the name stands for, of struct perf_event_attr */
	uint64_t config, config1;
	/* file in the PMU's events/: the architecture leaves it open whether a CPU has it; or empty */
	char sysfs[24];
};

#define HWEVENTS_MODELS 6

struct hwevents_machine {
	char name[16];
	char pfm[24];	 /* libpfm4's table to check the names with; empty: 4.13 has none */
	char vendor;	 /* struct cpuinfo's; 0: fits every machine */
	uint16_t family;
	struct {
		uint16_t first, last;
	} model[HWEVENTS_MODELS];
	struct hwevents_row row[HWEVENTS_MAX]; /* until one without a name */
};

extern const struct hwevents_machine hwevents_table[];
extern const size_t hwevents_table_n; /* the last one is "generic" */

const struct hwevents_machine *hwevents_machine(const struct cpuinfo *cpu);

/* The machine's events; SYS_ROOT has the PMU's events/ ("" for the real one). */
void hwevents_fill(const struct hwevents_machine *m, const char *sys_root, struct hwevents *ret);

/* How many events the row's machine has. */
size_t hwevents_rows(const struct hwevents_machine *m);

#endif
