/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rapl_zone.h - finds RAPL's counters below /sys/class/powercap: which zones there are, which zones
 * contain others, and which are the same counter under two names.
 */
#ifndef CEEMS_RAPL_ZONE_H
#define CEEMS_RAPL_ZONE_H

#include <stddef.h>
#include <stdint.h>

#include "src/libmeter/sensor/source.h"
#include "src/libutil/errmsg.h"

/* Core and uncore are not listed: their energy is the package's, which they are in. */
enum rapl_kind {
	RAPL_PACKAGE,
	RAPL_DRAM,
	RAPL_PSYS, /* the platform: contains packages and DRAM */
};

/* Leaves room in source_counter.name for what rapl.c appends. */
#define RAPL_ZONE_NAME_SIZE (sizeof(((struct source_counter *)0)->name) - 8)

struct rapl_zone {
	char name[RAPL_ZONE_NAME_SIZE]; /* "intel-rapl:0:1" */
	enum rapl_kind kind;
	int package;	   /* as the zone or its parent is labelled; -1: not said */
	int die;	   /* -1: the package is not labelled by die */
	int fd;		   /* of energy_uj, owned; -1: could not be opened */
	uint64_t range_uj; /* UINT64_MAX: not stated */
};

/*
 * Zones in the order of their names, so that a restart finds the same. Intel's and AMD's driver
 * both call them intel-rapl:N[:M]; the package that intel-rapl-mmio:N shows again is left out. A
 * zone without energy_uj is left out. A zone that may not be read is listed with fd -1. -ENODEV:
 * there are none. The caller frees with rapl_zone_free().
 */
int rapl_zone_scan(const char *sys_root, struct rapl_zone **ret, size_t *ret_n,
		   struct errmsg *err);
void rapl_zone_free(struct rapl_zone *zones, size_t n);

#endif
