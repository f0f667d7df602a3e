/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * domain.h - the domains of a node for which energy is counted (CPU, DRAM, GPU, other), and the kinds of energy source.
 * Both the sensors and the ledger use them.
 */
#ifndef CEEMS_DOMAIN_H
#define CEEMS_DOMAIN_H

#include "src/libcore/metric.h"

/* Domains never overlap: a joule is in one of them. */
enum domain {
	DOMAIN_CPU,   /* packages: cores, caches, uncore */
	DOMAIN_DRAM,
	DOMAIN_GPU,
	DOMAIN_OTHER, /* what the node uses above the others; all of it for a whole-node source */
	DOMAIN_N
};

/* No pointers, for the reason that struct metric_info has none. */
struct domain_info {
	char name[8];  /* in JSON and labels: "cpu" */
	char label[8]; /* for people: "CPU" */
	enum metric energy;
	enum metric fixed; /* the part of the energy that is idle power */
	enum metric co2e;
};
extern const struct domain_info domain_table[DOMAIN_N];
const char *domain_name(enum domain d); /* "cpu", "dram", "gpu", "other"; "?": none */

/*
 * A domain has units. CPU and DRAM: sockets, by physical_package_id. GPU: the number in
 * /dev/nvidiaN, or N of /dev/dri/renderD(128+N); for a partitioned GPU the lowest N. Sockets and
 * GPUs beyond these are counted as the last one.
 */
#define SOCKETS_MAX 8
#define GPUS_MAX 64 /* eight MI300X have 64 render nodes, partitioned or not */

enum source_id {
	SOURCE_EXTERNAL, /* a file that the site's own meter writes */
	SOURCE_CRAY,	 /* HPE Cray pm_counters */
	SOURCE_RAPL,
	SOURCE_HWMON,
	SOURCE_NVML,
	SOURCE_ROCM,
	SOURCE_REDFISH,
	SOURCE_IPMI,
	SOURCE_MODEL, /* an estimate */
	SOURCE_N
};
const char *source_name(enum source_id id);  /* "external", "cray", "rapl", ... */
enum metric source_metric(enum source_id id); /* the joules that sources of this kind measured */

#endif
