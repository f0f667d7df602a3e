/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rapl_zone.h - lists RAPL's energy counters (zones) below /sys/class/powercap, and drops the
 * second of two zones that are the same counter.
 */
#ifndef CEEMS_RAPL_ZONE_H
#define CEEMS_RAPL_ZONE_H

#include <stddef.h>
#include <stdint.h>

#include "src/libmeter/sensor/source.h"
#include "src/libutil/errmsg.h"

/*
 * The kinds of zones that are listed. Core and uncore zones are not, because the package contains
 * their energy.
 */
enum rapl_kind {
	RAPL_PACKAGE,
	RAPL_DRAM,
	RAPL_PSYS, /* the platform: contains packages and DRAM */
};

/* The longest zone name; rapl.c appends a few bytes to it for source_counter.name. */
#define RAPL_ZONE_NAME_SIZE (sizeof(((struct source_counter *)0)->name) - 8)

struct rapl_zone {
	char name[RAPL_ZONE_NAME_SIZE]; /* "intel-rapl:0:1" */
	enum rapl_kind kind;
	int package;	   /* the number in the zone's or its parent's label; -1: it has none */
	int die;	   /* -1: the package is not labelled by die */
	int fd;		   /* of energy_uj, owned; -1: could not be opened */
	uint64_t range_uj; /* UINT64_MAX: not stated */
};

/*
 * Lists the zones sorted by name, so that a restart finds the same order. Intel's and AMD's drivers
 * both use the name intel-rapl:N[:M]. An intel-rapl-mmio:N zone is left out, because it shows a
 * package again; so is a zone without energy_uj. A zone that may not be read is listed with fd -1.
 * -ENODEV: there are no zones. The caller frees *RET with rapl_zone_free().
 */
int rapl_zone_scan(const char *sys_root, struct rapl_zone **ret, size_t *ret_n,
		   struct errmsg *err) _must_check_;
/* Returns a counter with the limits of zone Z, to be used with its values. */
struct counter rapl_zone_counter(const struct rapl_zone *z);
void rapl_zone_free(struct rapl_zone *zones, size_t n);

#endif
